package pcap_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/filter"
)

// namespace puts the rest of the test into a network namespace of its own, with nothing but lo, or skips it. The thread
// stays locked, so it ends with the test, and the namespace with the last of its sockets.
func namespace(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("no network namespace of its own: %v", err)
	}
	ip(t, "link set lo up")
}

// ip runs the command of iproute2, or skips the test where a kernel lacks the kind of interface.
func ip(t *testing.T, args string) {
	t.Helper()
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	if err != nil {
		t.Skipf("ip %s: %v %s", args, err, out)
	}
}

func open(t *testing.T, o pcap.LiveOptions) pcap.Live {
	t.Helper()
	l, err := pcap.OpenLive(o)
	if errors.Is(err, pcap.ErrNoPermission) {
		t.Skip("raw sockets are refused")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func liveFilter(text string) pcap.LiveFilter {
	return func(link pcap.LinkType) ([]bpf.RawInstruction, error) { return filter.Compile(text, link, 262144) }
}

// sender sends numbered datagrams to a port of an address. Nobody need listen there.
type sender struct {
	*net.UDPConn
	n uint32
}

func sendTo(t *testing.T, address string) *sender {
	t.Helper()
	c, err := net.Dial("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &sender{UDPConn: c.(*net.UDPConn)}
}

// send sends n datagrams of the size. Errors are those of a port where nobody listens, or of an interface that is down.
func (s *sender) send(n, size int) {
	b := make([]byte, size)
	for range n {
		s.n++
		binary.BigEndian.PutUint32(b, s.n)
		for range 2 { // the first may bring the ICMP error of one before
			if _, err := s.Write(b); err == nil {
				break
			}
		}
	}
}

// datagram returns the port and number of a frame that send sent, behind the link header.
func datagram(f *pcap.Frame) (port uint16, number uint32) {
	b := f.Data
	if f.LinkType == pcap.LinkTypeEthernet {
		kind := binary.BigEndian.Uint16(b[12:])
		b = b[14:]
		if kind == 0x8100 {
			kind, b = binary.BigEndian.Uint16(b[2:]), b[4:]
		}
		if kind != 0x0800 {
			return 0, 0
		}
	}
	if b[0]>>4 != 4 || b[9] != 17 {
		return 0, 0
	}
	b = b[int(b[0]&15)*4:]
	return binary.BigEndian.Uint16(b[2:]), binary.BigEndian.Uint32(b[8:])
}

// seen is a copy of a frame.
type seen struct {
	pcap.Frame
	port   uint16
	number uint32
}

// read returns the datagrams up to n of them, or until none comes any more.
func read(t *testing.T, l pcap.Live, n int) []seen {
	t.Helper()
	var all []seen
	var f pcap.Frame
	for quiet := 0; len(all) < n && quiet < 5; {
		err := l.Next(&f)
		if errors.Is(err, pcap.ErrTimeout) {
			quiet++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if port, number := datagram(&f); port != 0 {
			one := seen{f, port, number}
			one.Data = slices.Clone(f.Data)
			all = append(all, one)
		}
	}
	return all
}

// numbered fails unless the datagrams are those from the first number on, each once, in order.
func numbered(t *testing.T, all []seen, first uint32, n int) {
	t.Helper()
	if len(all) != n {
		t.Fatalf("%d datagrams, want %d", len(all), n)
	}
	for i, s := range all {
		if s.number != first+uint32(i) {
			t.Fatalf("datagram %d has number %d, want %d", i, s.number, first+uint32(i))
		}
	}
}

func TestLiveLoopback(t *testing.T) {
	namespace(t)
	l := open(t, pcap.LiveOptions{Interfaces: []string{"lo"}, Filter: liveFilter("udp")})
	before := time.Now()
	const n = 5000
	s := sendTo(t, "127.0.0.1:9")
	s.send(n, 100)
	all := read(t, l, n+1)
	numbered(t, all, 1, n)
	last := pcap.Timestamp(before.Add(-time.Second).UnixNano())
	for i, f := range all {
		if f.LinkType != pcap.LinkTypeEthernet || len(f.Data) != 142 || f.OriginalLength != 142 || f.Number != pcap.FrameNumber(i+1) {
			t.Fatalf("frame %d: number %d, %v, %d of %d bytes", i, f.Number, f.LinkType, len(f.Data), f.OriginalLength)
		}
		if f.Time < last || f.Time.Time().After(time.Now()) {
			t.Fatalf("frame %d at %v, after %v", i, f.Time.Time(), last.Time())
		}
		last = f.Time
	}
	c := l.Captures()[0]
	if c.Name != "lo" || c.Format != "live" || c.Packets != n || c.Bytes != n*142 || c.Dropped == nil || *c.Dropped != 0 ||
		c.CutShort != 0 || c.Last != last || !slices.Equal(c.LinkTypes, []pcap.LinkType{pcap.LinkTypeEthernet}) {
		t.Errorf("capture %+v", c)
	}
	if s := l.Stats(); s.Packets != n || len(s.Interfaces) != 1 || s.Interfaces[0] != (pcap.LiveInterface{Name: "lo", Packets: n, Bytes: n * 142, Present: true}) {
		t.Errorf("stats %+v", s)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Next(new(pcap.Frame)); err != io.EOF {
		t.Errorf("after close: %v", err)
	}
	if err := l.SetFilter(nil); err == nil {
		t.Error("a closed capture takes a filter")
	}
	if got := l.Captures()[0].Packets; got != n {
		t.Errorf("%d packets after close", got)
	}
}

func TestLiveSnaplen(t *testing.T) {
	namespace(t)
	for _, f := range []pcap.LiveFilter{nil, liveFilter("udp port 9")} {
		l := open(t, pcap.LiveOptions{Interfaces: []string{"lo"}, Snaplen: 60, Filter: f})
		sendTo(t, "127.0.0.1:9").send(1, 1000)
		all := read(t, l, 1)
		numbered(t, all, 1, 1)
		if len(all[0].Data) != 60 || all[0].OriginalLength != 1042 || l.Captures()[0].CutShort == 0 {
			t.Errorf("%d of %d bytes", len(all[0].Data), all[0].OriginalLength)
		}
		l.Close()
	}
}

// TestLiveFilter opens captures while there is traffic that the filter refuses.
func TestLiveFilter(t *testing.T) {
	namespace(t)
	noise, wanted := sendTo(t, "127.0.0.1:7"), sendTo(t, "127.0.0.1:9092")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				noise.send(10, 50)
			}
		}
	}()
	for range 20 {
		l := open(t, pcap.LiveOptions{Interfaces: []string{"lo"}, RingBytes: 4 << 20, Filter: liveFilter("port 9092")})
		first := wanted.n + 1
		wanted.send(3, 50)
		var f pcap.Frame
		for want := first; want < first+3; {
			if err := l.Next(&f); err != nil {
				t.Fatal(err)
			}
			if port, number := datagram(&f); port != 9092 || number != want {
				t.Fatalf("datagram %d to port %d, want %d to 9092", number, port, want)
			}
			want++
		}
		l.Close()
	}
	close(stop)
	<-stopped

	l := open(t, pcap.LiveOptions{Interfaces: []string{"lo"}, Filter: liveFilter("port 9092")})
	if err := l.SetFilter(liveFilter("port 7")); err != nil {
		t.Fatal(err)
	}
	first := noise.n + 1
	wanted.send(3, 50)
	noise.send(3, 50)
	numbered(t, read(t, l, 4), first, 3)
	bad := errors.New("bad filter")
	if err := l.SetFilter(func(pcap.LinkType) ([]bpf.RawInstruction, error) { return nil, bad }); !errors.Is(err, bad) {
		t.Error(err)
	}
}

func TestLiveTimeout(t *testing.T) {
	namespace(t)
	l := open(t, pcap.LiveOptions{Interfaces: []string{"lo"}, Timeout: time.Millisecond})
	for range 3 {
		if err := l.Next(new(pcap.Frame)); err != pcap.ErrTimeout {
			t.Fatal(err)
		}
	}
}

func TestLiveErrors(t *testing.T) {
	namespace(t)
	open(t, pcap.LiveOptions{Interfaces: []string{"lo"}}).Close()
	for _, c := range []struct {
		interfaces []string
		want       string
	}{
		{nil, "which interface"},
		{[]string{"any", "lo"}, `"any" stands for all`},
		{[]string{"lo", "nope0"}, `no interface "nope0"`},
		{[]string{"a-name-longer-than-any-interface"}, `no interface "a-name`},
	} {
		_, err := pcap.OpenLive(pcap.LiveOptions{Interfaces: c.interfaces})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.interfaces, err, c.want)
		}
	}
	_, err := pcap.OpenLive(pcap.LiveOptions{Interfaces: []string{"lo"}, Filter: liveFilter("port x")})
	if err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("wrong filter: %v", err)
	}
}

