package report

// The JSON report, schema kdupscan/report/v1. Fields may be added; none is renamed or dropped, and none is left out:
// a pointer that is nil is a null, which means unknown.

const schema = "kdupscan/report/v1"

type wireReport struct {
	Schema    string         `json:"schema"`
	Tool      wireTool       `json:"tool"`
	Verdict   string         `json:"verdict"`
	Captures  []wireCapture  `json:"captures"`
	Coverage  wireCoverage   `json:"coverage"`
	Counts    wireCounts     `json:"counts"`
	Findings  []wireFinding  `json:"findings"`
	Producers []wireProducer `json:"producers"`
	Repeats   []wireRepeat   `json:"application_repeats"`
	Oddities  []wireOddity   `json:"oddities"`
}

type wireTool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type wireCapture struct {
	Name        string   `json:"name"`
	Format      string   `json:"format"`
	Compression *string  `json:"compression"`
	LinkTypes   []string `json:"link_types"`
	Packets     uint64   `json:"packets"`
	Bytes       uint64   `json:"bytes"`
	FirstTime   *string  `json:"first_time"`
	LastTime    *string  `json:"last_time"`
	CutShort    uint64   `json:"cut_short_packets"`
	Dropped     *uint64  `json:"dropped_packets"`
	Damage      *string  `json:"damage"`
}

type wireCoverage struct {
	Connections        wireConnections `json:"connections"`
	Gaps               wireGaps        `json:"gaps"`
	Requests           int64           `json:"requests"`
	Responses          int64           `json:"responses"`
	Unanswered         int64           `json:"unanswered"`
	APIs               []wireAPI       `json:"apis"`
	ProducedBatches    int64           `json:"produced_batches"`
	FetchedBatches     int64           `json:"fetched_batches"`
	Records            int64           `json:"records"`
	RecordsNotCompared int64           `json:"records_not_compared"`
	Limits             []wireLimit     `json:"limits"`
}

type wireConnections struct {
	Total int64 `json:"total"`
	Kafka int64 `json:"kafka"`
	TLS   int64 `json:"tls"`
	Other int64 `json:"other"`
}

type wireGaps struct {
	Count int64 `json:"count"`
	Bytes int64 `json:"bytes"`
}

type wireAPI struct {
	Key       int16   `json:"key"`
	Name      *string `json:"name"`
	Version   int16   `json:"version"`
	Requests  int64   `json:"requests"`
	Responses int64   `json:"responses"`
	Undecoded int64   `json:"undecoded"`
}

type wireLimit struct {
	Code   string        `json:"code"`
	Title  string        `json:"title"`
	Count  int64         `json:"count"`
	Effect string        `json:"effect"`
	First  *wirePosition `json:"first"`
	Detail *string       `json:"detail"` // of the first
}

type wireOddity struct {
	Code   string        `json:"code"`
	Title  string        `json:"title"`
	Count  int64         `json:"count"`
	First  *wirePosition `json:"first"`
	Detail *string       `json:"detail"` // of the first
}

type wireCounts struct {
	Appended           int64 `json:"appended"`
	Deduplicated       int64 `json:"deduplicated"`
	Rejected           int64 `json:"rejected"`
	Unacknowledged     int64 `json:"unacknowledged"`
	ApplicationRepeats int64 `json:"application_repeats"`
	EpochBumps         int64 `json:"epoch_bumps"`
	LeaderChanges      int64 `json:"leader_changes"`
}

type wireProducer struct {
	ProducerID      int64    `json:"producer_id"`
	Epochs          []int16  `json:"epochs"`
	ClientID        *string  `json:"client_id"`
	Software        *string  `json:"software"`
	TransactionalID *string  `json:"transactional_id"`
	Addresses       []string `json:"addresses"`
}

type wireRepeat struct {
	Topic     *string `json:"topic"`
	TopicID   *string `json:"topic_id"`
	Partition int32   `json:"partition"`
	Records   int64   `json:"records"`
}

