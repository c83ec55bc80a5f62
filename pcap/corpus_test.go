package pcap_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/pcapgo"

	"github.com/kdupscan/kdupscan/pcap"
)

// shared returns a folder of captures beside the checkout, or skips the test.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "shared", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no shared captures")
	}
	return dir
}

func captureFiles(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && regexp.MustCompile(`\.(pcap|pcapng|cap)(\.\w+)?$`).MatchString(path) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// indexed is what the corpus index says of a file.
type indexed struct {
	packets int
	links   string // as "EN10MB(1), NULL(0)", for net/ only
	damaged bool
}

// indexCounts is how many packets more the index counts.
var indexCounts = map[string]int{
	// It reads a section of an unknown version, which this package skips.
	"net/gopacket/pcapgo__tests__be__test901.pcapng": 1,
	"net/gopacket/pcapgo__tests__le__test901.pcapng": 1,
	// It does not know that lengths may be swapped before version 2.4.
	"net/ndpi/fuzz-2021-10-13.pcap": -1,
}

// readIndex parses the tables of INDEX.md: file, source path, link type, packets, …, remark.
func readIndex(t *testing.T, path string) map[string]indexed {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	index := make(map[string]indexed)
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, " | ")
		file, ok := strings.CutPrefix(cells[0], "| ")
		if !ok || len(cells) < 5 {
			continue
		}
		packets, err := strconv.Atoi(cells[3])
		if err != nil {
			continue
		}
		index[file] = indexed{packets, cells[2], strings.Contains(line, "DAMAGED")}
	}
	return index
}

// TestCorpus reads captures of many origins and compares the packet counts and link types with the index, which was made by
// other programs. Of a damaged file the index counts the packets before the damage.
func TestCorpus(t *testing.T) {
	dir := shared(t, "corpus")
	index := readIndex(t, filepath.Join(dir, "INDEX.md"))
	if len(index) < 500 {
		t.Fatalf("only %d files in the index", len(index))
	}
	for file, want := range index {
		t.Run(file, func(t *testing.T) {
			c := readFile(t, filepath.Join(dir, file))
			packets := int(c.Packets)
			if want.damaged {
				if len(c.Damage) == 0 {
					t.Fatal("damage not seen")
				}
				packets = int(c.Damage[0].Frame)
			}
			if packets+indexCounts[file] != want.packets {
				t.Errorf("%d packets, want %d; damage %v", packets, want.packets, c.Damage)
			}
			numbers := regexp.MustCompile(`\((\d+)\)`).FindAllStringSubmatch(want.links, -1)
			known := make(map[pcap.LinkType]bool)
			for _, l := range c.LinkTypes {
				known[l] = true
			}
			for _, n := range numbers {
				if l, _ := strconv.Atoi(n[1]); !known[pcap.LinkType(l)] {
					t.Errorf("link types %v, want %s", c.LinkTypes, want.links)
				}
			}
		})
	}
}

// TestCaptures reads all captures of this project's own and requires that none is damaged.
func TestCaptures(t *testing.T) {
	for _, file := range captureFiles(t, shared(t, "captures")) {
		c := readFile(t, file)
		if c.Packets == 0 || len(c.Damage) > 0 {
			t.Errorf("%s: %d packets, damage %v", file, c.Packets, c.Damage)
		}
	}
}

func readFile(t *testing.T, path string) pcap.Capture {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcap.NewReader(f, filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var frame pcap.Frame
	for {
		if err := r.Next(&frame); err == io.EOF {
			return r.Captures()[0]
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAgainstPcapgo compares every packet with what gopacket reads, on the files that gopacket reads to their end.
func TestAgainstPcapgo(t *testing.T) {
	files := append(captureFiles(t, shared(t, "corpus")), captureFiles(t, shared(t, "captures"))...)
	compared := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := pcapgoPackets(data)
		if err != nil {
			continue
		}
		r, err := pcap.NewReader(bytes.NewReader(data), filepath.Base(file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		var f pcap.Frame
		n := 0
		for ; r.Next(&f) == nil; n++ {
			if n == len(want) {
				t.Errorf("%s: more than %d packets", file, n)
				break
			}
			w := want[n]
			length := max(min(w.info.Length, math.MaxInt32), w.info.CaptureLength)
			if !sameTime(f.Time, w.info.Timestamp) || f.OriginalLength != length || !bytes.Equal(f.Data, w.data) {
				t.Errorf("%s: frame %d differs: %v, %d of %d bytes; pcapgo %v, %d of %d bytes", file, n+1, f.Time.Time(), len(f.Data), f.OriginalLength, w.info.Timestamp, len(w.data), w.info.Length)
				break
			}
		}
		if n < len(want) {
			t.Errorf("%s: %d packets, pcapgo %d", file, n, len(want))
		}
		compared++
	}
	if compared < len(files)/2 {
		t.Errorf("only %d of %d files compared", compared, len(files))
	}
}

// sameTime leaves out what pcapgo has no time for (simple packet blocks), what no Timestamp can hold, and a fuzzed fraction
// of a second that overflows pcapgo's arithmetic.
func sameTime(got pcap.Timestamp, want time.Time) bool {
	return want.IsZero() || want.Year() > 2261 || want.Year() == 2031 || int64(got) == want.UnixNano()
}

type pcapgoPacket struct {
	data []byte
	info gopacket.CaptureInfo
}

func pcapgoPackets(data []byte) (packets []pcapgoPacket, err error) {
	defer func() { // it panics on some files
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	var r gopacket.PacketDataSource
	if bytes.HasPrefix(data, []byte{0x0a, 0x0d, 0x0d, 0x0a}) {
		r, err = pcapgo.NewNgReader(bytes.NewReader(data), pcapgo.NgReaderOptions{WantMixedLinkType: true})
	} else {
		r, err = pcapgo.NewReader(bytes.NewReader(data))
	}
	if err != nil {
		return nil, err
	}
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return packets, nil
		}
		if err != nil {
			return nil, err
		}
		packets = append(packets, pcapgoPacket{bytes.Clone(data), info})
	}
}