// TestLiveDrops fills a ring before it is read: what was sent is what came and what was dropped.
func TestLiveDrops(t *testing.T) {
	namespace(t)
	l := open(t, pcap.LiveOptions{Interfaces: []string{"lo"}, RingBytes: 2 << 20, Filter: liveFilter("udp")})
	const n = 2000
	s := sendTo(t, "127.0.0.1:9")
	s.send(n, 4000)
	dropped := l.Stats().Dropped
	if dropped == 0 || l.Stats().Freezes == 0 {
		t.Fatalf("stats %+v", l.Stats())
	}
	all := read(t, l, n)
	numbered(t, all, 1, n-int(dropped))
	s.send(10, 100)
	numbered(t, read(t, l, 11), n+1, 10)
	if got := *l.Captures()[0].Dropped; got != dropped {
		t.Errorf("%d dropped, before %d", got, dropped)
	}
	if got := l.Stats().Interfaces[0].Dropped; got != dropped {
		t.Errorf("%d dropped of lo, %d in all", got, dropped)
	}
}

// pair makes a veth pair; what is sent to the address leaves by name and comes in by its peer.
func pair(t *testing.T, name string, number int) {
	t.Helper()
	ip(t, fmt.Sprintf("link add %s type veth peer name %speer", name, name))
	ip(t, fmt.Sprintf("addr add 10.9.%d.1/24 dev %s", number, name))
	ip(t, fmt.Sprintf("link set %s up", name))
	ip(t, fmt.Sprintf("link set %speer up", name))
	ip(t, fmt.Sprintf("neigh add 10.9.%d.2 lladdr 02:00:00:00:00:01 dev %s", number, name))
	running(t, name)
}

