package filter

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/kdupscan/kdupscan/pcap"
)

// expressions are accepted by tcpdump too, for any link type. The hosts and ports are those of the captures that the tests
// run over, so that most expressions have frames to find.
var expressions = []string{
	"ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6",
	"not ip", "not tcp", "!udp", "not not tcp", "ip or arp", "tcp and ip6", "ip and not tcp", "not (tcp or udp)",
	"port 9092", "port 53", "tcp port 80", "udp port 53", "sctp port 2905", "not port 53",
	"src port 53", "dst port 53", "src or dst port 53", "src and dst port 53", "dst and src port 53", "tcp src port 80", "udp dst port 53",
	"port 9092 or 9093", "port 80 or 443 or 53", "tcp port 80 or 53 or 9092", "not port 80 or 53", "port 80 or not 53",
	"port 80 and not port 53", "port (80 or 53) and 443", "port 53 and (80 or 53)", "tcp and port 80 or 53", "not (port 80 or 53)",
	"port 80&&port 1024", "port 80||53", "port 0x50",
	"portrange 1-1023", "portrange 1023-1", "portrange 80", "tcp portrange 1024-65535", "src portrange 50-60", "portrange 0-65535",
	"portrange 1-79 or 81-100", "src and dst portrange 1024-65535",
	"host 127.0.0.1", "host 192.168.1.1", "host 10.0.0.1 or 10.0.0.2", "not host 127.0.0.1", "src host 192.168.1.1", "dst 192.168.1.1",
	"src or dst 192.168.1.1", "src and dst 127.0.0.1", "ip host 192.168.1.1", "arp host 192.168.1.1", "rarp host 192.168.1.1", "ip src 10.0.0.1",
	"host ::1", "ip6 host fe80::1", "src host ::1 or fe80::1", "host ::ffff:1.2.3.4", "dst ::1",
	"net 10", "net 10.0", "net 192.168.1", "net 10.0.0.0/8", "net 192.168.0.0/16", "src net 192.168.0.0/16", "not dst net 10.0.0.0/8",
	"net 127.0.0.1", "net 10.0.0.0 mask 255.0.0.0", "net 0.0.0.0/0", "net 172.16.0.0/12 or 10.0.0.0/8", "ip net 10", "arp net 192.168",
	"net fe80::/10", "net ::1", "net ::/0", "ip6 net 2001::/16", "src net fe80::/64", "net fc00::/7",
	"host (192.168.1.1 or 10.0.0.1) and tcp port 80", "(tcp port 80 or udp port 53) and net 192.168.0.0/16",
	"tcp and (port 80 or port 443) and not (host 127.0.0.1 or net 10)", "ip and not net 192.168.0.0/16 or arp",
	"tcp port 80 and host 192.168.1.1 or 10.0.0.1", "host 192.168.1.1 and not (port 53 or 80)",
	"port 80\n\tor  port\r\n53",
}

// tagged are understood by tcpdump for Ethernet alone.
var tagged = []string{
	"vlan", "not vlan", "vlan 5", "vlan 100 and tcp", "vlan and ip", "vlan and port 80", "vlan or port 80", "port 80 or vlan", "tcp or (vlan and tcp)",
	"vlan and vlan", "vlan 5 and vlan 7", "vlan and host 192.168.1.1", "vlan and vlan and ip", "vlan 5 or vlan 6", "port 53 or (vlan and port 53)",
	"vlan and not tcp", "not (vlan and tcp)", "vlan and net fe80::/10", "vlan and arp", "vlan and portrange 1-1023", "vlan 0xfff",
}

// padding keeps loads inside of the packet: a program that reads beyond it ends at once, and in which order the two
// programs read is no part of the meaning.
const padding = 160

