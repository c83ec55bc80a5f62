package analysis

import (
	"cmp"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// partition is all that was seen of one partition, at any server and under its name or its id.
type partition struct {
	j         *judgement
	cluster   string
	topic     kafka.Topic
	number    int32
	histories []*history // see gather
	sends     []*send
	torn      []*send     // never arrived, or not whole; they show where a producer's sequences stood
	sightings []*sighting // by offset after build
	marks     []highWatermark
	leaders   []leaderSeen
	ends      []epochEnd
	unasked   []unasked
	levels    []*level // none where the topic's name had several lives: its deletions are known
	aborted   map[kafka.AbortedTransaction]bool
	forgotten []forgotten // of history that was dropped

	batches      []*batch            // in the order of their first sends; those only fetched stand behind, by offset
	memory       []batch             // of those that were sent; never more than there are sends, so that it stays in place
	byIdentity   map[identity]*batch // the newest; others follow by rival
	rivals       bool                // there are such
	neighbours   *neighbours         // see adjacent
	log          *claims             // see known
	logs         logNumbers          // see logOf
	occurs       *occurrences        // see repeated
	open         []*batch            // see unresolved
	openKnown    bool
	unheard      []*batch // see answersHidden
	unheardKnown bool
	unexplained  []hole // see otherHoles
	holesKnown   bool
	hidden       []client // see writersHidden
	hiddenKnown  bool
	lossy        bool // see messagesHidden
	lossKnown    bool
	changes      []rise // see rises
	risesKnown   bool
	timestamps   timestampType
	anonymous    bool                   // no reader is shown a producer: see anonymousIn
	placed       map[int64]*batch       // see take
	delays       []delay                // see findDelays
	chains       *chains                // nil for internal topics
	news         map[producerEpoch]bool // see takesNew
	bodies       []kafka.Fingerprint    // see findBodies
	groups       []group                // what was found
	kept         []*batch               // what must not be dropped
	counts       Counts                 // of what is no finding
}

// timestampType is the topic's message.timestamp.type as far as the traffic shows it.
type timestampType uint8

const (
	timestampUnknown timestampType = iota
	createTime
	logAppendTime
)

// identity is what a leader knows a batch of an idempotent producer by.
type identity struct {
	producer   int64
	epoch      int16
	base, last int32
}

// batch is a logical batch: one identity and content, however often it was sent or seen. Without a producer id each send
// is a batch of its own.
type batch struct {
	p           *partition
	id          identity
	info        *kafka.Batch
	records     []kafka.Record
	sends       []*send  // in time order
	views       []view   // in offset order
	first       pcap.Ref // where its first send begins, or its first sighting
	order       int64
	seenOK      pcap.Timestamp // when the client had seen an OK for it; valid if hasSeenOK
	hasSeenOK   bool
	rival       *batch // an older batch of the same identity with other content
	settled     bool   // in a finding that needs no more history
	whereabouts *whereabouts
}

// view is a sighting of the batch or of a part of it: old message sets are fetched message by message.
type view struct {
	*sighting
	base int64 // offset at which the batch's first record stands by this sighting
}

func (b *batch) idempotent() bool { return b.id.producer >= 0 }

// lastSequence returns the sequence of the last record; without a producer id the base sequence (-1 or 0) stands for none.
func (b *batch) lastSequence() int32 {
	if !b.idempotent() {
		return b.id.base
	}
	return b.id.last
}

func (b *batch) count() int32 { return b.info.LastOffsetDelta + 1 }

func (p *partition) internal() bool {
	if p.j.c.topics.isInternal(p.topic) {
		return true
	}
	if p.topic.Name != "" {
		return false
	}
	known := false
	for _, s := range p.sightings {
		if s.batch.Control() || len(s.batch.Records) == 0 {
			continue
		}
		if !s.batch.InternalKeys {
			return false
		}
		known = true
	}
	return known
}

// build makes logical batches of sends and sightings.
func (p *partition) build() {
	p.setUnheardAside()
	sortSends(p.sends)
	slices.SortStableFunc(p.marks, func(a, b highWatermark) int { return cmp.Compare(a.at.Time, b.at.Time) })
	sortLeaders(p.leaders)
	p.sends = mergeLegs(p.sends)
	p.byIdentity = make(map[identity]*batch, len(p.sends))
	p.batches = make([]*batch, 0, len(p.sends))
	p.memory = make([]batch, 0, len(p.sends))
	for i := range p.sends {
		p.addSend(i)
	}
	p.dropForgotten()
	p.mergeSightings()
	p.timestamps = p.timestampType()
	p.joinSightings()
	p.addStoredEpochs()
}

// setUnheardAside puts the sends that began behind the server's FIN to those that never arrived: a broker that has closed its socket, as it
// does with idle connections and when it stops, reads nothing more from it.
func (p *partition) setUnheardAside() {
	p.sends = slices.DeleteFunc(p.sends, func(s *send) bool {
		unheard := !s.link.serverDone.IsZero() && s.sent.First.Time > s.link.serverDone.Time && s.reply() == nil
		if unheard {
			p.torn = append(p.torn, s)
		}
		return unheard
	})
}

// addStoredEpochs adds what the log says of leaders: a batch that was seen to be sent stands under the leader epoch of the
// broker that appended it.
func (p *partition) addStoredEpochs() {
	last := int32(-1)
	for _, b := range p.batches {
		if len(b.sends) == 0 || len(b.views) == 0 || b.views[0].leaderEpoch < 0 || b.views[0].leaderEpoch == last {
			continue
		}
		last = b.views[0].leaderEpoch
		p.leaders = append(p.leaders, leaderSeen{position(&b.appendedBy().sent.Seen), -1, last})
	}
	sortLeaders(p.leaders)
}

// appendedBy returns the send that was appended, as far as answers tell.
func (b *batch) appendedBy() *send {
	for _, s := range b.sends {
		if a := s.reply(); a != nil && a.BaseOffset >= 0 {
			return s
		}
	}
	return b.sends[len(b.sends)-1]
}

func sortLeaders(all []leaderSeen) {
	slices.SortStableFunc(all, func(a, b leaderSeen) int { return cmp.Compare(a.at.Time, b.at.Time) })
}

func (p *partition) addSend(i int) {
	s := p.sends[i]
	kb := s.sent.Batch
	id := identityOf(kb)
	var newest *batch
	if kb.Idempotent() {
		newest = p.byIdentity[id]
	}
	b := newestLike(newest, kb)
	if b == nil {
		p.memory = append(p.memory, batch{p: p, id: id, info: kb, records: kb.Records, first: s.sent.First, order: s.order, sends: p.sends[i : i+1 : i+1]})
		b = &p.memory[len(p.memory)-1]
		p.add(b, newest)
	} else {
		b.sends = append(b.sends, s)
	}
	if len(b.records) == 0 && len(kb.Records) > 0 {
		b.info, b.records = kb, kb.Records
	}
	if at, ok := s.seenOK(); ok && (!b.hasSeenOK || at < b.seenOK) {
		b.seenOK, b.hasSeenOK = at, true
	}
}

// add takes in another batch; newest is what its identity stood for until now.
func (p *partition) add(b, newest *batch) {
	p.batches = append(p.batches, b)
	if b.idempotent() && !b.info.Control() {
		b.rival, p.byIdentity[b.id] = newest, b
		p.rivals = p.rivals || newest != nil
	}
}

// maxRivals bounds how many contents under one identity, batches at one offset or overlapping sightings are told apart. Brokers
// and clients at fault make two or three.
const maxRivals = 64

// newestLike returns the batch with the content of kb, nil if there is none.
func newestLike(b *batch, kb *kafka.Batch) *batch {
	for range maxRivals {
		if b == nil || sameContent(b.info, kb) {
			return b
		}
		b = b.rival
	}
	return nil
}

func identityOf(b *kafka.Batch) identity {
	return identity{b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.LastSequence()}
}

// sameContent reports whether two batches of one identity are one logical batch: the CRC is equal, or what is readable of
// both is.
func sameContent(a, b *kafka.Batch) bool {
	if a.CRC == b.CRC && a.BaseTimestamp == b.BaseTimestamp {
		return true
	}
	return len(a.Records) > 0 && len(b.Records) > 0 && sameRecords(a.Records, b.Records, false)
}

// seenOK returns when the client had an OK for the send. With acks=0 there is no answer and the client takes the send for one;
// an OK whose arrival the client's TCP never acknowledged was not seen.
func (s *send) seenOK() (pcap.Timestamp, bool) {
	if s.sent.Acks == 0 {
		return s.sent.At.Time, true
	}
	for _, leg := range s.all() {
		if a := leg.answer; a != nil && (a.ErrorCode == 0 || a.ErrorCode == errDuplicateSequence) && !leg.acked.IsZero() {
			return leg.acked.Time, true
		}
	}
	return 0, false
}

// reply returns the answer to the send, on whichever leg it was seen.
func (s *send) reply() *kafka.BatchAnswered {
	for _, leg := range s.all() {
		if leg.answer != nil {
			return leg.answer
		}
	}
	return nil
}

func (s *send) all() []*send {
	if len(s.legs) == 0 {
		return []*send{s}
	}
	return append([]*send{s}, s.legs...)
}

// timestampType reads the topic's timestamp type from the log, else from answers: on a CreateTime topic a new append is
// answered with log_append_time -1.
func (p *partition) timestampType() timestampType {
	for _, s := range p.sightings {
		if s.batch.Magic < 1 || s.batch.Control() {
			continue
		}
		if s.batch.LogAppendTime() {
			return logAppendTime
		}
		return createTime
	}
	answers := timestampUnknown
	for _, s := range p.sends {
		a := s.reply()
		if a == nil || a.ErrorCode != 0 || a.BaseOffset < 0 {
			continue
		}
		if a.LogAppendTime < 0 {
			return createTime
		}
		if answers == timestampUnknown && !datedAs(s.sent.Batch, a.LogAppendTime) {
			answers = logAppendTime
		}
	}
	return answers
}

// datedAs reports whether a time may be the largest timestamp of a batch as it is stored: that of the header, which some clients leave empty,
// or of the records, by which brokers put it right.
func datedAs(b *kafka.Batch, time int64) bool {
	if b.MaxTimestamp == time || b.MaxTimestamp < 0 && len(b.Records) == 0 {
		return true
	}
	largest := int64(-1)
	for _, r := range b.Records {
		largest = max(largest, r.Timestamp)
	}
	return largest == time
}