// running waits until the kernel has noticed that an interface has a carrier; before, it drops what is sent.
func running(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		if i, err := net.InterfaceByName(name); err == nil && i.Flags&net.FlagRunning != 0 {
			return
		}
	}
	t.Fatalf("%s does not come up", name)
}

// TestLiveInterfaceComesAndGoes captures from a veth that goes down and up, vanishes and comes back under its name.
func TestLiveInterfaceComesAndGoes(t *testing.T) {
	namespace(t)
	pair(t, "kd0", 1)
	l := open(t, pcap.LiveOptions{Interfaces: []string{"kd0", "lo"}, Filter: liveFilter("udp"), Timeout: 20 * time.Millisecond, Promiscuous: true})
	other := sendTo(t, "127.0.0.1:7")
	check := func(what string) {
		t.Helper()
		read(t, l, 1<<30) // take note of the change
		s := sendTo(t, "10.9.1.2:9")
		s.send(5, 50)
		all := read(t, l, 6)
		if len(all) != 5 || all[4].number != 5 || l.Stats().Interfaces[all[4].Interface].Name != "kd0" {
			t.Fatalf("%s: %d datagrams of kd0, stats %+v", what, len(all), l.Stats())
		}
		other.send(1, 50)
		if all := read(t, l, 2); len(all) != 1 || all[0].port != 7 || l.Stats().Interfaces[all[0].Interface].Name != "lo" {
			t.Fatalf("%s: %d datagrams of lo", what, len(all))
		}
	}
	check("at the start")
	ip(t, "link set kd0 down")
	read(t, l, 1<<30)
	ip(t, "link set kd0 up")
	ip(t, "neigh replace 10.9.1.2 lladdr 02:00:00:00:00:01 dev kd0")
	running(t, "kd0")
	check("after down and up")
	ip(t, "link del kd0")
	read(t, l, 1<<30)
	if s := l.Stats(); s.Interfaces[0].Name != "kd0" || s.Interfaces[0].Present || !s.Interfaces[1].Present {
		t.Errorf("after it vanished: %+v", s)
	}
	other.send(1, 50)
	if all := read(t, l, 2); len(all) != 1 {
		t.Errorf("%d datagrams of lo beside a vanished interface", len(all))
	}
	pair(t, "kd0", 1)
	check("after it came back")
	if s := l.Stats(); len(s.Interfaces) != 2 || s.Interfaces[0].Packets != 15 || !s.Interfaces[0].Present {
		t.Errorf("at the end: %+v", s)
	}
}

