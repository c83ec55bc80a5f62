package analysis

import (
	"sort"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// suspects indexes, by content, the records that may be first copies: those of batches that another batch could have been
// meant to replace. In traffic without faults there are next to none, which keeps judging cheap.
type suspects struct {
	exact   map[recordKey]*candidates
	loose   map[kafka.Fingerprint][]entry // by content alone; only what may be distinctive, see maxLoose
	whole   map[wholeKey][]*batch         // what a batch has in common with its resend, however little of it was captured
	batches []*batch                      // in order of first send
	until   []pcap.Timestamp              // until[i]: the latest time at which one of batches 0…i was open
}

// maxLoose is from how many suspects on a content is not looked up by itself any more: it cannot be distinctive.
const maxLoose = 64

// likely returns the suspects with a content, nil if there are too many for it to be distinctive.
func (x *suspects) likely(content kafka.Fingerprint) []entry {
	if all := x.loose[content]; len(all) <= maxLoose {
		return all
	}
	return nil
}

// recordKey is what a client keeps of a record that it sends again.
type recordKey struct {
	content   kafka.Fingerprint
	timestamp int64
}

// candidates are the suspects of one recordKey, a series for each identity.
type candidates struct{ all []*series }

// series lists records of one producer epoch (or of none) in the order of their sends. Those before next cannot be a first copy any
// more: they are one already, or were acknowledged before what is looked at now.
type series struct {
	producer int64
	epoch    int16
	entries  []entry
	next     int
}

// of reports whether the series is of b's producer epoch.
func (r *series) of(b *batch) bool { return r.producer == b.id.producer && r.epoch == b.id.epoch }

func (same *candidates) add(e entry) {
	for _, r := range same.all {
		if r.of(e.b) {
			r.entries = append(r.entries, e)
			return
		}
	}
	same.all = append(same.all, &series{producer: e.b.id.producer, epoch: e.b.id.epoch, entries: []entry{e}})
}

// wholeKey is what the header of a batch keeps when a client sends the batch again as a whole: without a producer id all of it,
// the CRC included; else all but the producer's identity.
type wholeKey struct {
	crc                         uint32 // 0 with a producer id
	idempotent                  bool
	size, lastOffsetDelta       int32
	baseTimestamp, maxTimestamp int64
	codec                       kafka.Codec
}

func (b *batch) whole() wholeKey {
	k := wholeKey{
		idempotent: b.idempotent(), size: b.info.Size, lastOffsetDelta: b.info.LastOffsetDelta,
		baseTimestamp: b.info.BaseTimestamp, maxTimestamp: b.info.MaxTimestamp, codec: b.info.Codec(),
	}
	if !k.idempotent {
		k.crc = b.info.CRC
	}
	return k
}

const forever = pcap.Timestamp(1<<63 - 1)

func findSuspects(p *partition) *suspects {
	x := new(suspects)
	top := map[int64]int16{} // highest epoch sent per producer id
	for _, b := range p.batches {
		if b.idempotent() && len(b.sends) > 0 {
			top[b.id.producer] = max(top[b.id.producer], b.id.epoch)
		}
	}
	for i, b := range p.batches {
		if b.info.Control() || !evidence(b.info) || !b.suspect(p.batches[i+1:], top) {
			continue
		}
		x.add(b)
	}
	return x
}

func (x *suspects) add(b *batch) {
	if x.whole == nil {
		x.exact, x.loose, x.whole = map[recordKey]*candidates{}, map[kafka.Fingerprint][]entry{}, map[wholeKey][]*batch{}
	}
	for _, r := range b.records {
		e := entry{b, r.Delta}
		key := recordKey{r.Content, r.Timestamp}
		same := x.exact[key]
		if same == nil {
			same = &candidates{}
			x.exact[key] = same
		}
		same.add(e)
		if all := x.loose[r.Content]; len(all) <= maxLoose {
			x.loose[r.Content] = append(all, e)
		}
	}
	key := b.whole()
	x.whole[key] = append(x.whole[key], b)
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
		if later.id.producer != b.id.producer && sameClient(b, later) || later.id.producer == b.id.producer && later.id.epoch != b.id.epoch {
			return true
		}
	}
	return false
}
