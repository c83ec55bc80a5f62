package kafka

import (
	"net/netip"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// Observation is one fact read from the traffic of one connection. It holds no payload bytes (but for Batch.Previews, on
// request) and no judgement. Observations are immutable once emitted; those of one connection come in the order of the
// frames that completed them. The concrete types are the pointers to the structs of this file.
type Observation interface {
	// Where returns the connection and the frames of the fact.
	Where() *Seen
}

// Seen says where an observation was made.
type Seen struct {
	Link  *Link
	First pcap.Ref // the frame in which the message begins
	At    pcap.Ref // the frame that completes it
}

// Where implements Observation.
func (s *Seen) Where() *Seen { return s }

// Link is one connection that carries Kafka. Its pointer is its identity.
type Link struct {
	Client, Server netip.AddrPort
	First          pcap.Ref // its first frame
	Late           bool     // the capture lacks its beginning
	// Base is the TCP sequence number of the first byte, client's stream first; NAT and a second vantage point keep it.
	Base      [2]uint32
	BaseKnown [2]bool
}

// Topic is a topic as a message names it: by name, by id, or both. Name is "" and ID zero where unknown.
type Topic struct {
	Name string
	ID   [16]byte
}

// Request identifies one request and is shared by all that was observed of it and of its answer.
type Request struct {
	Seen
	APIKey, APIVersion int16
	CorrelationID      int32
	ClientID           string
	HasClientID        bool
	Seq                uint32                  // TCP sequence number of its first byte (the length prefix)
	Offset             reassembly.StreamOffset // of that byte in the client's stream
	Size               int64                   // bytes, length prefix included
}

// Fetches reports whether the request asks for records.
func (r *Request) Fetches() bool { return r.APIKey == keyFetch || r.APIKey == keyShareFetch }

// LinkOpened is the first sight of a connection, emitted once it is recognised as Kafka. Seen.At is the connection's first frame.
type LinkOpened struct{ Seen }

// LinkClosed ends a connection; no observation of it follows. Unanswered lists what was asked and not answered, oldest first.
type LinkClosed struct {
	Seen
	Reason     reassembly.CloseReason
	ByClient   bool     // the side that sent RST or the first FIN, where one was seen
	ServerDone pcap.Ref // the server's FIN, behind which no answer comes; zero: none was seen
	Unanswered []*Request
}

// GapSeen says that the capture lacks bytes of one direction, or that bytes could not be read as messages.
type GapSeen struct {
	Seen
	FromClient bool
	Bytes      int64
	Hidden     bool // whole messages may be hidden in it; false when only the inside of a known message is missing
}

// ClientNamed gives what a client says of itself (request header; ApiVersions v3+, KIP-511).
type ClientNamed struct {
	Seen
	ClientID                      string
	SoftwareName, SoftwareVersion string
}

// BatchSent is one record batch (or message set) of a Produce request. It is emitted when the request is complete, or when it
// is certain that the rest of it will not come.
type BatchSent struct {
	Seen
	Request         *Request
	Topic           Topic
	Partition       int32
	Acks            int16
	TransactionalID *string
	Batch           *Batch
	Torn            bool // the connection ended before the request was whole: the broker never had it
}

// BatchAnswered is the answer to the batches of one partition of a Produce request.
type BatchAnswered struct {
	Seen
	Request       *Request // nil: the request was not seen
	CorrelationID int32
	Topic         Topic
	Partition     int32
	ErrorCode     int16
	BaseOffset    int64 // negative: none
	LogAppendTime int64 // ms; -1: none
}

// AnswerAcked says that the client's TCP has acknowledged the whole answer to a Produce request.
type AnswerAcked struct {
	Seen
	Request *Request
}

// AnswerUnread says that a request was answered and the answer could not be read.
type AnswerUnread struct {
	Seen
	Request *Request
}

// PartitionFetched is the answer to one partition of a Fetch request; the BatchFetched of its batches follow at once.
type PartitionFetched struct {
	Seen
	Request          *Request // nil: the request was not seen
	CorrelationID    int32
	Topic            Topic
	Partition        int32
	ReplicaID        int32 // -1 a consumer, >= 0 a follower; -2 unknown (request not seen)
	Shared           bool  // by a member of a share group
	ReadCommitted    bool
	FetchOffset      int64 // -1 unknown
	ErrorCode        int16
	HighWatermark    int64 // -1 unknown
	LastStableOffset int64 // -1 unknown
	LogStartOffset   int64 // -1 unknown
	Aborted          []AbortedTransaction
}

// AbortedTransaction is an entry of a Fetch answer (read_committed, v4+).
type AbortedTransaction struct{ ProducerID, FirstOffset int64 }

// BatchFetched is one whole batch (or one message of an old set) of a Fetch answer.
type BatchFetched struct {
	*PartitionFetched
	Batch *Batch
}

// LeaderSource says which message named a leader.
type LeaderSource uint8

// Sources of LeaderNamed.
const (
	FromMetadata LeaderSource = iota
	FromProduceAnswer
	FromFetchAnswer
	FromFetchRequest // the current_leader_epoch of a Fetch request
)

// LeaderNamed names the leader of a partition. LeaderID and LeaderEpoch are -1 where unknown.
type LeaderNamed struct {
	Seen
	Topic       Topic
	Partition   int32
	LeaderID    int32
	LeaderEpoch int32
	Source      LeaderSource
}

// Broker is one broker as a Metadata answer or a node endpoint names it.
type Broker struct {
	NodeID int32
	Host   string
	Port   int32
}

// ClusterDescribed gives the cluster id (v2+, "" unknown) and brokers of a Metadata answer, or node endpoints of a leader hint.
type ClusterDescribed struct {
	Seen
	ClusterID string
	Brokers   []Broker
}

// TopicNamed ties a topic's name to its id (Metadata v10+, CreateTopics v7+) or only names it (ID zero).
type TopicNamed struct {
	Seen
	Topic    Topic
	Internal bool
}

// TopicDeleted says that a DeleteTopics request for the topic was answered without an error.
type TopicDeleted struct {
	Seen
	Topic Topic
}

// ProducerGranted is an InitProducerId exchange. Old… are -1 where the client named none (before v3).
type ProducerGranted struct {
	Seen
	Request          *Request
	TransactionalID  *string
	OldProducerID    int64
	OldProducerEpoch int16
	ErrorCode        int16
	ProducerID       int64
	ProducerEpoch    int16
}

// TransactionEnding is an EndTxn request, or a marker of a WriteTxnMarkers request (Marker true).
type TransactionEnding struct {
	Seen
	Request         *Request
	TransactionalID string
	ProducerID      int64
	ProducerEpoch   int16
	Commit          bool
	Marker          bool
}

// TransactionEnded is the answer to an EndTxn request. New… are -1 below v5 (KIP-890).
type TransactionEnded struct {
	*TransactionEnding
	Answer           Seen
	ErrorCode        int16
	NewProducerID    int64
	NewProducerEpoch int16
}

// Where implements Observation: the answer's place.
func (t *TransactionEnded) Where() *Seen { return &t.Answer }

// OffsetCommitted is one partition of an OffsetCommit request.
type OffsetCommitted struct {
	Seen
	Group     string
	Topic     Topic
	Partition int32
	Offset    int64
}

// OffsetListed is one partition of a ListOffsets exchange. Asked is the timestamp asked for: -1 latest, -2 earliest, ….
type OffsetListed struct {
	Seen
	Topic       Topic
	Partition   int32
	Asked       int64
	Offset      int64
	LeaderEpoch int32 // -1 unknown
	ErrorCode   int16
}

// EpochEnd is one partition of an OffsetForLeaderEpoch exchange, or the DivergingEpoch of a Fetch answer (KIP-595): records of
// LeaderEpoch end before EndOffset. AskedEpoch is -1 where the question is not known.
type EpochEnd struct {
	Seen
	Topic       Topic
	Partition   int32
	AskedEpoch  int32
	LeaderEpoch int32
	EndOffset   int64
	ErrorCode   int16
}
