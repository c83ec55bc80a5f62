package analysis

import (
	"cmp"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// grade is how surely a copy stands in the log.
type grade uint8

const (
	gone     grade = iota // its place is shown to hold something else
	refused               // answered with an error and no offset at every send
	unknown               // no answer, or none that tells
	byGap                 // the acknowledged offsets around it leave exactly its place
	appended              // a leader had it: error 6 or 7 with an offset, OK to acks=1, a follower's copy
	stored                // cannot be undone: fetched by a consumer, OK to acks=all, error 20
)

// fate is what became of a batch, by the best that any of its sends or sightings shows.
type fate struct {
	grade        grade
	offset       int64 // of the batch's first record; NoOffset unknown
	source       OffsetSource
	leaderEpoch  int32
	acknowledged bool // answered OK or 20, or fetched: may be a later copy
	known        pcap.Timestamp
	log          int            // see logOf
	last         pcap.Timestamp // when it was last known to be there
	void         *rewind        // since when it stands there no longer; nil: it does
}

// place is one position in the log at which a batch was said or seen to stand.
type place struct {
	fate
	sent     pcap.Timestamp // of an answered place: when the request began
	created  int64          // when the client created its first record, in ms; -1 unknown
	at       pcap.Timestamp
	sighting *sighting
	by       *send // whose answer gave the place; nil: a sighting
	retry    bool  // the answer to a recognised retry: the place is an earlier send's
}

// whereabouts keeps what was found out of a batch. Most batches are never asked for it.
type whereabouts struct {
	places      []place
	fate        fate
	anchor      anchor // see batch.anchor
	placesKnown bool
	fateKnown   bool
	anchorKnown bool
}

func (b *batch) known() *whereabouts {
	if b.whereabouts == nil {
		b.whereabouts = new(whereabouts)
	}
	return b.whereabouts
}

func (b *batch) fate() fate {
	w := b.known()
	if !w.fateKnown {
		w.fate, w.fateKnown = b.findFate(), true
	}
	return w.fate
}

func (b *batch) findFate() fate {
	best := fate{grade: unknown, offset: NoOffset, leaderEpoch: -1}
	if len(b.sends) > 0 {
		best.log = b.p.logOf(b.sends[0].link.Server)
	}
	places := b.places()
	if len(places) == 0 && b.allRefused() {
		best.grade = refused
	}
	if len(places) == 0 && b.acknowledgedSomewhere() {
		best.acknowledged = true
	}
	refuted := 0
	for _, p := range places {
		if b.refuted(p) {
			refuted++
			continue
		}
		p.void = b.p.known().rewound(p.offset, p.last, p.leaderEpoch)
		if p.void != nil && p.sighting != nil && p.sighting.consumer == nil && !b.p.reached(p.sighting, p.void.at) {
			refuted++ // no consumer could ever read it
			continue
		}
		better := p.grade > best.grade || p.grade == best.grade && p.source == OffsetFromFetch && best.source != OffsetFromFetch
		if (p.void == nil) != (best.void == nil) {
			better = p.void == nil // what still stands goes before what stood
		}
		acknowledged := best.acknowledged || p.acknowledged
		if best.offset == NoOffset || better {
			best = p.fate
		}
		best.acknowledged = acknowledged
	}
	if refuted > 0 && refuted == len(places) || len(places) == 0 && b.neverStored() {
		best.grade = gone
	}
	return best
}

func (b *batch) allRefused() bool {
	for _, s := range b.sends {
		if a := s.reply(); a == nil || a.ErrorCode == 0 || a.ErrorCode == errDuplicateSequence || a.BaseOffset >= 0 {
			return false
		}
	}
	return len(b.sends) > 0
}

// acknowledgedSomewhere reports an OK that names no offset (acks=0 has no answer and gives none).
func (b *batch) acknowledgedSomewhere() bool {
	return slices.ContainsFunc(b.sends, func(s *send) bool {
		a := s.reply()
		return a != nil && (a.ErrorCode == 0 || a.ErrorCode == errDuplicateSequence)
	})
}

// places lists where the batch was said or seen to stand, sends first.
func (b *batch) places() []place {
	w := b.known()
	if !w.placesKnown {
		w.places, w.placesKnown = b.findPlaces(), true
	}
	return w.places
}

func (b *batch) findPlaces() []place {
	var all []place
	for _, s := range b.sends {
		if a := s.reply(); a != nil && a.BaseOffset >= 0 && !b.lostBehind(a) {
			all = append(all, b.placeOf(s, a))
		}
	}
	for _, s := range b.views {
		pl := place{sighting: s.sighting, created: created(s.batch), at: s.at}
		pl.fate = fate{grade: appended, offset: s.base, source: OffsetFromFetch, leaderEpoch: s.leaderEpoch, acknowledged: true, known: s.firstSight(), last: s.lastSeen}
		pl.log = b.p.logOf(s.link.Server)
		if s.consumer != nil || b.p.reached(s.sighting, forever) {
			pl.grade = stored
		}
		all = append(all, pl)
	}
	return all
}

func (b *batch) placeOf(s *send, a *kafka.BatchAnswered) place {
	pl := place{by: s, sent: s.sent.First.Time, created: created(s.sent.Batch), at: a.At.Time, retry: b.isRetryAnswer(s, a)}
	pl.fate = fate{grade: appended, offset: a.BaseOffset, source: OffsetFromErrorAnswer, leaderEpoch: -1, known: a.At.Time, last: a.At.Time}
	pl.log = b.p.logOf(s.link.Server)
	switch {
	case a.ErrorCode == 0:
		pl.source, pl.acknowledged = OffsetFromAnswer, true
		if s.sent.Acks == -1 {
			pl.grade = stored
		}
	case a.ErrorCode == errNotEnoughReplicasAfter:
		pl.grade, pl.acknowledged = stored, true // the client believes it failed, and sends again or gives up
	default:
		pl.last = pl.sent // the answer came long after
	}
	return pl
}

// reached reports whether the high watermark was seen to reach what a follower has copied before a time, while no other leader had come that
// may have made the follower drop it again.
func (p *partition) reached(s *sighting, by pcap.Timestamp) bool {
	for _, m := range p.marks {
		if m.offset > s.batch.LastOffset() {
			return m.at.Time < by && !p.leaderRose(max(s.leaderEpoch, p.leaderEpochBy(s.lastSeen-1)), s.lastSeen, m.at.Time)
		}
	}
	return false
}

// leaderRose reports whether a leader epoch above the given one was named within a time.
func (p *partition) leaderRose(epoch int32, from, to pcap.Timestamp) bool {
	return slices.ContainsFunc(p.leaders, func(l leaderSeen) bool { return l.epoch > epoch && l.at.Time >= from && l.at.Time <= to })
}

// leaderEpochBy returns the highest leader epoch named by a time, -1 for none.
func (p *partition) leaderEpochBy(t pcap.Timestamp) int32 {
	epoch := int32(-1)
	for _, l := range p.leaders {
		if l.at.Time <= t {
			epoch = max(epoch, l.epoch)
		}
	}
	return epoch
}

// isRetryAnswer reports whether an OK answers a retry that the leader recognised: the offset is one that an
// earlier send of the batch has already, or a log append time is set on a topic that has create times. Where only one of two
// sends is answered with such a time, that one was recognised, even if it was sent first: it was held up on its way.
func (b *batch) isRetryAnswer(s *send, a *kafka.BatchAnswered) bool {
	if a.ErrorCode != 0 || !b.idempotent() {
		return false
	}
	for _, earlier := range b.sends {
		if earlier == s {
			break
		}
		r := earlier.reply()
		if r == nil || r.BaseOffset != a.BaseOffset {
			continue
		}
		if a.LogAppendTime >= 0 || r.ErrorCode == 0 && r.LogAppendTime < 0 {
			return true // after an error, -1 says that the batch was truncated and stored there anew
		}
	}
	switch b.p.timestamps {
	case createTime:
		return a.LogAppendTime >= 0
	case logAppendTime:
		return len(b.sends) > 1 && s != b.sends[0] && slices.ContainsFunc(b.views, func(seen view) bool {
			return seen.base == a.BaseOffset && seen.at < s.sent.First.Time
		})
	}
	return a.LogAppendTime >= 0 && datedAs(s.sent.Batch, a.LogAppendTime)
}

// lostBehind reports whether an OK gives the offset of another batch under the same identity: the leader compares neither
// content nor CRC, the records were never stored.
func (b *batch) lostBehind(a *kafka.BatchAnswered) bool {
	if a.ErrorCode != 0 {
		return false
	}
	var rival *batch
	if b.p.rivals {
		rival = b.p.byIdentity[b.id]
	}
	for n := 0; rival != nil && n < maxRivals; n, rival = n+1, rival.rival {
		if rival == b {
			continue
		}
		for _, s := range rival.sends {
			if r := s.reply(); r != nil && r.BaseOffset == a.BaseOffset && r.At.Time < a.At.Time {
				return true
			}
		}
		for _, s := range rival.views {
			if s.base == a.BaseOffset {
				return true
			}
		}
	}
	return b.p.timestamps == createTime && a.LogAppendTime >= 0 && !datedAs(b.info, a.LogAppendTime) && b.idempotent()
}

// neverStored reports whether a leader took the batch for another one of the same identity.
func (b *batch) neverStored() bool {
	return slices.ContainsFunc(b.sends, func(s *send) bool {
		a := s.reply()
		return a != nil && a.BaseOffset >= 0 && b.lostBehind(a)
	})
}

// refuted reports whether the place is shown to hold other content, by a Fetch or by an OK for another batch there, or a later leader
// never had it. While a log that was cut back had the place, others stood there beside it: see rewound.
func (b *batch) refuted(pl place) bool {
	if b.cutOff(pl) {
		return true
	}
	if pl.sighting != nil {
		return false // it may have been overwritten since: see rewound
	}
	refuted := false
	b.p.known().overlapping(pl.offset, pl.offset+int64(b.count()), func(c claim) bool {
		if c.batch == b || c.uncertain || c.from == pl.offset && c.batch != nil && sameStored(c.batch.info, b.info) {
			return true
		}
		refuted = pl.source == OffsetFromErrorAnswer || c.fetched && c.last >= pl.sent || pl.grade < stored && c.at > pl.at
		return !refuted
	})
	return refuted
}

func sortPlaces(all []place) {
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(a.offset, b.offset) })
}
