package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// duplicate is one record that stands at two or more places, judged.
type duplicate struct {
	copies  []copyOf // in the order of first send
	cause   Cause
	verdict Verdict
	doubts  []pcap.Code
}

// copyOf is one copy of a record: the batch that carries it and what became of that.
type copyOf struct {
	entry
	fate fate
	cuts []entry // all batches that carried the record under this identity, where there are several
}

// offset returns where the copy of the record stands.
func (c copyOf) offset() int64 {
	if c.fate.offset == NoOffset {
		return NoOffset
	}
	return c.fate.offset + int64(c.delta)
}

// duplicates judges every chain.
func (c *chains) duplicates() []duplicate {
	if len(c.inOrder)+len(c.doubles) == 0 {
		return nil
	}
	var all []duplicate
	done := map[*node]bool{}
	for _, n := range c.inOrder {
		if n.prev == nil {
			continue // unlinked again
		}
		root := n.root()
		if done[root] {
			continue
		}
		done[root] = true
		if d, ok := c.judgeChain(root); ok {
			all = append(all, d)
		}
	}
	for _, d := range c.doubles {
		all = append(all, c.judgeDouble(d)...)
	}
	return all
}

// judgeChain decides which copies of a chain stand, and how surely.
func (c *chains) judgeChain(root *node) (duplicate, bool) {
	var d duplicate
	root.each(func(n *node) {
		if n.cause != "" {
			d.cause = n.cause
		}
		if one, ok := c.best(n); ok {
			d.copies = append(d.copies, one)
		}
	})
	d.copies = beside(d.copies)
	later := c.laterCopy(d.copies)
	if later <= 0 {
		return d, false
	}
	d.copies, later = c.committedBefore(d.copies, later)
	d.copies = c.standing(d.copies[:later+1], &d)
	if len(d.copies) < 2 {
		return d, false
	}
	d.copies, d.verdict = weigh(d.copies)
	if d.byHeaderOnly() {
		d.verdict = min(d.verdict, Probable)
	}
	d.addDoubts()
	return d, true
}

// byHeaderOnly reports whether the copies were found equal by their headers alone: the records of one were not captured, and
// the CRCs differ as they do under another identity.
func (d *duplicate) byHeaderOnly() bool {
	first := d.copies[0].b
	return slices.ContainsFunc(d.copies[1:], func(c copyOf) bool {
		return (len(c.b.records) == 0 || len(first.records) == 0) && c.b.info.CRC != first.info.CRC
	})
}

// best returns the copy of a logical record by the best fate of the batches that carried it; false if none can stand.
func (c *chains) best(n *node) (copyOf, bool) {
	var best copyOf
	found, known := false, gone
	for _, e := range n.entries {
		f := e.b.fate()
		shown := f.grade
		if f.grade == gone || c.abortedIn(e.b, f) {
			continue
		}
		if f.grade == refused {
			if e.b.refusalCertain() {
				continue
			}
			f.grade = unknown
		}
		if !found || shown > known {
			best, found, known = copyOf{entry: e, fate: f}, true, shown
		}
	}
	if len(n.entries) > 1 {
		best.cuts = n.entries
	}
	return best, found
}

// laterCopy returns the index of the last copy that was acknowledged, committed in spite of its error, or fetched.
func (c *chains) laterCopy(copies []copyOf) int {
	for i := len(copies) - 1; i >= 0; i-- {
		if copies[i].fate.acknowledged {
			return i
		}
	}
	return -1
}

// standing drops the copies that cannot stand beside the last one: at the same place (truncated and stored anew), above it
// on the word of an error answer only, or with no room for them.
func (c *chains) standing(copies []copyOf, d *duplicate) []copyOf {
	last := copies[len(copies)-1]
	var kept []copyOf
	for _, one := range copies[:len(copies)-1] {
		switch {
		case one.fate.offset != NoOffset && one.offset() == last.offset():
			continue
		case one.fate.source == OffsetFromErrorAnswer && one.fate.grade < stored && last.fate.offset != NoOffset && one.offset() > last.offset():
			continue
		case one.offset() > last.offset() && last.fate.offset != NoOffset && one.b.knownAt(one.fate.offset, last.b):
			continue // the log was cut back in between
		case c.p.doubted(one, last):
			one.fate = fate{grade: unknown, offset: NoOffset, leaderEpoch: -1}
		case one.fate.grade == unknown && !one.fate.acknowledged:
			r, at := c.p.room(one.b, last.b)
			if r == noRoom || r == exactRoom && !c.p.take(at, one.b) {
				continue
			}
			if r == exactRoom {
				one.fate = fate{grade: byGap, offset: at, source: OffsetFromGap, leaderEpoch: -1}
			}
		}
		kept = append(kept, one)
	}
	return append(kept, last)
}

