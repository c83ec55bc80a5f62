package pcap

const (
	// resyncWindow is how far, in seconds, a packet's time may lie from that of the one before without a closer look, and
	// how far at most behind damage. Most damage shows here: a wrong place read as a header has a random time.
	resyncWindow = 7 * 24 * 3600
	// resyncChain is how many records in a row must be believable after damage. Three times twelve header bytes that fit
	// do not occur by chance.
	resyncChain = 3
	// believeChain is how many records behind an odd one must be in bounds for it to be believed.
	believeChain = 2
)

// suspect reports whether a record needs a closer look. Neither reason is proof: large packets are real, clocks are set,
// captures are joined.
func (p *pcapFile) suspect(rec record) bool {
	return rec.captured > usualPacket || rec.isZero() ||
		p.last >= 0 && !near(rec.seconds, p.last)
}

// isZero: a run of zero bytes, as after a crash of the capturing host, would else be read as packets of no length.
func (rec record) isZero() bool { return rec == record{} }

func near(a, b int64) bool { return a-b <= resyncWindow && b-a <= resyncWindow }

// believable reports whether the suspect record at the start of the buffer is in bounds, and those behind it too.
func (p *pcapFile) believable(rec record) bool {
	inBounds := func(rec, _ record) bool { return rec.captured <= maxPacket && !rec.isZero() }
	if !inBounds(rec, rec) {
		return false
	}
	whole, bad := p.chain(believeChain+1, inBounds)
	return whole > 0 && !bad
}

// chain follows up to n records from the start of the buffer. It returns how many of them are whole and believable, and
// whether it met one that is not; a file that ends is not bad.
func (p *pcapFile) chain(n int, believable func(rec, before record) bool) (whole int, bad bool) {
	b := &p.r.buf
	at := 0
	var before record
	for whole < n && b.has(at+p.headerLen) {
		rec := p.record(b.rest()[at:])
		if whole == 0 {
			before = rec
		}
		if !believable(rec, before) {
			return whole, true
		}
		at += p.headerLen + int(rec.captured)
		if !b.has(at) {
			return whole, false
		}
		before = rec
		whole++
	}
	// Odd bytes at the end are no record: they leave the chain one short.
	if whole < n && len(b.rest()) > at {
		return whole - 1, false
	}
	return whole, false
}

// resync skips bytes until a chain of records begins, records the damage and reports whether it found one.
func (p *pcapFile) resync(what string) bool {
	b := &p.r.buf
	from := b.offset
	for b.has(1 + p.headerLen) {
		b.skip(1)
		if p.resumes() {
			p.r.damaged(from, what, int64(b.offset-from))
			return true
		}
	}
	b.skip(len(b.rest()))
	p.r.lostRest(from, what)
	return false
}

// resumes reports whether records can be read from the start of the buffer on: a chain of them, or fewer that end exactly
// where the file does.
func (p *pcapFile) resumes() bool {
	if !p.plausible(p.record(p.r.buf.rest()), record{seconds: p.last}) {
		return false
	}
	whole, bad := p.chain(resyncChain, func(rec, before record) bool {
		return p.plausible(rec, before)
	})
	return !bad && (whole == resyncChain || whole > 0 && p.r.buf.err != nil)
}

// plausible is stricter than what the reader accepts otherwise: after damage a wrong guess costs more than a lost packet.
func (p *pcapFile) plausible(rec, before record) bool {
	return rec.captured <= usualPacket && rec.captured > 0 &&
		rec.captured <= rec.original && rec.original <= maxPacket &&
		Timestamp(rec.fraction)*p.tick < 1e9 &&
		(before.seconds < 0 || near(rec.seconds, before.seconds))
}
