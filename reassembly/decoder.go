package reassembly

import (
	"net/netip"

	"github.com/kdupscan/kdupscan/pcap"
)

// Decoder undoes link layer, VLAN tags, tunnels, IP and IP fragments. It is for one goroutine.
type Decoder struct {
	note      func(pcap.Note)
	emit      func(*Segment)
	frame     *pcap.Frame // the frame being decoded
	src, dst  netip.Addr  // of the innermost IP header so far
	segment   Segment     // handed out for each TCP segment
	fragments fragments
}

// NewDecoder returns a Decoder that reports oddities and limits to note.
func NewDecoder(limits Limits, note func(pcap.Note)) *Decoder {
	return &Decoder{note: note, fragments: newFragments(limits, note)}
}

// Decode calls emit for the TCP segment that f holds or completes, if any. The segment is valid during that call. What
// is not TCP is passed over in silence.
func (d *Decoder) Decode(f *pcap.Frame, emit func(*Segment)) {
	d.frame, d.emit = f, emit
	p := packet{data: f.Data, wire: max(f.OriginalLength, len(f.Data))}
	switch f.LinkType {
	case pcap.LinkTypeEthernet:
		d.ethernet(p)
	case pcap.LinkTypeLinuxSLL:
		d.cooked(p)
	case pcap.LinkTypeLinuxSLL2:
		d.cooked2(p)
	case pcap.LinkTypeRawBSD, pcap.LinkTypeRawOpen, pcap.LinkTypeRaw, pcap.LinkTypeIPv4, pcap.LinkTypeIPv6:
		d.ip(p)
	case pcap.LinkTypeNull, pcap.LinkTypeLoop:
		d.loopback(p)
	case pcap.LinkTypePPP, pcap.LinkTypePPPHDLC, linkTypePPPD:
		d.ppp(p)
	case pcap.LinkTypePPPoE:
		d.pppoe(p)
	case pcap.LinkTypeCiscoHDLC:
		d.ciscoHDLC(p)
	case linkTypeMPLS:
		d.mpls(p)
	case pcap.LinkTypeNFLog:
		d.nflog(p)
	case pcap.LinkTypePktap:
		d.pktap(p)
	default:
		d.report(CodeLinkType, f.LinkType.String())
	}
}

// Link types that pcap has no name for (https://www.tcpdump.org/linktypes.html).
const (
	linkTypePPPD = 166
	linkTypeMPLS = 219
)

// packet is what one header carries: the rest of a frame.
type packet struct {
	data  []byte // as far as captured
	wire  int    // length on the wire, at least len(data)
	depth int    // Ethernet and IP headers around it
}

// after returns what follows the first n bytes; n is at most len(p.data).
func (p packet) after(n int) packet {
	return packet{data: p.data[n:], wire: p.wire - n, depth: p.depth}
}

// inside returns what follows an Ethernet or IP header of n bytes.
func (p packet) inside(n int) packet {
	return packet{data: p.data[n:], wire: p.wire - n, depth: p.depth + 1}
}

// first returns the first n bytes on the wire, or all where there are fewer. A payload has a length of its own where the
// frame is padded.
func (p packet) first(n int) packet {
	return packet{data: p.data[:min(n, len(p.data))], wire: min(n, p.wire), depth: p.depth}
}

// has reports whether a header of n bytes was captured, and notes why not.
func (d *Decoder) has(p packet, n int) bool {
	if len(p.data) >= n {
		return true
	}
	if p.wire >= n {
		d.report(CodeHeaderCut, "")
	} else {
		d.report(CodeMalformed, "shorter than its header")
	}
	return false
}

// mayNest reports whether one more header around what follows is still within bounds.
func (d *Decoder) mayNest(p packet) bool {
	if p.depth >= maxDepth {
		d.report(CodeTunnelDepth, "")
		return false
	}
	return true
}

func (d *Decoder) report(code pcap.Code, detail string) {
	d.note(pcap.Note{Code: code, At: d.frame.Ref, Detail: detail})
}
