package analysis

import (
	"net/netip"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// unasked is an OK to a Produce request that the capture lacks. At its offset stands a batch of which nothing else is known, or one that is
// known and was sent again. It is what is mostly left of a request whose packet was lost: the answer goes the other way.
type unasked struct {
	server netip.AddrPort
	offset int64
	at     pcap.Timestamp
}

// maxUnasked bounds those kept of one history. Where the clients' side was not captured no answer has a request.
const maxUnasked = 64

func (c *Correlator) answeredUnasked(o *kafka.BatchAnswered) {
	if o.ErrorCode != 0 || o.BaseOffset < 0 || o.BaseOffset > maxOffset {
		return
	}
	h := c.history(o.Link, o.Topic, o.Partition, o.At)
	h.unasked = append(newest(h.unasked, maxUnasked-1), unasked{h.key.server, o.BaseOffset, o.At.Time})
}

// unaskedWithin reports whether one of the offsets [from, to) was given to what is unknown. How many others it takes is not known either.
func (p *partition) unaskedWithin(from, to int64) bool {
	return slices.ContainsFunc(p.unasked, func(u unasked) bool { return u.offset >= from && u.offset < to })
}

// givenToUnasked reports whether another leader gave a copy's place later on to what is unknown: another batch may stand there.
func (p *partition) givenToUnasked(first copyOf) bool {
	f := first.fate
	if len(first.b.sends) == 0 || f.offset == NoOffset {
		return false
	}
	server, end := first.b.appendedBy().link.Server, f.offset+int64(first.b.count())
	return slices.ContainsFunc(p.unasked, func(u unasked) bool {
		return u.server != server && u.at > f.last && u.offset >= f.offset && u.offset < end
	})
}
