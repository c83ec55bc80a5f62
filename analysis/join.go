package analysis

import (
	"cmp"
	"slices"
	"sort"

	"github.com/kdupscan/kdupscan/kafka"
)

// joinSightings gives each sighting to the batch it shows: at a known offset by content; by producer id, epoch and sequence;
// without an id first the places that answers name, then equal unclaimed runs in send order. What is left was never seen
// to be sent and becomes a batch of its own.
func (p *partition) joinSightings() {
	rest := p.joinByAnswer(p.sightings)
	rest = p.joinByIdentity(rest)
	rest = p.joinByContent(rest)
	for _, s := range rest {
		p.addUnsent(s)
	}
}

// joinByAnswer joins what stands at an offset that an answer gave, where the content is equal.
func (p *partition) joinByAnswer(all []*sighting) []*sighting {
	if len(all) == 0 {
		return nil
	}
	answered := p.answered()
	var rest []*sighting
	for _, s := range all {
		owner, base := p.ownerAt(answered.at(s.batch.BaseOffset), s), s.batch.BaseOffset
		if owner == nil && !s.batch.Idempotent() {
			owner, base = answered.ownerOfInner(s)
		}
		if owner == nil {
			rest = append(rest, s)
			continue
		}
		p.anonymous = p.anonymous || owner.anonymousIn(s.batch)
		owner.see(s, base)
	}
	p.anonymous = p.anonymous && !slices.ContainsFunc(all, func(s *sighting) bool { return s.batch.Idempotent() })
	return rest
}

// answer is a batch and a base offset that an answer gave it.
type answer struct {
	offset int64
	b      *batch
}

// answers are sorted by offset, those of one offset by the time of their batches' first sends.
type answers []answer

func (p *partition) answered() answers {
	all := make(answers, 0, len(p.batches))
	for _, b := range p.batches {
		for _, s := range b.sends {
			if a := s.reply(); a != nil && a.BaseOffset >= 0 {
				all = append(all, answer{a.BaseOffset, b})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b answer) int { return cmp.Compare(a.offset, b.offset) })
	return all
}

// at returns the answers with an offset, the first maxRivals of them.
func (all answers) at(offset int64) answers {
	from, _ := slices.BinarySearchFunc(all, offset, func(a answer, offset int64) int { return cmp.Compare(a.offset, offset) })
	to := from
	for to < len(all) && to < from+maxRivals && all[to].offset == offset {
		to++
	}
	return all[from:to]
}

func (p *partition) ownerAt(candidates answers, s *sighting) *batch {
	for _, a := range candidates {
		if a.b.showsIn(s, 0) {
			return a.b
		}
	}
	return nil
}

// ownerOfInner finds the batch of a message that is not the first of its set, and where that batch begins. A reader of an old version may be
// given a set from its fetch offset on; a broker with a log of another format makes batches of its own.
func (all answers) ownerOfInner(s *sighting) (owner *batch, base int64) {
	offset := s.batch.BaseOffset
	n := sort.Search(len(all), func(i int) bool { return all[i].offset > offset })
	for i := n - 1; i >= max(0, n-maxRivals); i-- {
		if delta := offset - all[i].offset; delta < int64(all[i].b.count()) && all[i].b.showsIn(s, int32(delta)) {
			return all[i].b, all[i].offset
		}
	}
	return nil, 0
}

// showsIn reports whether the sighting may be the batch's record of the given delta and what follows it.
func (b *batch) showsIn(s *sighting, delta int32) bool {
	if b.idempotent() && s.batch.Idempotent() {
		return delta == 0 && identityOf(s.batch) == b.id && (emptied(s.batch) || sameContent(b.info, s.batch))
	}
	if b.info.CRC == s.batch.CRC && delta == 0 {
		return true
	}
	return len(b.records) > 0 && len(s.batch.Records) > 0 && sameRun(b.records, delta, s.batch.Records, b.convertedIn(s.batch))
}

// convertedIn reports whether a fetched batch can only show b as it was converted to an older format, for a reader that knows no newer
// one: without headers and producer id.
func (b *batch) convertedIn(seen *kafka.Batch) bool { return b.info.Magic == 2 && seen.Magic < 2 }

// anonymousIn reports whether a fetched batch of the same format can only show b as a broker hands it out whose log is of another format and
// keeps no producers (Kafka on Pulsar and the like).
func (b *batch) anonymousIn(seen *kafka.Batch) bool {
	return b.idempotent() && seen.Magic == b.info.Magic && !seen.Idempotent() && !seen.Control()
}

// sameRun reports whether the records seen are those of a batch from the given delta on; converted: as far as an old format keeps them.
func sameRun(sent []kafka.Record, delta int32, seen []kafka.Record, converted bool) bool {
	i := 0
	for i < len(sent) && sent[i].Delta < delta {
		i++
	}
	for _, r := range seen {
		for i < len(sent) && sent[i].Delta-delta < r.Delta {
			i++
		}
		if i == len(sent) || sent[i].Delta-delta != r.Delta {
			return false
		}
		if !sameRecord(&sent[i], &r, converted) {
			return false
		}
	}
	return true
}

func (p *partition) joinByIdentity(all []*sighting) []*sighting {
	var rest []*sighting
	for _, s := range all {
		if s.batch.Idempotent() && !s.batch.Control() {
			if b := newestLike(p.byIdentity[identityOf(s.batch)], s.batch); b != nil {
				b.see(s, s.batch.BaseOffset)
				continue
			}
		}
		rest = append(rest, s)
	}
	return rest
}

// sentInVain reports whether a send of the batch was not answered, so that it may have a place besides those that are named.
func (b *batch) sentInVain() bool {
	return slices.ContainsFunc(b.sends, func(s *send) bool { return s.reply() == nil })
}

// named reports whether an answer gives the batch a place.
func (b *batch) named() bool {
	for _, s := range b.sends {
		if a := s.reply(); a != nil && a.BaseOffset >= 0 {
			return true
		}
	}
	return false
}

func (b *batch) see(s *sighting, base int64) {
	b.views = append(b.views, view{s, base})
	if len(b.records) == 0 && len(s.batch.Records) > 0 && s.batch.LastOffsetDelta == b.info.LastOffsetDelta {
		b.records = s.batch.Records
	}
}

func (p *partition) addUnsent(s *sighting) {
	id := identityOf(s.batch)
	var newest *batch
	if s.batch.Idempotent() && !s.batch.Control() {
		newest = p.byIdentity[id]
	}
	if b := newestLike(newest, s.batch); b != nil {
		b.see(s, s.batch.BaseOffset)
		return
	}
	b := &batch{p: p, id: id, info: s.batch, records: s.batch.Records, first: s.bestSight().At, order: s.order}
	b.see(s, s.batch.BaseOffset)
	p.add(b, newest)
}
