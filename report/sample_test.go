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
			Key: kafka.Payload{Size: -1}, Value: kafka.Payload{Size: 9, Hash: uint64(100 + i)},
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
