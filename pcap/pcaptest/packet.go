package pcaptest

import (
	"cmp"
	"slices"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
)

// Packet is one captured packet. The zero LinkType is NULL, not Ethernet.
type Packet struct {
	Time     time.Time
	LinkType pcap.LinkType
	Data     []byte // as captured
	Length   int    // bytes on the wire; 0 stands for len(Data)
}

func (p Packet) wireLength() int {
	if p.Length == 0 {
		return len(p.Data)
	}
	return p.Length
}

// Interleave returns the packets of several conversations in order of time; equal times keep the order of the arguments.
func Interleave(conversations ...*Conversation) []Packet {
	var all []Packet
	for _, c := range conversations {
		all = append(all, c.Packets()...)
	}
	slices.SortStableFunc(all, func(a, b Packet) int { return cmp.Compare(a.Time.UnixNano(), b.Time.UnixNano()) })
	return all
}

// Frames returns the packets as a capture reader would yield them, numbered from 1, as the first capture of a source.
// Interface and Offset are zero; Data is shared with the packets.
func Frames(packets ...Packet) []pcap.Frame {
	frames := make([]pcap.Frame, len(packets))
	for i, p := range packets {
		frames[i] = pcap.Frame{
			Ref:            pcap.Ref{Number: pcap.FrameNumber(i + 1), Time: pcap.Timestamp(p.Time.UnixNano())},
			LinkType:       p.LinkType,
			OriginalLength: p.wireLength(),
			Data:           p.Data,
		}
	}
	return frames
}
