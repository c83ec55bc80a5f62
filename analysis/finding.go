package analysis

import (
	"iter"
	"net/netip"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// Verdict is how sure a finding is. The zero value is no verdict.
type Verdict uint8

// Verdicts, weakest first.
const (
	Possible Verdict = iota + 1
	Probable
	Confirmed
)

// Cause is why records were written twice; its text is the finding's code in the catalogue.
type Cause string

// The causes.
const (
	EpochBump          Cause = "epoch-bump"
	NewProducerID      Cause = "new-producer-id"
	BlindRetry         Cause = "blind-retry"
	BrokerDedupFailure Cause = "broker-dedup-failure"
	MisroutedBatch     Cause = "misrouted-batch"
	ApplicationResend  Cause = "application-resend"
	UnknownCause       Cause = "unknown"
)

// NoOffset is an unknown offset.
const NoOffset int64 = -1

// Finding is one fault on one partition: records that stand at two or more offsets, and the event that caused it.
type Finding struct {
	Verdict   Verdict
	Cause     Cause
	Cluster   string      // cluster id, "" unknown
	Topic     kafka.Topic // of the later copy
	Partition int32
	// RecordCount is the number of records; Records lists the first MaxListedRecords of them.
	RecordCount int
	Records     []DuplicateRecord
	Copies      []Copy
	Bump        *Bump
	Timeline    []Event
	// Stray is the index of the copy that a misrouted batch left where it does not belong; 0 for other causes.
	Stray int
	// Inferred says what the traffic shows of the producer's configuration.
	Inferred Inferred
	// Doubts name, by catalogue code, what weakens or limits this finding (answer-may-be-hidden, content-not-compared, …).
	Doubts []pcap.Code
	// LaterAt is the time of the later copy's first send or sighting; findings are sorted by it.
	LaterAt pcap.Timestamp
}

// MaxListedRecords bounds Finding.Records, as the report's contract says.
const MaxListedRecords = 1000

// DuplicateRecord is one record that was written again. Offsets[i] belongs to Copies[i].
type DuplicateRecord struct {
	Offsets    []RecordOffset
	Timestamp  int64 // ms; -1 none
	Key, Value kafka.Payload
	Preview    *kafka.Preview // nil unless previews were asked for
}

// RecordOffset is where one copy of a record stands.
type RecordOffset struct {
	Offset int64 // NoOffset: unknown
	Absent bool  // the copy lacks this record
}

// OffsetSource says how the offsets of a copy are known, "" unknown.
type OffsetSource string

// Sources of offsets.
const (
	OffsetFromFetch       OffsetSource = "fetch"
	OffsetFromAnswer      OffsetSource = "answer"
	OffsetFromErrorAnswer OffsetSource = "error-answer"
	OffsetFromGap         OffsetSource = "gap"
)

// Copy is one place where the records stand.
type Copy struct {
	Topic                  kafka.Topic
	Partition              int32
	BaseOffset, LastOffset int64 // NoOffset: unknown
	OffsetSource           OffsetSource
	LeaderEpoch            int32 // -1: unknown
	Batches                []CopyBatch
	Evidence               []Event // in time order
}

// CopyBatch is one batch that carried (a part of) a copy.
type CopyBatch struct {
	ProducerID                 int64
	ProducerEpoch              int16
	BaseSequence, LastSequence int32
	CRC                        uint32
	BaseOffset, LastOffset     int64 // NoOffset: unknown
}

// Bump is a change of a producer's identity.
type Bump struct {
	ProducerID         int64
	FromEpoch, ToEpoch int16
	NewProducerID      int64 // -1: the producer id stayed
	Local              bool  // no InitProducerId exchange was seen
	FirstSeen          Position
	Trigger            *Trigger
}

// TriggerKind says what forced a bump.
type TriggerKind string

// Kinds of trigger.
const (
	TriggerProduceError   TriggerKind = "produce-error"
	TriggerInitProducerID TriggerKind = "init-producer-id"
	TriggerConnectionLost TriggerKind = "connection-lost"
	TriggerNoAnswer       TriggerKind = "no-answer"
)

// Trigger is the event that forced a bump, often on another partition, connection or broker.
type Trigger struct {
	Kind      TriggerKind
	HasError  bool
	ErrorCode int16
	Topic     kafka.Topic
	Partition int32 // -1: the trigger concerns no single partition
	At        Position
}

// Position is a frame and the connection it belongs to.
type Position struct {
	pcap.Ref
	Client, Server netip.AddrPort
}

// EventKind says what an Event is; its text is the report's "what".
type EventKind string

// Kinds of event.
const (
	EventProduceRequest  EventKind = "produce-request"
	EventProduceResponse EventKind = "produce-response"
	EventFetchResponse   EventKind = "fetch-response"
	EventMetadata        EventKind = "metadata"
	EventLeaderChange    EventKind = "leader-change"
	EventInitProducerID  EventKind = "init-producer-id"
	EventEpochBump       EventKind = "epoch-bump"
	EventConnectionLost  EventKind = "connection-lost"
	EventNoAnswer        EventKind = "no-answer"
	EventTransactionEnd  EventKind = "transaction-end"
)

// Event is one step of a finding's story, as data: report words it. Fields that do not apply are -1, zero or false.
type Event struct {
	Kind           EventKind
	At             Position
	CorrelationID  int32
	HasCorrelation bool
	ErrorCode      int16
	HasError       bool  // an answer: ErrorCode is meaningful, 0 included
	Offset         int64 // NoOffset: none
	Topic          kafka.Topic
	Partition      int32
	ProducerID     int64
	ProducerEpoch  int16
	BaseSequence   int32
	LastSequence   int32
	RecordCount    int32
	CRC            uint32
	HasBatch       bool                            // the five fields above, and CRC, are meaningful
	Acks           int16                           // produce requests
	LeaderID       int32                           // leader-change, and answers that name a leader; -1 unknown
	LeaderEpoch    int32                           // likewise; of a fetched batch: its partition leader epoch
	PreviousEpoch  int32                           // leader-change: the leader epoch before; -1 unknown
	ReplicaID      int32                           // fetch: -1 consumer, >= 0 follower, -2 unknown
	Copy           int                             // 1-based index of the copy it belongs to; 0: neither
	Deduplicated   bool                            // an OK answer that gives an earlier batch's offset
	Unheard        bool                            // connection-lost: behind an OK that the client was not seen to acknowledge
	Repeat         int                             // how many further equal events (same kind, batch, error, server) this one stands for
	RepeatedIn     [maxRepeatedIn]pcap.FrameNumber // the first of those, in the capture of At; 0 behind the last
}

// maxRepeatedIn is how many frames of equal events are named: a client may try every 100 ms for two minutes.
const maxRepeatedIn = 8

// Positions returns the packets that the finding rests on: of its story, of its copies' evidence, and of its change of identity.
// One may come more than once.
func (f *Finding) Positions() iter.Seq[Position] {
	return func(yield func(Position) bool) {
		lists := [][]Event{f.Timeline}
		for i := range f.Copies {
			lists = append(lists, f.Copies[i].Evidence)
		}
		for _, events := range lists {
			for i := range events {
				if at := events[i].At; !at.IsZero() && !yield(at) {
					return
				}
			}
		}
		if b := f.Bump; b != nil {
			if !b.FirstSeen.IsZero() && !yield(b.FirstSeen) {
				return
			}
			if t := b.Trigger; t != nil && !t.At.IsZero() {
				yield(t.At)
			}
		}
	}
}

// Inferred is what the traffic shows of a producer's configuration.
type Inferred struct {
	Acks            int16
	AcksKnown       bool
	Idempotent      bool
	TransactionalID bool
	Codec           kafka.Codec
	MaxInFlight     int    // the most Produce requests seen unanswered on one connection
	ClientID        string // of the producer
	Software        string // "librdkafka 2.6.1", "" unknown
}
