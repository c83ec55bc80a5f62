package filter

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"github.com/kdupscan/kdupscan/pcap"
)

func TestErrorsNameTheWord(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "the filter is empty"},
		{" \n", "the filter is empty"},
		{"port", "the filter ends too early"},
		{"port 80 and", "the filter ends too early"},
		{"not", "the filter ends too early"},
		{"src", "the filter ends too early"},
		{"(port 80", `a ")" is missing`},
		{"port 80)", `")" is not`},
		{"()", `")" is not`},
		{"9092", `"9092" is not`},
		{"10.0.0.1", `"10.0.0.1" is not`},
		{"port http", `"http" is no port`},
		{"port 70000", `"70000" is no port`},
		{"port 080", `"080" is no port`},
		{"port -1", `"-1" is no port`},
		{"portrange 1-x", `"1-x" is no portrange`},
		{"host broker1", `"broker1" is no IP address`},
		{"host 10.0", `"10.0" is no IP address`},
		{"host fe80::1%eth0", `"fe80::1%eth0" is no IP address`},
		{"host 10.0.0.0/8", `"10.0.0.0/8" is no IP address`},
		{"net 10.0.0.1/8", `"10.0.0.1/8" has bits set behind its /8`},
		{"net fd00::1/8", `"fd00::1/8" has bits set`},
		{"net 10.0.0.0/33", `"10.0.0.0/33" is no network`},
		{"net 10.0.0.0/x", `"10.0.0.0/x" is no network`},
		{"net 1.2.3.4.5", `"1.2.3.4.5" is no network`},
		{"net 10.0.0.0 mask 255.0.255.0", `"255.0.255.0" is no mask`},
		{"net 10.0.0.0 mask", `"" is no mask`},
		{"net fd00:: mask 255.0.0.0", `"255.0.0.0" is no mask`},
		{"ip port 80", `"ip" cannot stand before "port"`},
		{"tcp host 10.0.0.1", `"tcp" cannot stand before "host"`},
		{"icmp src 10.0.0.1", `"icmp" cannot stand before "host"`},
		{"ip6 host 10.0.0.1", `"ip6" cannot stand before "10.0.0.1"`},
		{"ip host ::1", `"ip" cannot stand before "::1"`},
		{"arp host ::1", `"arp" cannot stand before "::1"`},
		{"tcp or 80", `"80" is not`},
		{"vlan 5 or 6", `"6" is not`},
		{"vlan 5000", `"5000" is no VLAN id`},
		{"tcp tcp", `"tcp" is not`},
		{"port 80 port 81", `"port" is not`},
		{"src src port 80", `"src" is no IP address`},
		{"tcp[13] = 2", `"tcp[13]" is not`},
		{"ether host 00:00:00:00:00:01", `"ether" is not`},
		{"greater 100", `"greater" is not`},
		{"port 80 or gateway x", `"gateway" is not`},
		{"and port 80", `"and" is not`},
		{strings.Repeat("(", maxText+1), "more than 65536"},
		{strings.Repeat("port 1 and ", 1000) + "port 3", "4096 instructions"},
		{"2\n6 0 0 1\n", "says 2 instructions, but has 1"},
		{"1\n6 0 0 x\n", `"6 0 0 x" is no instruction`},
		{"1\n6 0 0\n", `"6 0 0" is no instruction`},
		{"1\n40 0 0 12\n", "does not end with a return"},
		{"2\n21 9 0 1\n6 0 0 1", "instruction 0 of the program (21 9 0 1)"},
		{"2\n5 0 0 4294967295\n6 0 0 1", "instruction 0"},
		{"2\n52 0 0 0\n6 0 0 1", "instruction 0"},
		{"2\n96 0 0 16\n6 0 0 1", "instruction 0"},
		{"2\n999 0 0 0\n6 0 0 1", "instruction 0"},
		{"5000\n" + strings.Repeat("6 0 0 1\n", 5000), "more than 4096"},
	} {
		_, err := Compile(c.text, pcap.LinkTypeEthernet, 100)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60q: %v, want %q", c.text, err, c.want)
		}
	}
	if _, err := Compile("tcp", pcap.LinkTypeWiFi, 100); err == nil || !strings.Contains(err.Error(), "IEEE802_11") {
		t.Errorf("link type without filters: %v", err)
	}
}