type wireFinding struct {
	ID            string            `json:"id"`
	Code          string            `json:"code"`
	Kind          string            `json:"kind"`
	Verdict       string            `json:"verdict"`
	Cause         string            `json:"cause"`
	Cluster       *string           `json:"cluster_id"`
	Topic         *string           `json:"topic"`
	TopicID       *string           `json:"topic_id"`
	Partition     int32             `json:"partition"`
	RecordCount   int               `json:"record_count"`
	Records       []wireRecord      `json:"records"`
	Copies        []wireCopy        `json:"copies"`
	Bump          *wireBump         `json:"bump"`
	Timeline      []wireEvent       `json:"timeline"`
	Settings      wireSettings      `json:"producer_settings"`
	Doubts        []wireDoubt       `json:"doubts"`
	DisplayFilter map[string]string `json:"display_filter"`
	Explanation   []string          `json:"explanation"`
}

// wireSettings is what the traffic shows of the producer's configuration.
type wireSettings struct {
	Acks          *int16  `json:"acks"`
	Idempotent    bool    `json:"idempotent"`
	Transactional bool    `json:"transactional"`
	Compression   string  `json:"compression"`
	MaxInFlight   *int    `json:"max_in_flight_seen"`
	ClientID      *string `json:"client_id"`
	Software      *string `json:"software"`
}

type wireDoubt struct {
	Code  string `json:"code"`
	Title string `json:"title"`
}

type wireRecord struct {
	Offsets   []any        `json:"offsets"` // int64, nil or "absent"
	Timestamp *string      `json:"timestamp"`
	Key       *wirePayload `json:"key"`
	Value     *wirePayload `json:"value"`
}

// wirePayload has neither text nor hex unless payloads were asked for.
type wirePayload struct {
	Size int32   `json:"size"`
	Hash string  `json:"hash"`
	Text *string `json:"text,omitempty"`
	Hex  *string `json:"hex,omitempty"`
}

type wireCopy struct {
	Topic        *string     `json:"topic"`
	Partition    int32       `json:"partition"`
	BaseOffset   *int64      `json:"base_offset"`
	LastOffset   *int64      `json:"last_offset"`
	OffsetSource *string     `json:"offset_source"`
	LeaderEpoch  *int32      `json:"leader_epoch"`
	Batches      []wireBatch `json:"batches"`
	Evidence     []wireEvent `json:"evidence"`
}

type wireBatch struct {
	ProducerID    int64  `json:"producer_id"`
	ProducerEpoch int16  `json:"producer_epoch"`
	BaseSequence  int32  `json:"base_sequence"`
	LastSequence  int32  `json:"last_sequence"`
	CRC           string `json:"crc"`
	BaseOffset    *int64 `json:"base_offset"`
	LastOffset    *int64 `json:"last_offset"`
}

type wireBump struct {
	ProducerID    int64         `json:"producer_id"`
	FromEpoch     int16         `json:"from_epoch"`
	ToEpoch       int16         `json:"to_epoch"`
	NewProducerID *int64        `json:"new_producer_id"`
	Local         bool          `json:"local"`
	FirstSeen     *wirePosition `json:"first_seen"`
	Trigger       *wireTrigger  `json:"trigger"`
}

type wireTrigger struct {
	Kind      string        `json:"kind"`
	ErrorCode *int16        `json:"error_code"`
	Error     *string       `json:"error"`
	Topic     *string       `json:"topic"`
	Partition *int32        `json:"partition"`
	At        *wirePosition `json:"at"`
}

type wireEvent struct {
	What          string        `json:"what"`
	Text          string        `json:"text"`
	At            *wirePosition `json:"at"`
	CorrelationID *int32        `json:"correlation_id"`
	ErrorCode     *int16        `json:"error_code"`
	Error         *string       `json:"error"`
	Offset        *int64        `json:"offset"`
	Copy          *int          `json:"copy"`
	Repeats       int           `json:"repeats"`
}

type wirePosition struct {
	Capture    *string `json:"capture"`
	Frame      uint64  `json:"frame"`
	Time       *string `json:"time"`
	Connection *string `json:"connection"`
}
