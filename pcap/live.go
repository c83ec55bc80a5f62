package pcap

import (
	"errors"
	"time"

	"golang.org/x/net/bpf"
)

// AnyInterface stands for all interfaces, those to come included.
const AnyInterface = "any"

// ErrTimeout is returned by Next of a Live when no packet came for LiveOptions.Timeout. Next may be called again.
var ErrTimeout = errors.New("no packet within the timeout")

// ErrNoPermission says in one line what a live capture needs.
var ErrNoPermission = errors.New("capturing needs CAP_NET_RAW: run as root, or grant it once with" +
	" sudo setcap cap_net_raw+ep $(command -v kdupscan), or in a systemd unit with AmbientCapabilities=CAP_NET_RAW")

// LiveFilter returns the program that decides about packets of a link type: Ethernet or RAW, see Live.
type LiveFilter func(LinkType) ([]bpf.RawInstruction, error)

// LiveOptions are the options of OpenLive. Zero values stand for the defaults.
type LiveOptions struct {
	Interfaces  []string      // names, or AnyInterface alone
	Filter      LiveFilter    // nil lets all packets pass
	RingBytes   int           // memory of the kernel's ring, for each interface; default 64 MiB
	Snaplen     int           // bytes to keep of a packet; default 256 KiB, and no more than that
	Timeout     time.Duration // how long Next waits for a packet; default 100 ms
	Promiscuous bool          // also see what is for other hosts, as a mirror port needs it
}

// Live is a Source that captures from network interfaces, on Linux alone.
//
// Next waits for a packet and returns ErrTimeout now and then, so that the caller can look whether to stop; where packets
// never cease it does not, so the caller should look between packets too. It returns io.EOF after Close. The bytes of a
// frame lie in the ring that the kernel fills, and keep a part of it occupied until the next call.
//
// Packets carry the kernel's time in nanoseconds. Those of several interfaces are merged by it, except where the clock is
// set meanwhile; a packet comes up to 40 ms late therefore. With AnyInterface there is one ring, and nothing to merge.
//
// A frame of an Ethernet or loopback interface has LinkTypeEthernet. Frames of all others (tun, WireGuard, PPP, tunnels)
// begin with the IP header and have LinkTypeRaw; what is not IP there is not captured. Of the loopback interface each packet
// is taken once, as it comes in. A VLAN tag, which Linux takes out of the packet, is put back; filters see it there too, so
// that they mean the same as over a file. An interface may go down, vanish and come back under the same name meanwhile: its
// packets cease and begin again.
//
// Frame.Interface is an index into LiveStats.Interfaces; there is one Capture.
//
// Next, Captures and Close are for one goroutine; SetFilter and Stats for any.
type Live interface {
	Source
	// SetFilter replaces the filter, for packets to come; those in the ring have passed the old one. On an error the old
	// filter stays, or on some of several interfaces the new one has been set already.
	SetFilter(LiveFilter) error
	Stats() LiveStats
	// Close gives up the ring. Captures and Stats still work after it.
	Close() error
}

// LiveStats are counts since OpenLive.
type LiveStats struct {
	Packets, Bytes uint64 // yielded by Next
	Dropped        uint64 // packets that passed the filter and found the ring full
	Freezes        uint64 // how often the ring became full
	Interfaces     []LiveInterface
}

// LiveInterface is one interface. With AnyInterface there is one for each that a packet was seen of, in that order.
type LiveInterface struct {
	Name           string
	Packets, Bytes uint64
	Dropped        uint64 // 0 with AnyInterface, where the ring is shared
	Present        bool   // it exists; with AnyInterface: it did
}
