package kafka

import (
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// acks are the acknowledgements of bytes that have not been read yet, in order. Streams that are out of step are read later.
type acks []ack

type ack struct {
	to reassembly.StreamOffset
	at pcap.Ref
}

// maxAcks bounds acks. One more counts as the last.
const maxAcks = 16

func (l *acks) add(to reassembly.StreamOffset, at pcap.Ref) {
	n := len(*l)
	switch {
	case n > 0 && to <= (*l)[n-1].to:
	case n == maxAcks:
		(*l)[n-1].to = to
	default:
		*l = append(*l, ack{to, at})
	}
}

// of returns the first acknowledgement of all bytes before an offset, and forgets those of fewer.
func (l *acks) of(end reassembly.StreamOffset) (ack, bool) {
	n := 0
	for n < len(*l) && (*l)[n].to < end {
		n++
	}
	*l = append((*l)[:0], (*l)[n:]...)
	if len(*l) == 0 {
		return ack{}, false
	}
	return (*l)[0], true
}
