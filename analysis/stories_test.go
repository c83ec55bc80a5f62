package analysis

import (
	"fmt"
	"strings"
)

// tellTrue acts out a story that leaves every record in the log at most once.
func (w *world) tellTrue(c *actor) {
	if c.transactional {
		w.transaction(c)
		return
	}
	l := w.partition()
	switch k := w.IntN(7); {
	case k == 0:
		w.refused(c, l)
	case k == 1 && c.id >= 0:
		w.retried(c, l)
	case k == 2:
		w.truncated(c, l)
	case k == 3 && c.id >= 0:
		w.repeated(c, l)
	case k == 4 && c.id >= 0:
		c.then(func() { w.bump(c, false) })
	case k == 5:
		w.givenUp(c, l)
	default:
		w.pipelined(c, l)
	}
}

// pipelined sends a few batches that are answered in order.
func (w *world) pipelined(c *actor, l *log) {
	var sent []*logged
	k := 1 + w.IntN(3)
	for range k {
		c.then(func() {
			b := payload{n: 1 + w.IntN(3)}
			b.records = w.content(b.n)
			text := w.identity(c, l, b)
			w.send(c, l, text)
			e := w.append(l, text, b.n)
			e.committed = w.IntN(2) == 0
			sent = append(sent, e)
		})
	}
	for i := range k {
		c.then(func() { w.ok(c, l, sent[i]) })
	}
}

// refused has a batch turned away before it is stored.
func (w *world) refused(c *actor, l *log) {
	b := payload{n: 1 + w.IntN(3)}
	var text string
	c.then(func() {
		b.records = w.content(b.n)
		text = w.identity(c, l, b)
	})
	for range 1 + w.IntN(3) {
		c.then(func() { w.send(c, l, text) }, func() { w.say("%s < %d", w.conn(c.process, l), []int{3, 5, 6, 19, 56}[w.IntN(5)]) })
	}
	w.storedAnew(c, l, &b, &text)
}

func (w *world) storedAnew(c *actor, l *log, b *payload, text *string) {
	var e *logged
	c.then(func() { w.send(c, l, *text); e = w.append(l, *text, b.n) }, func() { w.ok(c, l, e) })
}

// failed stores a batch whose answer is lost, or an error with its offset.
func (w *world) failed(c *actor, l *log, b *payload, e **logged) {
	c.then(func() {
		if b.records == "" {
			b.records = w.content(b.n)
		}
		text := w.identity(c, l, *b)
		w.send(c, l, text)
		*e = w.append(l, text, b.n)
	})
	code := []int{-1, 6, 7, 20}[w.IntN(4)]
	if code < 0 {
		c.then(func() { w.drop(c, l) })
		return
	}
	c.then(func() { w.say("%s < %d=%d", w.conn(c.process, l), code, (*e).base) })
	if code == 6 {
		c.then(func() { w.lead(l) })
	}
}

// retried has an exact retry recognised.
func (w *world) retried(c *actor, l *log) {
	b := &payload{n: 1 + w.IntN(3)}
	var e *logged
	w.failed(c, l, b, &e)
	for range 1 + w.IntN(2) {
		c.then(func() { w.send(c, l, e.text) }, func() { w.recognised(c, l, e) })
	}
}

// truncated has a batch stored by a leader that loses it, and stored again by the next.
func (w *world) truncated(c *actor, l *log) {
	b := payload{n: 1 + w.IntN(3)}
	var text string
	c.then(func() {
		b.records = w.content(b.n)
		text = w.identity(c, l, b)
		w.send(c, l, text)
		w.append(l, text, b.n)
		w.say("%s < 6=%d", w.conn(c.process, l), l.next-b.n)
		if w.IntN(2) == 0 {
			w.fetch(l, false)
		}
		l.entries = l.entries[:len(l.entries)-1]
		l.next -= b.n
		w.lead(l)
	})
	w.storedAnew(c, l, &b, &text)
}

// repeated writes the content of a record that was acknowledged again, on purpose.
func (w *world) repeated(c *actor, l *log) {
	b := payload{n: 1}
	var text string
	for range 2 + w.IntN(2) {
		c.then(func() {
			letters := b.records
			if letters == "" {
				letters = w.content(1)
			}
			w.now += 200
			b.records = fmt.Sprint(string([]rune(letters)[:1]), w.now)
			text = w.identity(c, l, b)
		})
		w.storedAnew(c, l, &b, &text)
	}
}

// bump begins a new epoch, with or without asking for it.
func (w *world) bump(c *actor, ask bool) {
	c.epoch++
	clear(c.sequence)
	if ask {
		w.say("i%s%d init %d/%d from=%d/%d", c.process, w.broker+1, c.id, c.epoch, c.id, c.epoch-1)
	}
}

// givenUp sends a batch whose answer is lost, and forgets it.
func (w *world) givenUp(c *actor, l *log) {
	b := &payload{n: 1}
	c.then(func() {
		b.records = w.content(b.n)
		text := w.identity(c, l, *b)
		w.send(c, l, text)
		if w.IntN(2) == 0 {
			w.append(l, text, b.n).committed = true
		}
	}, func() {
		w.drop(c, l)
		if c.id >= 0 {
			w.bump(c, w.IntN(2) == 0)
		}
	})
}

