package analysis

import (
	"cmp"
	"slices"
	"strings"
)

// total counts all that is no finding, what was dropped from the history included.
func (j *judgement) total() (Counts, []ApplicationRepeat) {
	all, repeats := j.counted()
	for _, p := range j.partitions {
		if p.chains != nil && len(p.rises()) > 0 {
			all.LeaderChanges++
		}
	}
	all.EpochBumps += j.c.producers.bumps
	for _, pr := range j.c.producers.byID {
		all.EpochBumps += pr.bumps
	}
	all.add(j.c.window.counts)
	repeats = addRepeats(repeats, j.c.window.repeats)
	slices.SortFunc(repeats, func(a, b ApplicationRepeat) int {
		return cmp.Or(cmp.Compare(b.Records, a.Records), strings.Compare(a.Topic.Name, b.Topic.Name), cmp.Compare(a.Partition, b.Partition))
	})
	return all, repeats
}

// counted returns what was counted of all partitions.
func (j *judgement) counted() (all Counts, repeats []ApplicationRepeat) {
	for _, p := range j.partitions {
		all.add(p.counts)
		if n := p.counts.ApplicationRepeats; n > 0 {
			repeats = append(repeats, ApplicationRepeat{p.topic, p.number, n})
		}
	}
	return all, repeats
}

// count counts what is no finding, by the batches that are in.
func (p *partition) count(in func(*batch) bool) {
	if p.chains == nil {
		return
	}
	for _, b := range p.batches {
		if in(b) {
			p.countAnswers(b)
		}
	}
	p.counts.ApplicationRepeats = p.chains.repeatsAmong(in)
}

func (p *partition) countAnswers(b *batch) {
	if len(b.sends) == 0 || b.info.Control() {
		return
	}
	for _, s := range b.sends {
		a := s.reply()
		switch {
		case a == nil:
		case a.ErrorCode == errDuplicateSequence:
			p.counts.Deduplicated++
		case a.ErrorCode == 0 && b.lostBehind(a):
		case a.ErrorCode == 0 && b.isRetryAnswer(s, a):
			p.counts.Deduplicated++
		case a.ErrorCode == 0:
			p.counts.Appended++
		case a.BaseOffset < 0:
			p.counts.Rejected++
		}
	}
	if b.hasSeenOK || len(b.views) > 0 {
		return // which spares nearly all batches the search for their fate
	}
	f := b.fate()
	if f.grade == unknown && !f.acknowledged && b.sends[0].sent.Acks != 0 && !b.p.cameAgain(b) {
		p.counts.Unacknowledged++
	}
}

// cameAgain reports whether a record of the batch has a later copy.
func (p *partition) cameAgain(b *batch) bool {
	if p.chains == nil {
		return false
	}
	for _, r := range b.records {
		if n := p.chains.lookup(entry{b, r.Delta}); n != nil && len(n.next) > 0 {
			return true
		}
	}
	return false
}

// repeatsAmong counts the records that equal exactly one other in content and timestamp and are its later copy by the
// application's own doing: written again after an OK, at once, or within one batch. The batch of the first one has to be in.
func (c *chains) repeatsAmong(in func(*batch) bool) int64 {
	var n int64
	for _, o := range c.repeated().all {
		if o.count != 2 || len(o.entries[0].b.sends) == 0 || len(o.entries[1].b.sends) == 0 || !in(o.entries[0].b) {
			continue
		}
		a, _ := o.entries[0].record()
		b, _ := o.entries[1].record()
		if a.Timestamp == b.Timestamp && !c.explained(o.entries[0], o.entries[1]) && !samePlaceOf(o.entries[0], o.entries[1]) {
			n++
		}
	}
	return n
}

// samePlaceOf reports whether two records are said to stand at one place: a proxy that writes batches anew had the second from the first.
func samePlaceOf(a, b entry) bool {
	x, y := copyOf{entry: a, fate: a.b.fate()}.offset(), copyOf{entry: b, fate: b.b.fate()}.offset()
	return x != NoOffset && x == y
}

// explained reports whether a finding, or the way that retries go, has linked two records.
func (c *chains) explained(a, b entry) bool {
	x, y := c.lookup(a), c.lookup(b)
	return x != nil && y != nil && x.root() == y.root()
}
