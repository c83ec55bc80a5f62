package analysis

import (
	"net/netip"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// historyKey names a partition as one server names it. Which of them are one partition is decided when they are judged:
// topic ids and clusters may become known late.
type historyKey struct {
	server    netip.AddrPort
	topic     kafka.Topic
	partition int32
}

// history is what was seen of one partition at one server.
type history struct {
	key       historyKey
	sends     []*send
	torn      []*send             // requests that never arrived whole: not stored, but a sign of where sequences stood
	answered  map[int64]*send     // by the base offset of their answers, one of each; nil until something is fetched
	sightings []*sighting         // in the order of first sight
	stored    map[int64]*sighting // by base offset, the latest; others follow by rival; nil for none
	marks     []highWatermark
	leaders   []leaderSeen
	ends      []epochEnd
	unasked   []unasked
	level     level
	aborted   map[kafka.AbortedTransaction]bool

	forgotten []forgotten // what stood where, of history that was dropped
	cost      int64
	seen      pcap.Timestamp // the last observation

	troubled bool // something went wrong here: a batch may be sent again
	changed  bool // since alerts were last looked for
	batches  bool // some were seen, though they may have been dropped
}

// forgotten is a range of the log that is known to hold something, though no longer what.
type forgotten struct {
	from, to int64 // to is behind the last offset
	at       pcap.Timestamp
}

// maxForgotten bounds the ranges of one history. Neighbours are merged, so there are many only where others write too.
const maxForgotten = 1024

// forget keeps the offsets of what is dropped, so that they are not taken for a gap.
func (h *history) forget(from, to int64, at pcap.Timestamp) {
	for i := len(h.forgotten) - 1; i >= 0 && i >= len(h.forgotten)-maxRivals; i-- {
		if f := &h.forgotten[i]; from <= f.to && to >= f.from {
			f.from, f.to, f.at = min(f.from, from), max(f.to, to), max(f.at, at)
			return
		}
	}
	h.forgotten = append(newest(h.forgotten, maxForgotten-1), forgotten{from, to, at})
}

// send is one batch of one Produce request, with its answer.
type send struct {
	sent    *kafka.BatchSent
	of      *history
	link    *link
	order   int64                // arrival of the observation
	at      pcap.Timestamp       // of its last frame
	cost    int64                // of the history it is
	answer  *kafka.BatchAnswered // nil: none seen
	acked   pcap.Ref             // the client's TCP has the answer; zero: not seen
	unread  bool                 // answered, but the answer was not captured or could not be read
	replied bool                 // an answer to the request was seen
	legs    []*send              // the same exchange seen on other connections (NAT, proxy)
}

// placed reports whether an OK answer named the offset at which the batch stands.
func (s *send) placed() bool {
	return s.answer != nil && s.answer.ErrorCode == 0 && s.answer.BaseOffset >= 0
}

// sighting is a batch that stands in the log, as Fetch answers show it.
type sighting struct {
	batch    *kafka.Batch
	topic    kafka.Topic
	link     *link
	consumer *kafka.PartitionFetched // first sight by a consumer
	replica  *kafka.PartitionFetched // first sight by a follower, or by a reader of unknown kind
	order    int64
	at       pcap.Timestamp // of the stronger of the two
	cost     int64          // of the history it is
	rival    *sighting      // an older one at the same base offset with other contents

	leaderEpoch int32          // the highest partition leader epoch it was seen with
	lastSeen    pcap.Timestamp // when it was last fetched
	twins       []int64        // arrivals of the same at other servers
}

// highWatermark is a rise of the high watermark.
type highWatermark struct {
	at     pcap.Ref
	offset int64
}

// leaderSeen is a leader of a partition as a message names it.
type leaderSeen struct {
	at        Position
	id, epoch int32 // -1 unknown
}

// place remembers where an answer says that a send stands, if it does.
func (h *history) place(s *send) {
	if h.answered != nil && s.placed() {
		h.answered[s.answer.BaseOffset] = s
	}
}

// answeredAt returns a send whose answer named a base offset, nil if there is none. Of several any will do: a sighting shares the
// records of a send only where they are equal.
func (h *history) answeredAt(base int64) *send {
	if h.answered == nil {
		h.answered = make(map[int64]*send, len(h.sends))
		for _, s := range h.sends {
			h.place(s)
		}
	}
	return h.answered[base]
}

func (h *history) fetched(o *kafka.PartitionFetched) {
	if o.ErrorCode != 0 {
		return
	}
	if n := len(h.marks); o.HighWatermark >= 0 && (n == 0 || o.HighWatermark > h.marks[n-1].offset) {
		h.mark(highWatermark{o.At, o.HighWatermark})
	}
	if o.HighWatermark >= 0 && o.HighWatermark <= maxOffset {
		h.level.answered(o.At, o.HighWatermark)
	}
	for _, a := range o.Aborted {
		if h.aborted == nil {
			h.aborted = map[kafka.AbortedTransaction]bool{}
		}
		h.aborted[a] = true
	}
}

// mark keeps a rise of the high watermark. When there are many, every second of the older half goes: the rest still says what
// had been reached by when.
func (h *history) mark(m highWatermark) {
	if len(h.marks) == maxMarks {
		kept := h.marks[:0]
		for i, old := range h.marks {
			if i >= maxMarks/2 || i%2 == 1 {
				kept = append(kept, old)
			}
		}
		h.marks = kept
	}
	h.marks = append(h.marks, m)
}

// sight keeps a fetched batch and returns what it adds to the history, in bytes; 0 for one that was seen before.
func (h *history) sight(o *kafka.BatchFetched, l *link, order int64) (added int64) {
	b := o.Batch
	h.batches = true
	rivals := 0 // what a reader of an old version is shown is told apart: it lacks what the stored batch says
	s := h.stored[b.BaseOffset]
	for ; s != nil && (s.batch.Magic < b.Magic || !sameStored(s.batch, b)); s = s.rival {
		rivals++
	}
	if s == nil {
		if rivals == maxRivals {
			return 0 // no log holds so many batches at one offset
		}
		s = &sighting{batch: b, topic: o.Topic, link: l, order: order, leaderEpoch: b.PartitionLeaderEpoch, rival: h.stored[b.BaseOffset]}
		added = s.keep(h, b)
		if h.stored == nil {
			h.stored = map[int64]*sighting{}
		}
		h.stored[b.BaseOffset] = s
		h.sightings = append(h.sightings, s)
	} else if len(s.batch.Records) == 0 && len(b.Records) > 0 {
		added = s.keep(h, b)
	}
	s.leaderEpoch = max(s.leaderEpoch, b.PartitionLeaderEpoch)
	s.lastSeen = max(s.lastSeen, o.At.Time)
	switch {
	case o.ReplicaID == -1 && s.consumer == nil:
		s.consumer, s.at = o.PartitionFetched, o.At.Time
	case o.ReplicaID != -1 && s.replica == nil:
		s.replica = o.PartitionFetched
		if s.consumer == nil {
			s.at = o.At.Time
		}
	}
	h.changed = h.changed || h.troubled // what was known is surer now
	return added
}

// keep makes b the sighting's batch and returns what that costs. Records that a send of the batch has in memory are not kept
// twice: nearly all that is fetched was seen to be produced.
func (s *sighting) keep(h *history, b *kafka.Batch) (added int64) {
	before := s.cost
	s.batch, s.cost = b, sightingCost+int64(len(b.Records))*recordCost
	if sent := h.answeredAt(b.BaseOffset); sent != nil && sent.sent.Batch.CRC == b.CRC && slices.Equal(sent.sent.Batch.Records, b.Records) {
		shared := *b // an observation is not changed
		shared.Records = sent.sent.Batch.Records
		s.batch, s.cost = &shared, sightingCost
	}
	return s.cost - before
}

// sameStored reports whether two batches at one offset are one batch of the log: byte for byte, or rewritten.
func sameStored(a, b *kafka.Batch) bool {
	if a.CRC == b.CRC && a.Magic == b.Magic && a.BaseTimestamp == b.BaseTimestamp {
		return true
	}
	if a.Idempotent() && b.Idempotent() && (a.ProducerID != b.ProducerID || a.ProducerEpoch != b.ProducerEpoch || a.BaseSequence != b.BaseSequence) {
		return false
	}
	if a.Idempotent() && (emptied(a) || emptied(b)) {
		return a.ProducerID == b.ProducerID && a.LastSequence() == b.LastSequence()
	}
	return len(a.Records) > 0 && len(b.Records) > 0 && sameRecords(a.Records, b.Records, false)
}

// emptied reports whether compaction has taken all records of a batch: it stays for the sequences of its producer.
func emptied(b *kafka.Batch) bool { return b.RecordCount == 0 && b.Magic >= 2 }

// sameRecords reports whether the records that both lists hold, by offset delta, are equal, and that there are some.
// Lists differ in length where the log was compacted or a set was read message by message.
func sameRecords(a, b []kafka.Record, timestamps bool) bool {
	i, j, equal := 0, 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i].Delta < b[j].Delta:
			i++
		case a[i].Delta > b[j].Delta:
			j++
		default:
			if a[i].Content != b[j].Content || timestamps && a[i].Timestamp != b[j].Timestamp {
				return false
			}
			i, j, equal = i+1, j+1, equal+1
		}
	}
	return equal > 0
}

func (h *history) leaderNamed(at Position, id, epoch int32) {
	if id < 0 && epoch < 0 {
		return
	}
	if n := len(h.leaders); n > 0 && h.leaders[n-1].id == id && h.leaders[n-1].epoch == epoch {
		return
	}
	h.leaders = append(newest(h.leaders, maxLeaders-1), leaderSeen{at, id, epoch})
}

// firstSight returns when the batch was first fetched.
func (s *sighting) firstSight() pcap.Timestamp {
	at := s.at
	if s.replica != nil {
		at = min(at, s.replica.At.Time)
	}
	return at
}

// bestSight returns the sighting's strongest view: a consumer's before a follower's.
func (s *sighting) bestSight() *kafka.PartitionFetched {
	if s.consumer != nil {
		return s.consumer
	}
	return s.replica
}
