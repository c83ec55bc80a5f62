package reassembly

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
)

var shared = filepath.Join("..", "..", "shared")

// replay pushes a capture through Decoder and Assembler under the checker.
func replay(t testing.TB, path string) (*checker, map[pcap.Code]int) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Skip(err)
	}
	defer file.Close()
	check, notes := &checker{t: t}, map[pcap.Code]int{}
	reader, err := pcap.NewReader(file, path)
	if err != nil {
		return check, notes // empty, or no capture at all
	}
	note := func(n pcap.Note) { notes[n.Code]++ }
	a := NewAssembler(DefaultLimits(), check.event, note)
	d := NewDecoder(DefaultLimits(), note)
	for f := (pcap.Frame{}); ; {
		if err := reader.Next(&f); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Logf("%s: %v", path, err)
			}
			break
		}
		d.Decode(&f, func(s *Segment) {
			check.push(s)
			a.Push(s)
		})
	}
	a.Finish()
	check.finish()
	return check, notes
}

// Every capture goes through, and every stream is covered once, by bytes that the frames named really hold.
func TestCorpus(t *testing.T) {
	files, connections, streams := 0, 0, 0
	err := filepath.WalkDir(shared, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() || !strings.Contains(name, ".pcap") || strings.HasSuffix(name, ".json") {
			return nil
		}
		check, _ := replay(t, path)
		files++
		connections += len(check.conns)
		for _, k := range check.conns {
			for _, next := range k.next {
				if next > 0 {
					streams++
				}
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Skip("no captures: ", err)
	}
	t.Logf("%d captures, %d connections, %d streams with bytes", files, connections, streams)
	if files > 500 && connections < 1000 {
		t.Error("most captures gave nothing")
	}
}

// The Fetch responses that the authors of kafka-go extracted from their own captures.
func TestKafkaGo(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(shared, "corpus", "kafka", "kafka-go", "*.hex"))
	if len(paths) == 0 {
		t.Skip("no captures")
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		if err != nil {
			t.Fatal(err)
		}
		check, notes := replay(t, strings.TrimSuffix(path, ".hex")+".pcapng")
		found := 0
		for id, k := range check.conns {
			if bytes.Contains(k.data[FromB], want) {
				found++
				if id != 3 {
					t.Errorf("%s: found in connection %d, want 3", path, id)
				}
			}
		}
		if found != 1 || notes[CodeGap] != 0 {
			t.Errorf("%s: found %d times, notes %v", path, found, notes)
		}
	}
}

// As many connections as tshark 4.0.17 counts (corpus/INDEX.md), but for these.
func TestConnectionCounts(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(shared, "corpus", "INDEX.md"))
	if err != nil {
		t.Skip(err)
	}
	known := map[string]int{
		// Link types and tunnels that are not decoded, and noted: FDDI, ARCNET, IPoIB, 802.11 in the air, in GRE or in CAPWAP.
		"net/zeek/llc.pcap": 0, "net/zeek/tunnels__gre-aruba.pcap": 0, "net/tcpdump/arcnet-rfc1051-arp-icmp-http.pcap": 0,
		"net/tcpdump/arcnet-rfc1201-arp-icmp-http.pcap": 0, "net/tcpdump/ipoib.pcap": 0, "net/arkime/80211http.pcap": 0, "net/ndpi/capwap_data.pcapng": 0,
		// BIG TCP behind a length of zero, which that version of tshark does not take for TCP.
		"net/tcpdump/bigtcp-ipv4-geneve-ipv6.pcap": 1, "net/tcpdump/bigtcp-ipv4-vxlan-ipv4.pcap": 1, "net/tcpdump/bigtcp-ipv4-vxlan-ipv6.pcap": 1,
		"net/tcpdump/bigtcp-ipv6-vxlan-ipv4.pcap": 1, "net/tcpdump/bigtcp-ipv6.pcap": 1,
		// A reset of something never seen opens no connection here.
		"net/tcpdump/tcp_eight_lowest_weight_flags_set.pcap": 0, "net/tcpdump/tcp_rst_data.pcap": 0, "net/tcpdump/tcp_rst_diag_payload.pcap": 0,
		"net/pcapplusplus/ipv4-options.pcap": 0, "net/deepflow/common__decapsulate_erspan1.pcap": 471,
		// tshark counts the headers quoted in ICMP errors too, and headers whose data offset is impossible.
		"net/pcapplusplus/tcp-reassembly.pcap": 1, "net/ndpi/6in4tunnel.pcap": 5, "net/pcapplusplus/tcp-malformed.pcap": 0,
		// Forged or contradictory handshakes, and random bytes: where one connection ends and the next begins is a matter of taste.
		"net/suricata-verify/bug-3286-03-windows-evasion__with_evasion_windows.pcap": 2,
		"net/suricata-verify/tcp-fastopen-10-syn-data-ignore__input.pcap":            2,
		"net/suricata-verify/tcp-split-handshake-02-5whs__split-handshake-5whs.pcap": 1,
		"net/arkime/tcp_handshake_synthetic.pcap":                                    18,
		"net/ndpi/fuzz-2006-09-29-28586.pcap":                                        37,
	}
	for _, line := range strings.Split(string(index), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 7 || !strings.HasPrefix(line, "| net/") || !strings.Contains(cells[1], ".") {
			continue
		}
		name := strings.TrimSpace(cells[1])
		want, err := strconv.Atoi(strings.TrimSpace(cells[5]))
		if err != nil {
			continue
		}
		if n, ok := known[name]; ok {
			want = n
		}
		path := filepath.Join(shared, "corpus", filepath.FromSlash(name))
		if _, err := os.Stat(path); err != nil {
			continue
		}
		if check, notes := replay(t, path); len(check.conns) != want {
			t.Errorf("%s: %d connections, want %d; notes %v", name, len(check.conns), want, notes)
		}
	}
}