// TestLiveMerge sends over three interfaces in turn: the frames come in the order in which they were sent.
func TestLiveMerge(t *testing.T) {
	namespace(t)
	pair(t, "kd0", 1)
	pair(t, "kd1", 2)
	pair(t, "kd2", 3) // stays idle
	l := open(t, pcap.LiveOptions{Interfaces: []string{"kd0", "kd1", "kd2", "lo"}, Filter: liveFilter("udp")})
	senders := []*sender{sendTo(t, "10.9.1.2:9"), sendTo(t, "10.9.2.2:9"), sendTo(t, "127.0.0.1:9")}
	const n = 3000
	for i := range n {
		s := senders[i*7%5%len(senders)]
		s.n = uint32(i)
		s.send(1, 50+i%1000)
	}
	all := read(t, l, n+1)
	numbered(t, all, 1, n)
	if !slices.IsSortedFunc(all, func(a, b seen) int { return int(a.Time - b.Time) }) {
		t.Error("times go back")
	}
}

// TestLiveAny captures from interfaces that are there, that come later, and that have no Ethernet header.
func TestLiveAny(t *testing.T) {
	namespace(t)
	l := open(t, pcap.LiveOptions{Interfaces: []string{"any"}, Filter: liveFilter("udp port 9 and not host 10.9.9.9")})
	sendTo(t, "127.0.0.1:9").send(2, 50)
	pair(t, "kd0", 1)
	sendTo(t, "10.9.1.2:9").send(1, 50)
	all := read(t, l, 5)
	var got []string
	for _, f := range all {
		got = append(got, l.Stats().Interfaces[f.Interface].Name)
	}
	// A packet that leaves kd0 and comes in by its peer is on both wires.
	if want := []string{"lo", "lo", "kd0", "kd0peer"}; !slices.Equal(got, want) {
		t.Fatalf("datagrams of %v, want %v", got, want)
	}
	ip(t, "link del kd0")
	pair(t, "kd0", 1)
	sendTo(t, "10.9.1.2:9").send(1, 50)
	if all := read(t, l, 3); len(all) != 2 || l.Stats().Interfaces[all[0].Interface].Name != "kd0" || len(l.Stats().Interfaces) != 3 {
		t.Errorf("after it came back: %d datagrams, %+v", len(all), l.Stats())
	}
}

// TestLiveTunnel captures from an interface whose packets begin with the IP header.
func TestLiveTunnel(t *testing.T) {
	namespace(t)
	open(t, pcap.LiveOptions{Interfaces: []string{"lo"}}).Close()
	tun, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no tun interfaces: %v", err)
	}
	defer unix.Close(tun)
	request, err := unix.NewIfreq("kdtun")
	if err != nil {
		t.Fatal(err)
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(tun, unix.TUNSETIFF, request); err != nil {
		t.Skipf("no tun interfaces: %v", err)
	}
	ip(t, "addr add 10.8.0.1/24 dev kdtun")
	ip(t, "link set kdtun up")
	running(t, "kdtun")
	for _, on := range []string{"any", "kdtun"} {
		l := open(t, pcap.LiveOptions{Interfaces: []string{on}, Filter: liveFilter("udp port 9"), RingBytes: 2 << 20})
		sendTo(t, "10.8.0.2:10").send(1, 50)
		sendTo(t, "10.8.0.2:9").send(1, 50)
		all := read(t, l, 2)
		if len(all) != 1 || all[0].LinkType != pcap.LinkTypeRaw || len(all[0].Data) != 78 || all[0].OriginalLength != 78 ||
			l.Stats().Interfaces[all[0].Interface].Name != "kdtun" {
			t.Errorf("%s: %d datagrams %+v, %+v", on, len(all), all, l.Stats())
		}
		l.Close()
	}
}