// committedBefore drops the copies of open transactions that came before a copy of another producer: who begins anew with another
// producer id has not committed, and the coordinator aborts what is left.
func (c *chains) committedBefore(copies []copyOf, later int) ([]copyOf, int) {
	last := copies[later].b
	var kept []copyOf
	for _, one := range copies[:later] {
		if !one.b.info.Transactional() || one.b.id.producer == last.id.producer || c.outcome(one.b, one.fate) == committed {
			kept = append(kept, one)
		}
	}
	return append(kept, copies[later]), len(kept)
}

// knownAt reports whether b was known to stand at an offset before the other batch was first sent.
func (b *batch) knownAt(offset int64, later *batch) bool {
	return len(later.sends) > 0 && slices.ContainsFunc(b.places(), func(pl place) bool { return pl.offset == offset && pl.at < later.first.Time })
}

// weigh keeps the copies that carry the verdict and gives it: two that cannot be undone, else two that were appended, else
// the first one of unknown fate.
func weigh(copies []copyOf) ([]copyOf, Verdict) {
	at := func(least grade) []copyOf {
		return slices.DeleteFunc(slices.Clone(copies), func(c copyOf) bool { return c.fate.grade < least && !isLast(copies, c) })
	}
	last := copies[len(copies)-1]
	if sure := at(stored); last.fate.grade == stored && len(sure) >= 2 {
		return sure, Confirmed
	}
	if likely := at(byGap); len(likely) >= 2 {
		return likely, Probable
	}
	return []copyOf{copies[0], last}, Possible
}

func isLast(copies []copyOf, c copyOf) bool { return c.entry == copies[len(copies)-1].entry }

func (p *partition) isTopic(t kafka.Topic) bool {
	if t.ID != [16]byte{} && p.topic.ID != [16]byte{} {
		return t.ID == p.topic.ID
	}
	return t.Name == p.topic.Name
}

func (c *chains) judgeDouble(d doubled) []duplicate {
	if c.abortedIn(d.b, d.b.fate()) {
		return nil
	}
	var all []duplicate
	for delta := range min(d.b.count(), maxWholeRecords) {
		first, again := entry{d.b, delta}, entry{d.again, delta + d.shift}
		a, ok := first.record()
		b, ok2 := again.record()
		if !ok && len(d.b.records) > 0 || d.again != d.b && (!ok2 || a.Content != b.Content) {
			continue
		}
		one := duplicate{cause: BrokerDedupFailure, verdict: Confirmed, copies: []copyOf{{entry: first, fate: d.first.fate}, {entry: again, fate: d.second.fate}}}
		one.addDoubts()
		all = append(all, one)
	}
	return all
}

// addDoubts names what weakens or limits the finding.
func (d *duplicate) addDoubts() {
	doubt := func(code pcap.Code, holds bool) {
		if holds && !slices.Contains(d.doubts, code) {
			d.doubts = append(d.doubts, code)
		}
	}
	for i, c := range d.copies {
		doubt(DoubtContentNotCompared, len(c.b.records) == 0)
		doubt(DoubtOffsetsByGap, c.fate.source == OffsetFromGap)
		if i == len(d.copies)-1 {
			continue
		}
		last := d.copies[len(d.copies)-1].b
		doubt(DoubtAnswerMayBeHidden, c.fate.grade == unknown && c.b.answerMayBeHidden())
		doubt(DoubtAnswerMayBeHidden, d.cause != BrokerDedupFailure && d.cause != MisroutedBatch && c.b.arrivalMayBeHidden(last.first.Time))
		doubt(DoubtEarlierSendMayBeHidden, c.fate.grade == unknown && c.b.allRefused())
		doubt(DoubtFirstCopyMayBeTruncated, c.fate.grade == appended)
		doubt(DoubtFirstCopyFateUnknown, c.fate.grade == unknown)
		doubt(DoubtFirstCopyAcknowledged, d.cause == BlindRetry && len(last.sends) > 0 && !c.b.openAt(last.first.Time))
	}
}

// answerMayBeHidden reports whether a send of the batch may have an answer that cannot be read.
func (b *batch) answerMayBeHidden() bool {
	return slices.ContainsFunc(b.sends, func(s *send) bool { return s.reply() == nil && s.mayBeAnswered() })
}

// arrivalMayBeHidden reports whether an OK may have reached the client by t although nothing shows it: all that a client sends after an answer
// has come acknowledges it, and the capture lacks some.
func (b *batch) arrivalMayBeHidden(t pcap.Timestamp) bool {
	return b.openAt(t) && slices.ContainsFunc(b.sends, func(s *send) bool {
		a := s.reply()
		return a != nil && a.ErrorCode == 0 && a.At.Time < t &&
			slices.ContainsFunc(s.link.gaps, func(g gap) bool { return g.fromClient && g.at.Time > a.At.Time })
	})
}

// awaitsAnswer reports whether the send was not answered while its connection was not seen to be lost.
func (s *send) awaitsAnswer() bool {
	_, lost := s.link.lost()
	return s.reply() == nil && !lost
}

// mayBeAnswered reports whether the send was answered, or may have been where the capture has a gap.
func (s *send) mayBeAnswered() bool {
	return s.reply() != nil || s.unread || s.link.answerMayBeHidden(s.sent.At.Time)
}