// packets returns the packets of the shared captures, padded, by link type.
func packets(t *testing.T) map[pcap.LinkType][][]byte {
	t.Helper()
	all := make(map[pcap.LinkType][][]byte)
	for _, name := range []string{"corpus", "captures"} {
		dir := filepath.Join("..", "..", "..", "shared", name)
		if _, err := os.Stat(dir); err != nil {
			t.Skip("no shared captures")
		}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !regexp.MustCompile(`\.(pcap|pcapng|cap)(\.\w+)?$`).MatchString(path) {
				return err
			}
			source, err := pcap.Open([]string{path}, nil)
			if err != nil {
				return nil // not every file of the corpus is a capture
			}
			defer source.Close()
			for f := (pcap.Frame{}); source.Next(&f) == nil; {
				all[f.LinkType] = append(all[f.LinkType], append(bytes.Clone(f.Data), make([]byte, padding)...))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// tcpdump returns what tcpdump makes of an expression, or false if it refuses it.
func tcpdump(t *testing.T, text string, link pcap.LinkType) (string, bool) {
	t.Helper()
	out, err := exec.Command("tcpdump", "-y", link.String(), "-ddd", text).Output()
	return string(out), err == nil
}

func vm(t testing.TB, program []bpf.RawInstruction) *bpf.VM {
	t.Helper()
	instructions, ok := bpf.Disassemble(program)
	if !ok {
		t.Fatalf("not all of %v can be decoded", program)
	}
	machine, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatalf("%v: %v", program, err)
	}
	return machine
}

// TestLikeTcpdump runs our program and that of tcpdump over all packets of the shared captures.
func TestLikeTcpdump(t *testing.T) {
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Skip("no tcpdump")
	}
	all := packets(t)
	links := []pcap.LinkType{
		pcap.LinkTypeEthernet, pcap.LinkTypeLinuxSLL, pcap.LinkTypeLinuxSLL2, pcap.LinkTypeRaw, pcap.LinkTypeNull, pcap.LinkTypeLoop,
		pcap.LinkTypePPP, pcap.LinkTypePPPHDLC, pcap.LinkTypePPPoE, pcap.LinkTypeCiscoHDLC,
	}
	for _, link := range links {
		t.Run(link.String(), func(t *testing.T) {
			texts := expressions
			if link == pcap.LinkTypeEthernet {
				texts = append(texts[:len(texts):len(texts)], tagged...)
			}
			var found int
			for _, text := range texts {
				found += compare(t, text, link, all[link])
			}
			t.Logf("%d packets, found %d times by %d expressions", len(all[link]), found, len(texts))
		})
	}
}

// compare returns how many packets an expression finds.
func compare(t *testing.T, text string, link pcap.LinkType, packets [][]byte) (found int) {
	t.Helper()
	decimal, ok := tcpdump(t, text, link)
	if !ok {
		// It knows no ARP over some link types, and calls that an error for arp, and none for host.
		if !strings.Contains(text, "arp") {
			t.Errorf("tcpdump refuses %q", text)
		}
		return 0
	}
	theirs, err := Compile(decimal, link, 0)
	if err != nil {
		t.Errorf("%q: program of tcpdump: %v", text, err)
		return 0
	}
	ours, err := Compile(text, link, 262144)
	if err != nil {
		t.Errorf("%q: %v", text, err)
		return 0
	}
	a, b := vm(t, ours), vm(t, theirs)
	different := 0
	for _, packet := range packets {
		if foreign(link, packet) {
			continue
		}
		got, err1 := a.Run(packet)
		want, err2 := b.Run(packet)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if got != want {
			different++
		}
		if got != 0 {
			found++
		}
		if kept, _ := run(ours, packet, len(packet)); int(kept) != got {
			t.Fatalf("%q: run returns %d, the VM of x/net %d", text, kept, got)
		}
		if kept, _ := run(theirs, packet, len(packet)); int(kept) != want {
			t.Fatalf("%q by tcpdump: run returns %d, the VM of x/net %d", text, kept, want)
		}
	}
	if different > 0 {
		t.Errorf("%q: %d of %d packets judged in another way", text, different, len(packets))
	}
	return found
}

// foreign reports whether a NULL frame is of a system whose frames tcpdump does not know on this one.
func foreign(link pcap.LinkType, packet []byte) bool {
	switch link {
	case pcap.LinkTypeNull:
		family := binary.NativeEndian.Uint32(packet)
		return family != 2 && family != 10
	case pcap.LinkTypeLoop:
		family := binary.BigEndian.Uint32(packet)
		return family != 2 && family != 10
	}
	return false
}
