package analysis

import (
	"sort"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// suspects indexes, by content, the records that may be first copies: those of batches that another batch could have been
// meant to replace. In traffic without faults there are next to none, which keeps judging cheap.
type suspects struct {
	byContent map[kafka.Fingerprint][]entry
	byCRC     map[uint32][]*batch // whole batches without a producer id
	batches   []*batch            // in order of first send
	until     []pcap.Timestamp    // until[i]: the latest time at which one of batches 0…i was open
}

const forever = pcap.Timestamp(1<<63 - 1)

func findSuspects(p *partition) *suspects {
	x := &suspects{byContent: map[kafka.Fingerprint][]entry{}, byCRC: map[uint32][]*batch{}}
	top := map[int64]int16{} // highest epoch sent per producer id
	for _, b := range p.batches {
		if b.idempotent() && len(b.sends) > 0 {
			top[b.id.producer] = max(top[b.id.producer], b.id.epoch)
		}
	}
	for i, b := range p.batches {
		if b.info.Control() || !b.suspect(p.batches[i+1:], top) {
			continue
		}
		x.add(b)
	}
	return x
}

func (x *suspects) add(b *batch) {
	for _, r := range b.records {
		x.byContent[r.Content] = append(x.byContent[r.Content], entry{b, r.Delta})
	}
	if !b.idempotent() {
		x.byCRC[b.info.CRC] = append(x.byCRC[b.info.CRC], b)
	}
	until := forever
	if b.hasSeenOK {
		until = b.seenOK
	}
	if n := len(x.until); n > 0 {
		until = max(until, x.until[n-1])
	}
	x.batches, x.until = append(x.batches, b), append(x.until, until)
}

// openBefore reports whether a suspect that began before b was still open when b was first sent.
func (x *suspects) openBefore(b *batch) bool {
	n := sort.Search(len(x.batches), func(i int) bool { return x.batches[i].first.Time > b.first.Time })
	return n > 0 && x.until[n-1] > b.first.Time
}

// suspect reports whether the batch may be a first copy. following are the batches behind it.
func (b *batch) suspect(following []*batch, top map[int64]int16) bool {
	if len(b.sends) == 0 {
		sent, ok := top[b.id.producer]
		return ok && b.idempotent() && b.id.epoch < sent
	}
	if !b.hasSeenOK || b.seenOK-b.first.Time >= answerTime || b.failedBefore(b.seenOK) {
		return true
	}
	for _, later := range following {
		if later.first.Time >= b.seenOK || len(later.sends) == 0 {
			return false
		}
		if later.id.producer != b.id.producer || later.id.epoch != b.id.epoch {
			return true
		}
	}
	return false
}
