package analysis

import (
	"cmp"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// finding turns a group into what the report shows of it.
func (j *judgement) finding(g group) Finding {
	later := g.later()
	f := Finding{
		Verdict: g.verdict, Cause: g.cause,
		Cluster: later.p.cluster, Topic: later.p.topic, Partition: later.p.number,
		RecordCount: len(g.records),
		LaterAt:     later.first.Time,
		Doubts:      g.doubts(),
		Inferred:    j.inferred(&g),
		Stray:       g.stray,
	}
	for _, d := range g.records[:min(len(g.records), MaxListedRecords)] {
		f.Records = append(f.Records, d.listed())
	}
	for i := range g.records[0].copies {
		f.Copies = append(f.Copies, g.copyAt(i))
	}
	if g.cause == EpochBump || g.cause == NewProducerID {
		f.Bump = j.bump(&g)
		if f.Bump.Trigger == nil {
			f.Doubts = append(f.Doubts, DoubtTriggerNotSeen)
		}
	}
	f.Timeline = j.timeline(&g, &f)
	return f
}

func (d *duplicate) listed() DuplicateRecord {
	r := DuplicateRecord{Timestamp: -1}
	for i := len(d.copies) - 1; i >= 0; i-- {
		e := d.copies[i].entry
		if rec, ok := e.record(); ok {
			r.Timestamp, r.Key, r.Value = rec.Timestamp, rec.Key, rec.Value
			r.Preview = e.preview()
		}
	}
	for _, c := range d.copies {
		r.Offsets = append(r.Offsets, RecordOffset{Offset: c.offset()})
	}
	return r
}

func (e entry) preview() *kafka.Preview {
	for _, kb := range e.b.bodies() {
		for i, r := range kb.Records {
			if r.Delta == e.delta && i < len(kb.Previews) {
				return &kb.Previews[i]
			}
		}
	}
	return nil
}

// bodies returns the batch as each message carried it, until one has records.
func (b *batch) bodies() []*kafka.Batch {
	all := []*kafka.Batch{b.info}
	for _, s := range b.sends {
		all = append(all, s.sent.Batch)
	}
	for _, v := range b.views {
		all = append(all, v.batch)
	}
	return all
}

// copyAt describes the i-th copy of the group's records.
func (g *group) copyAt(i int) Copy {
	lead := g.records[0].copies[i]
	c := Copy{
		Topic: lead.b.p.topic, Partition: lead.b.p.number,
		BaseOffset: NoOffset, LastOffset: NoOffset,
		OffsetSource: lead.fate.source, LeaderEpoch: -1,
	}
	var seen []*batch
	for _, d := range g.records {
		one := d.copies[i]
		if o := one.offset(); o != NoOffset {
			if c.BaseOffset == NoOffset || o < c.BaseOffset {
				c.BaseOffset = o
			}
			c.LastOffset = max(c.LastOffset, o)
		}
		c.LeaderEpoch = max(c.LeaderEpoch, one.fate.leaderEpoch)
		if !slices.Contains(seen, one.b) {
			seen = append(seen, one.b)
			c.Batches = append(c.Batches, one.carrier())
			c.Evidence = append(c.Evidence, one.b.events(i+1, one.fate)...)
		}
	}
	for _, d := range g.records {
		for _, cut := range d.copies[i].cuts {
			if !slices.Contains(seen, cut.b) {
				seen = append(seen, cut.b)
				c.Evidence = append(c.Evidence, cut.b.events(i+1, cut.b.fate())...)
			}
		}
	}
	if c.LeaderEpoch < 0 {
		c.LeaderEpoch = lead.b.p.leaderEpochAt(lead.b)
	}
	sortEvents(c.Evidence)
	return c
}

func (c copyOf) carrier() CopyBatch {
	cb := CopyBatch{
		ProducerID: c.b.id.producer, ProducerEpoch: c.b.id.epoch,
		BaseSequence: c.b.id.base, LastSequence: c.b.lastSequence(),
		CRC: c.b.info.CRC, BaseOffset: c.fate.offset, LastOffset: NoOffset,
	}
	if cb.BaseOffset != NoOffset {
		cb.LastOffset = cb.BaseOffset + int64(c.b.count()) - 1
	}
	return cb
}

// leaderEpochAt returns the leader epoch known when the batch's decisive answer came, -1 unknown.
func (p *partition) leaderEpochAt(b *batch) int32 {
	at := b.first.Time
	for _, s := range b.sends {
		if a := s.reply(); a != nil && a.BaseOffset >= 0 {
			at = a.At.Time
			if a.ErrorCode != 0 {
				at = s.sent.At.Time // it was appended before the leader changed
			}
			break
		}
	}
	return p.leaderEpochBy(at)
}

// inferred reads the producer's configuration off its traffic: what sent the later copy, and what else it did on the connections of the
// first ones, where those are its own.
func (j *judgement) inferred(g *group) Inferred {
	b := g.later()
	i := Inferred{Idempotent: b.idempotent(), TransactionalID: b.info.Transactional(), Codec: b.info.Codec()}
	for _, s := range b.sends {
		i.Acks, i.AcksKnown = s.sent.Acks, true
		i.TransactionalID = i.TransactionalID || s.sent.TransactionalID != nil
		i.MaxInFlight = max(i.MaxInFlight, s.link.maxInFlight)
		i.ClientID = s.link.clientID
		if name := s.link.calls(); name != "" {
			i.Software = name
		}
	}
	for n, one := range g.carried() {
		if n == len(g.records[0].copies)-1 || !sameClient(one.b, b) {
			continue
		}
		for _, s := range one.b.sends {
			i.Software = cmp.Or(i.Software, s.link.calls())
			i.MaxInFlight = max(i.MaxInFlight, s.link.maxInFlight)
		}
	}
	if i.Software == "" && b.idempotent() {
		i.Software = j.c.producers.get(b.p.cluster, b.id.producer).software()
	}
	return i
}

func positionOf(l *link, at pcap.Ref) Position {
	return Position{Ref: at, Client: l.Client, Server: l.Server}
}