// TestLiveVLAN sends frames with a tag: going out they have it inside, coming in beside them. Filters see no difference.
func TestLiveVLAN(t *testing.T) {
	namespace(t)
	pair(t, "kd0", 1)
	open(t, pcap.LiveOptions{Interfaces: []string{"lo"}}).Close()
	kd0, err := net.InterfaceByName("kd0")
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	send := func(tags ...byte) {
		frame := append(make([]byte, 12), tags...)
		frame = append(frame, 0x08, 0x00, 0x45, 0, 0, 40, 0, 0, 0, 0, 1, 17, 0, 0, 10, 9, 1, 1, 10, 9, 1, 2, 0, 9, 0, 9, 0, 20, 0, 0)
		frame = append(frame, make([]byte, 30)...)
		if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: kd0.Index}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		filter string
		want   []uint32 // types and tags
	}{
		{"", []uint32{0x08004500, 0x8100a005, 0x8100a005, 0x88a80007}},
		{"udp or (vlan and udp)", []uint32{0x08004500, 0x8100a005, 0x8100a005}},
		{"udp port 9", []uint32{0x08004500}},
		{"vlan and udp port 9", []uint32{0x8100a005, 0x8100a005}},
		{"vlan 5 and dst host 10.9.1.2 and port 9", []uint32{0x8100a005, 0x8100a005}},
		{"vlan 7 and vlan 5 and port 9", []uint32{0x88a80007}},
		{"vlan 6 and udp", nil},
		{"not vlan and udp", nil},
		{"udp and not vlan", []uint32{0x08004500}},
	} {
		for _, on := range []string{"kd0", "kd0peer"} {
			o := pcap.LiveOptions{Interfaces: []string{on}, RingBytes: 2 << 20, Timeout: 20 * time.Millisecond}
			if c.filter != "" {
				o.Filter = liveFilter(c.filter)
			}
			l := open(t, o)
			send()
			send(0x81, 0, 0xa0, 5)
			send(0x81, 0, 0xa0, 5)
			send(0x88, 0xa8, 0, 7, 0x81, 0, 0xa0, 5)
			var got []uint32
			var f pcap.Frame
			for quiet := 0; quiet < 3; {
				if err := l.Next(&f); err != nil {
					quiet++
				} else if bytes.HasPrefix(f.Data, make([]byte, 12)) { // not what the kernel sends by itself
					got = append(got, binary.BigEndian.Uint32(f.Data[12:]))
					if f.OriginalLength != len(f.Data) {
						t.Errorf("%d of %d bytes", len(f.Data), f.OriginalLength)
					}
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q on %s: %#x, want %#x", c.filter, on, got, c.want)
			}
			l.Close()
		}
	}
}

// TestLiveCapability captures with CAP_NET_RAW alone, and without it.
func TestLiveCapability(t *testing.T) {
	namespace(t)
	open(t, pcap.LiveOptions{Interfaces: []string{"lo"}}).Close()
	s := sendTo(t, "127.0.0.1:9")
	capabilities := func(bits uint32) {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		data := [2]unix.CapUserData{{Effective: bits, Permitted: bits}}
		if err := unix.Capset(&header, &data[0]); err != nil {
			t.Fatal(err)
		}
	}
	capabilities(1 << unix.CAP_NET_RAW)
	l := open(t, pcap.LiveOptions{Interfaces: []string{"lo"}, Promiscuous: true, Filter: liveFilter("udp")})
	s.send(3, 50)
	numbered(t, read(t, l, 3), 1, 3)
	capabilities(0)
	_, err := pcap.OpenLive(pcap.LiveOptions{Interfaces: []string{"lo"}})
	if !errors.Is(err, pcap.ErrNoPermission) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "setcap cap_net_raw+ep") {
		t.Errorf("without the capability: %v", err)
	}
}