// ip4 returns an IPv4 packet with ports, behind a header of 4*words bytes.
func ip4(words int, protocol byte, fragment uint16, source, destination uint16) []byte {
	b := make([]byte, 4*words+8)
	b[0], b[9] = 0x40|byte(words), protocol
	binary.BigEndian.PutUint16(b[6:], fragment)
	copy(b[12:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
	binary.BigEndian.PutUint16(b[4*words:], source)
	binary.BigEndian.PutUint16(b[4*words+2:], destination)
	return b
}

func ethernet(etherType uint16, payload []byte) []byte {
	return append(binary.BigEndian.AppendUint16(make([]byte, 12), etherType), payload...)
}

func vlanTag(etherType, id uint16, payload []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, 0xa000|id) // priority 5
	return append(binary.BigEndian.AppendUint16(b, etherType), payload...)
}

// TestMatch has the cases that captures rarely hold. Expected values follow pcap-filter(7).
func TestMatch(t *testing.T) {
	plain := ip4(5, 6, 0, 50000, 9092)
	double := ethernet(0x88a8, vlanTag(0x8100, 5, vlanTag(0x0800, 7, plain)))
	for _, c := range []struct {
		name  string
		text  string
		link  pcap.LinkType
		frame []byte
		want  bool
	}{
		{"port", "port 9092", 1, ethernet(0x0800, plain), true},
		{"IPv4 options", "dst port 9092", 1, ethernet(0x0800, ip4(15, 6, 0, 1, 9092)), true},
		{"more fragments", "port 9092", 1, ethernet(0x0800, ip4(5, 6, 0x2000, 1, 9092)), true},
		{"do not fragment", "port 9092", 1, ethernet(0x0800, ip4(5, 6, 0x4000, 1, 9092)), true},
		{"later fragment", "port 9092", 1, ethernet(0x0800, ip4(5, 6, 0x2001, 1, 9092)), false},
		{"later fragment, protocol", "tcp", 1, ethernet(0x0800, ip4(5, 6, 0x2001, 1, 9092)), true},
		{"one tag hides", "port 9092", 1, ethernet(0x8100, vlanTag(0x0800, 7, plain)), false},
		{"one tag", "vlan 7 and port 9092", 1, ethernet(0x8100, vlanTag(0x0800, 7, plain)), true},
		{"other tag", "vlan 8 and port 9092", 1, ethernet(0x8100, vlanTag(0x0800, 7, plain)), false},
		{"both, tagged", "port 9092 or (vlan and port 9092)", 1, ethernet(0x8100, vlanTag(0x0800, 7, plain)), true},
		{"both, plain", "port 9092 or (vlan and port 9092)", 1, ethernet(0x0800, plain), true},
		{"two tags", "vlan 5 and vlan 7 and port 9092", 1, double, true},
		{"two tags, swapped", "vlan 7 and vlan 5", 1, double, false},
		{"cooked", "port 9092", 113, append(make([]byte, 14), ethernet(0x0800, plain)[12:]...), true},
		{"cooked, tag", "vlan 7 and port 9092", 113, append(make([]byte, 14), ethernet(0x8100, vlanTag(0x0800, 7, plain))[12:]...), true},
		{"cooked v2", "src port 50000", 276, append(append([]byte{8, 0}, make([]byte, 18)...), plain...), true},
		{"cooked v2, tag", "vlan 7 and port 9092", 276, append(append([]byte{0x81, 0}, make([]byte, 18)...), vlanTag(0x0800, 7, plain)...), true},
		{"raw", "host 10.0.0.1 and port 9092", 101, plain, true},
		{"raw of BSD", "net 10", 12, plain, true},
		{"raw, no tags", "vlan", 101, plain, false},
		{"raw, behind no tag", "not vlan and port 9092", 101, plain, false},
		{"raw, no ARP", "arp", 101, plain, false},
		{"NULL, little-endian", "port 9092", 0, append([]byte{2, 0, 0, 0}, plain...), true},
		{"NULL, big-endian", "port 9092", 0, append([]byte{0, 0, 0, 2}, plain...), true},
		{"NULL, IPv6 of macOS", "ip6", 0, append([]byte{30, 0, 0, 0}, make([]byte, 40)...), true},
		{"too short", "port 9092", 1, ethernet(0x0800, plain)[:34], false},
		{"empty", "not tcp", 1, nil, false},
		{"program", "4\n40 0 0 12\n21 0 1 2048\n6 0 0 65535\n6 0 0 0\n", 1, ethernet(0x0800, plain), true},
	} {
		m, err := NewMatcher(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		f := pcap.Frame{LinkType: c.link, Data: c.frame, OriginalLength: len(c.frame)}
		for range 2 {
			if got, err := m.Match(&f); got != c.want || err != nil {
				t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
			}
		}
	}
}

func TestMatcherErrors(t *testing.T) {
	if _, err := NewMatcher("port x"); err == nil {
		t.Error("a wrong text is accepted")
	}
	if _, err := NewMatcher("2\n40 0 0 4294963200\n6 0 0 1\n"); err == nil || !strings.Contains(err.Error(), "live capture") {
		t.Errorf("program of a live capture: %v", err)
	}
	m, err := NewMatcher("tcp")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := m.Match(&pcap.Frame{LinkType: pcap.LinkTypeNFLog}); err == nil || !strings.Contains(err.Error(), "NFLOG") {
			t.Errorf("frame that cannot be filtered: %v", err)
		}
	}
	if ok, err := m.Match(&pcap.Frame{LinkType: pcap.LinkTypeRaw, Data: ip4(5, 6, 0, 1, 2)}); !ok || err != nil {
		t.Errorf("frame behind one that cannot be filtered: %v, %v", ok, err)
	}
}

// TestLongJumps needs jumps of more than 255 instructions, both for yes and for no.
func TestLongJumps(t *testing.T) {
	var ports []string
	for port := 1000; port < 1300; port++ {
		ports = append(ports, fmt.Sprint(port))
	}
	list := "port (" + strings.Join(ports, " or ") + ")"
	for _, text := range []string{list, "not " + list, "tcp and " + list + " or arp"} {
		program, err := Compile(text, pcap.LinkTypeRaw, 1)
		if err != nil {
			t.Fatal(err)
		}
		machine := vm(t, program)
		for port := uint16(998); port < 1303; port++ {
			want := (port >= 1000 && port < 1300) != strings.HasPrefix(text, "not")
			n, err := machine.Run(ip4(5, 6, 0, 7, port))
			if err != nil || n > 0 != want {
				t.Fatalf("%.20q…: port %d: %d, %v", text, port, n, err)
			}
		}
	}
}

// TestRunLikeVM runs every operation against the machine of x/net, with values that overflow and lengths that cut loads.
func TestRunLikeVM(t *testing.T) {
	values := []uint32{0, 1, 3, 4, 5, 15, 31, 255}
	if bits.UintSize == 64 { // with 32 bits the other machine adds such offsets to lengths without looking
		values = append(values, 0x7fffffff, 0xffffffff)
	}
	packet := []byte{1, 2, 0x83, 4, 5, 0xf6, 7}
	run1 := func(program []bpf.RawInstruction) {
		t.Helper()
		if check(program) != nil {
			return
		}
		instructions, ok := bpf.Disassemble(program)
		machine, err := bpf.NewVM(instructions)
		if !ok || err != nil {
			return // loads that only the kernel knows
		}
		want, err := machine.Run(packet)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := run(program, packet, len(packet)); got != uint32(want) {
			t.Errorf("%v: %#x, want %#x", program, got, uint32(want))
		}
	}
	for op := range uint16(256) {
		if op == 0x81 || op == 0x84 {
			continue // ldx len, which x/net takes for ld len, and neg, which it does not run
		}
		for _, a := range values {
			for _, k := range values {
				run1([]bpf.RawInstruction{
					{Op: 0x01, K: a}, {Op: 0x02, K: 3}, {Op: 0x00, K: a ^ 5}, {Op: op, Jt: 1, Jf: 0, K: k},
					{Op: 0x0c}, {Op: opReturnA},
				})
			}
		}
	}
}

// FuzzCompile holds every text to this: no panic; what compiles is valid for the machine of x/net, runs there and in run
// with the same outcome, and its matcher agrees.
func FuzzCompile(f *testing.F) {
	for _, text := range append(expressions, tagged...) {
		f.Add(text, ethernet(0x0800, ip4(5, 6, 0, 1, 80)))
	}
	f.Add("4\n40 0 0 12\n21 0 1 2048\n6 0 0 65535\n6 0 0 0\n", ethernet(0x8100, vlanTag(0x0800, 7, ip4(6, 17, 0, 53, 53))))
	f.Fuzz(func(t *testing.T, text string, packet []byte) {
		for _, link := range []pcap.LinkType{pcap.LinkTypeEthernet, pcap.LinkTypeLinuxSLL, pcap.LinkTypeRaw, pcap.LinkTypeNull} {
			program, err := Compile(text, link, 262144)
			if err != nil {
				if err.Error() == "" {
					t.Fatal("an error without text")
				}
				continue
			}
			if err := check(program); err != nil {
				t.Fatal(err)
			}
			got, short := run(program, packet, len(packet))
			if short && got != 0 {
				t.Fatalf("%d of a short packet", got)
			}
			if isProgram(text) {
				continue // valid for the kernel, not always for the machine of x/net
			}
			want, err := vm(t, program).Run(packet)
			if err != nil || uint32(want) != got {
				t.Fatalf("run returns %d, the VM of x/net %d, %v", got, want, err)
			}
			m, err := NewMatcher(text)
			if err != nil {
				t.Fatal(err)
			}
			ok, err := m.Match(&pcap.Frame{LinkType: link, Data: packet, OriginalLength: len(packet)})
			if err != nil || ok != (got != 0) {
				t.Fatalf("match: %v, %v; run returns %d", ok, err, got)
			}
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	frame := pcap.Frame{LinkType: 1, Data: ethernet(0x0800, ip4(5, 6, 0, 50000, 9092))}
	m, err := NewMatcher("tcp port 9092 or 9093")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if ok, _ := m.Match(&frame); !ok {
			b.Fatal("no match")
		}
	}
}