// transaction writes to a partition and commits, or aborts and writes the same again.
func (w *world) transaction(c *actor) {
	l := w.partition()
	b := &payload{n: 1 + w.IntN(3), txn: true}
	var text string
	attempts := 1 + w.IntN(3)
	for i := range attempts {
		c.then(func() {
			if b.records == "" {
				b.records = w.content(b.n)
			}
			text = w.identity(c, l, *b)
		})
		w.storedAnew(c, l, b, &text)
		c.then(func() { w.endTransaction(c, l, i == attempts-1) })
	}
}

func (w *world) endTransaction(c *actor, l *log, commit bool) {
	word := "abort"
	if commit {
		word = "commit"
	}
	conn := c.process + "9"
	w.say("%s end %d/%d %s", conn, c.id, c.epoch, word)
	if c.v2 {
		c.epoch++
		clear(c.sequence)
		w.say("%s ended %d/%d", conn, c.id, c.epoch)
	} else {
		w.say("%s ended -", conn)
	}
	w.append(l, fmt.Sprintf("%d/%d:%s", c.id, c.epoch, word), 1).committed = true
}

// tellFalse acts out a story that leaves records in the log twice, and writes down which.
func (w *world) tellFalse(c *actor) {
	if c.transactional || w.IntN(2) == 0 {
		w.tellTrue(c)
		return
	}
	l := w.partition()
	if c.id < 0 {
		w.again(c, l, BlindRetry, func() {})
		return
	}
	switch w.IntN(5) {
	case 0:
		w.again(c, l, EpochBump, func() { w.bump(c, w.IntN(2) == 0) })
	case 1:
		w.again(c, l, NewProducerID, func() {
			c.id, c.epoch = w.newID(), 0
			clear(c.sequence)
			w.say("i%s%d init %d/0", c.process, w.broker+1, c.id)
		})
	case 2:
		w.storedTwice(c, l)
	case 3:
		w.resent(c, l)
	default:
		w.misroutedOnce(c, l)
	}
}

func (w *world) twice(cause Cause, l *log, first, later *logged) {
	for i := range first.n {
		w.truth = append(w.truth, fmt.Sprintf("%s %s %d>%d", cause, l.name, first.base+i, later.base+i))
	}
}

// again stores a batch, and again under another identity.
func (w *world) again(c *actor, l *log, cause Cause, change func()) {
	b := &payload{n: 1 + w.IntN(3)}
	var first *logged
	w.failed(c, l, b, &first)
	var text string
	c.then(func() { change(); text = w.identity(c, l, *b) })
	var e *logged
	c.then(func() { w.send(c, l, text); e = w.append(l, text, b.n) }, func() {
		w.ok(c, l, e)
		first.committed = true
		w.twice(cause, l, first, e)
	})
}

// storedTwice has a broker that forgot its window.
func (w *world) storedTwice(c *actor, l *log) {
	b := &payload{n: 1 + w.IntN(3)}
	var first, e *logged
	w.failed(c, l, b, &first)
	c.then(func() { w.send(c, l, first.text); e = w.append(l, first.text, b.n) }, func() {
		w.ok(c, l, e)
		first.committed = true
		w.twice(BrokerDedupFailure, l, first, e)
	})
}

// resent has an application that produces a failed record again.
func (w *world) resent(c *actor, l *log) {
	b := &payload{n: 1}
	var first, e *logged
	w.failed(c, l, b, &first)
	c.then(func() {
		w.now += 300
		b.records = fmt.Sprint(string([]rune(b.records)[:1]), w.now)
		text := w.identity(c, l, *b)
		w.send(c, l, text)
		e = w.append(l, text, b.n)
	}, func() {
		w.ok(c, l, e)
		first.committed = true
		w.twice(ApplicationResend, l, first, e)
	})
}

// misroutedOnce sends a batch of one partition to another too, where its sequence has no place.
func (w *world) misroutedOnce(c *actor, l *log) {
	to := w.partition()
	if to == l || to.spoiled || l.spoiled || c.sequence[to] > 0 {
		return // in a partition with low sequences it might have a place
	}
	to.spoiled, l.spoiled = true, true
	var first, e *logged
	w.pipelined(c, l) // the neighbour by sequence
	c.then(func() {
		b := payload{n: 2}
		b.records = w.content(b.n)
		text := w.identity(c, l, b)
		w.send(c, l, text)
		first = w.append(l, text, b.n)
	}, func() { w.ok(c, l, first) }, func() {
		c.sequence[to] += 1000 // batches that the capture has not seen
	})
	w.pipelined(c, to)
	c.then(func() { w.send(c, to, first.text); e = w.append(to, first.text, first.n) }, func() {
		w.ok(c, to, e)
		for i := range first.n {
			w.truth = append(w.truth, fmt.Sprintf("%s %s %d>%d", MisroutedBatch, to.name, first.base+i, e.base+i))
		}
	})
}

// found lists the records of findings as the truth of a world does.
func found(r *Result) []string {
	var all []string
	for line := range strings.SplitSeq(describe(r), "\n") {
		words := strings.Fields(line)
		for i, word := range words {
			if i > 2 && strings.Contains(word, ">") && !strings.Contains(word, "/") {
				all = append(all, fmt.Sprintf("%s %s %s", words[1], words[2], word))
			}
		}
	}
	return all
}
