package report

import (
	"net/netip"
	"time"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// The samples are results made by hand; nothing of them comes from a run of kdupscan.

func at(clock string, frame int, server string) analysis.Position {
	t, err := time.Parse("2006-01-02 15:04:05.000", "2024-11-20 "+clock)
	if err != nil {
		panic(err)
	}
	return analysis.Position{
		Ref:    pcap.Ref{Number: pcap.FrameNumber(frame), Time: pcap.Timestamp(t.UnixNano())},
		Client: netip.MustParseAddrPort("10.20.0.5:51844"), Server: netip.MustParseAddrPort(server),
	}
}

const brokerOne, brokerThree = "3.70.194.188:40001", "3.70.194.188:40003"

// event returns an event with nothing known but its kind and place.
func event(kind analysis.EventKind, p analysis.Position) analysis.Event {
	return analysis.Event{Kind: kind, At: p, Offset: analysis.NoOffset, Partition: -1, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, LastSequence: -1,
		LeaderID: -1, LeaderEpoch: -1, PreviousEpoch: -1, ReplicaID: -2}
}

func sent(p analysis.Position, correlation int32, epoch int16, first int32, sum uint32, copyOf int) analysis.Event {
	e := event(analysis.EventProduceRequest, p)
	e.HasCorrelation, e.CorrelationID, e.Acks, e.Copy = true, correlation, -1, copyOf
	e.HasBatch, e.ProducerID, e.ProducerEpoch, e.BaseSequence, e.LastSequence, e.RecordCount, e.CRC = true, 7078, epoch, first, first+1, 2, sum
	return e
}

func answered(p analysis.Position, correlation int32, code int16, offset int64, copyOf int) analysis.Event {
	e := event(analysis.EventProduceResponse, p)
	e.HasCorrelation, e.CorrelationID, e.HasError, e.ErrorCode, e.Offset, e.Copy = true, correlation, true, code, offset, copyOf
	return e
}

func fetched(p analysis.Position, offset int64, leaderEpoch int32, copyOf int) analysis.Event {
	e := event(analysis.EventFetchResponse, p)
	e.Offset, e.LeaderEpoch, e.ReplicaID, e.Copy = offset, leaderEpoch, -1, copyOf
	return e
}

// seedIncident has the figures of confluentinc/librdkafka#4953, the first of its two incidents.
func seedIncident() *analysis.Result {
	firstSend := sent(at("15:37:11.655", 11, brokerOne), 3564, 0, 2704, 0xe97ffa59, 1)
	firstAnswer := answered(at("15:37:12.623", 14, brokerOne), 3564, 6, 71229, 1)
	firstAnswer.LeaderID, firstAnswer.LeaderEpoch = 3, 18
	again := sent(at("15:37:12.769", 16, brokerThree), 3580, 0, 2704, 0xe97ffa59, 1)
	again.Repeat = 3
	refused := answered(at("15:37:12.801", 18, brokerThree), 3580, 6, analysis.NoOffset, 1)
	refused.Repeat = 3
	bumped := event(analysis.EventEpochBump, at("15:37:13.710", 31, brokerThree))
	bumped.ProducerID, bumped.ProducerEpoch = 7078, 1
	secondSend := sent(at("15:37:13.710", 31, brokerThree), 3585, 1, 0, 0x1cbeb4b1, 2)
	secondAnswer := answered(at("15:37:15.822", 47, brokerThree), 3585, 0, 71231, 2)
	firstFetch := fetched(at("15:37:15.212", 45, brokerThree), 71229, 17, 1)
	secondFetch := fetched(at("15:37:15.844", 49, brokerThree), 71231, 18, 2)
	topic := kafka.Topic{Name: "my-topic-0188"}
	batch := func(epoch int16, first int32, sum uint32, base int64) []analysis.CopyBatch {
		return []analysis.CopyBatch{{ProducerID: 7078, ProducerEpoch: epoch, BaseSequence: first, LastSequence: first + 1, CRC: sum, BaseOffset: base, LastOffset: base + 1}}
	}
	record := func(i int64) analysis.DuplicateRecord {
		return analysis.DuplicateRecord{Offsets: []analysis.RecordOffset{{Offset: 71229 + i}, {Offset: 71231 + i}}, Timestamp: 1732117031646 + i,
			Key: kafka.Payload{Size: -1}, Value: kafka.Payload{Size: 9, Hash: uint32(100 + i)},
			Preview: &kafka.Preview{Value: []byte("\x1b[2J order")}}
	}
	return &analysis.Result{
		Captures: []pcap.Capture{{Name: "seed-a.pcap", Format: "pcap", LinkTypes: []pcap.LinkType{1}, Packets: 62, Bytes: 9876,
			First: at("15:37:10.101", 1, brokerOne).Time, Last: at("15:37:20.200", 62, brokerOne).Time, Fingerprint: 0x1234}},
		Coverage: analysis.Coverage{TCPConnections: 3, Stats: kafka.Stats{Connections: 3, Requests: 16, Responses: 16, ProducedBatches: 5, FetchedBatches: 2, Records: 9,
			APIs: map[kafka.API]*kafka.APIStats{{Key: 1, Version: 11}: {Requests: 2, Responses: 2}, {Key: 0, Version: 10}: {Requests: 6, Responses: 6}, {Key: 0, Version: 9}: {Requests: 8, Responses: 8}}}},
		Counts: analysis.Counts{Appended: 1, Rejected: 4, EpochBumps: 1, LeaderChanges: 1},
		Findings: []analysis.Finding{{
			Verdict: analysis.Confirmed, Cause: analysis.EpochBump, Topic: topic, Partition: 0, RecordCount: 2,
			Records: []analysis.DuplicateRecord{record(0), record(1)},
			Copies: []analysis.Copy{
				{Topic: topic, BaseOffset: 71229, LastOffset: 71230, OffsetSource: analysis.OffsetFromFetch, LeaderEpoch: 17, Batches: batch(0, 2704, 0xe97ffa59, 71229),
					Evidence: []analysis.Event{firstSend, firstAnswer, again, refused, firstFetch}},
				{Topic: topic, BaseOffset: 71231, LastOffset: 71232, OffsetSource: analysis.OffsetFromFetch, LeaderEpoch: 18, Batches: batch(1, 0, 0x1cbeb4b1, 71231),
					Evidence: []analysis.Event{secondSend, secondAnswer, secondFetch}},
			},
			Bump:     &analysis.Bump{ProducerID: 7078, FromEpoch: 0, ToEpoch: 1, NewProducerID: -1, Local: true, FirstSeen: secondSend.At},
			Timeline: []analysis.Event{firstSend, firstAnswer, again, refused, bumped, secondSend, firstFetch, secondAnswer, secondFetch},
			Inferred: analysis.Inferred{Acks: -1, AcksKnown: true, Idempotent: true, MaxInFlight: 5, ClientID: "rdkafka", Software: "librdkafka 2.6.1"},
			Doubts:   []pcap.Code{"trigger-not-seen"},
			LaterAt:  secondSend.At.Time,
		}},
		Producers: []analysis.Producer{{ProducerID: 7078, Epochs: []int16{0, 1}, ClientID: "rdkafka", HasClientID: true, Software: "librdkafka 2.6.1",
			Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.20.0.5:51844")}}},
	}
}

// untroubled has the traffic of seedIncident and no finding.
func untroubled() *analysis.Result {
	r := seedIncident()
	r.Findings = nil
	return r
}

// hostile is a name with what a terminal, a Markdown renderer or a reader's eye could be tricked with.
const hostile = "a|b`c\x1b]0;title\x07\u009b2J\u202egnp.exe\r\nF9  confirmed\xff\u0301\u3164"

// manyFaults has a finding of each further kind over two captures, limits, oddities, repeats and hostile names.
func manyFaults() *analysis.Result {
	inOther := func(p analysis.Position) analysis.Position { p.Capture = 1; return p }
	topic := kafka.Topic{Name: "sensor-raw"}
	plain := func(p analysis.Position, correlation int32, copyOf int) analysis.Event {
		e := event(analysis.EventProduceRequest, p)
		e.HasCorrelation, e.CorrelationID, e.Acks, e.Copy = true, correlation, 1, copyOf
		e.HasBatch, e.RecordCount, e.CRC = true, 1, 0x00c0ffee
		return e
	}
	place := func(topic kafka.Topic, partition int32, base, last int64, source analysis.OffsetSource, batches []analysis.CopyBatch, evidence ...analysis.Event) analysis.Copy {
		return analysis.Copy{Topic: topic, Partition: partition, BaseOffset: base, LastOffset: last, OffsetSource: source, LeaderEpoch: -1, Batches: batches, Evidence: evidence}
	}
	blind := []analysis.CopyBatch{{ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, LastSequence: -1, CRC: 0x00c0ffee, BaseOffset: -1, LastOffset: -1}}
	firstSend, secondSend := plain(at("09:00:00.000", 3, "[2001:db8::7]:9092"), 7, 1), plain(inOther(at("09:00:31.000", 4, "[2001:db8::7]:9092")), 8, 2)
	lost := event(analysis.EventConnectionLost, at("09:00:30.000", 9, "[2001:db8::7]:9092"))
	lost.Copy = 1
	secondAnswer := answered(inOther(at("09:00:31.002", 5, "[2001:db8::7]:9092")), 8, 0, 56, 2)

	strayBatch := []analysis.CopyBatch{{ProducerID: 31, ProducerEpoch: 2, BaseSequence: 1200, LastSequence: 1202, CRC: 0xdeadbeef, BaseOffset: -1, LastOffset: -1}}
	views := kafka.Topic{Name: "page-views", ID: [16]byte{0x0b, 0x1c, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1}}
	idOnly := kafka.Topic{ID: [16]byte{0xab, 0xcd, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 2}}
	toOther := answered(at("10:00:00.000", 20, brokerOne), 99, 0, 310, 1)
	toViews := answered(at("10:00:01.000", 21, brokerOne), 100, 7, 50012, 2)
	toViews.Topic, toViews.Partition = views, 4

	dropped := uint64(7)
	return &analysis.Result{
		Captures: []pcap.Capture{
			{Name: "broker.pcap", Format: "pcap", Compression: "gzip", LinkTypes: []pcap.LinkType{1, 276}, Packets: 12345, Bytes: 1 << 30, First: at("08:59:00.000", 1, brokerOne).Time,
				Last: at("10:30:00.000", 1, brokerOne).Time + 86400e9, CutShort: 3, Dropped: &dropped, Damage: []pcap.Damage{{Offset: 4711, Frame: 12345, What: "the file ends inside a packet", Lost: -1}}},
			{Name: "broker.pcap", Format: "pcapng", Packets: 0},
		},
		Coverage: analysis.Coverage{TCPConnections: 120, Gaps: 2, GapBytes: 2920, Stats: kafka.Stats{Connections: 12, TLS: 100, Other: 8, Requests: 40000, Responses: 39990, Unanswered: 10,
			ProducedBatches: 20000, FetchedBatches: 4000, Records: 1234567, RecordsNotCompared: 12,
			APIs: map[kafka.API]*kafka.APIStats{{Key: 0, Version: 14}: {Requests: 1, Undecoded: 1}, {Key: 9999, Version: 0}: {Requests: 1}}}},
		Counts: analysis.Counts{Appended: 19000, Deduplicated: 1, Rejected: 2, Unacknowledged: 3, ApplicationRepeats: 4, EpochBumps: 5, LeaderChanges: 6},
		Findings: []analysis.Finding{
			{Verdict: analysis.Possible, Cause: analysis.BlindRetry, Topic: topic, Partition: 1, RecordCount: 1,
				Records: []analysis.DuplicateRecord{{Offsets: []analysis.RecordOffset{{Offset: -1}, {Offset: 56}}, Timestamp: -1, Key: kafka.Payload{Size: 0, Hash: 1}, Value: kafka.Payload{Size: 70, Hash: 2}}},
				Copies: []analysis.Copy{
					place(topic, 1, -1, -1, "", blind, firstSend, lost),
					place(topic, 1, 56, 56, analysis.OffsetFromAnswer, blind, secondSend, secondAnswer)},
				Timeline: []analysis.Event{firstSend, lost, secondSend, secondAnswer}, Doubts: []pcap.Code{"first-copy-fate-unknown", "answer-may-be-hidden"},
				Inferred: analysis.Inferred{Acks: 1, AcksKnown: true, Codec: kafka.LZ4, ClientID: hostile}},
			{Verdict: analysis.Probable, Cause: analysis.MisroutedBatch, Topic: views, Partition: 4, RecordCount: 3,
				Records: []analysis.DuplicateRecord{{Offsets: []analysis.RecordOffset{{Offset: 310}, {Absent: true}}, Timestamp: 1 << 62}},
				Copies: []analysis.Copy{
					place(idOnly, 0, 310, 312, analysis.OffsetFromAnswer, strayBatch, toOther),
					place(views, 4, 50012, 50014, analysis.OffsetFromErrorAnswer, strayBatch, toViews)},
				Timeline: []analysis.Event{toOther, toViews}},
		},
		Producers: []analysis.Producer{{ProducerID: 31, Epochs: []int16{2}}},
		Repeats:   []analysis.ApplicationRepeat{{Topic: kafka.Topic{Name: hostile}, Partition: 3, Records: 4}},
		Notes: []analysis.NoteCount{
			{Code: "batch-bad-crc", Count: 1, First: pcap.Note{Code: "batch-bad-crc", At: at("09:30:00.000", 77, brokerOne).Ref, Connection: "10.0.0.1:1 → 10.0.0.2:9092", Detail: hostile}},
			{Code: "tcp-gap", Count: 2, First: pcap.Note{Code: "tcp-gap", At: at("09:10:00.000", 55, brokerOne).Ref}},
			{Code: "tls", Count: 100, First: pcap.Note{Code: "tls"}},
		},
	}
}
