package truth

import (
	"slices"

	"github.com/kdupscan/kdupscan/lab/cluster"
	"github.com/kdupscan/kdupscan/lab/proxy"
)

// Truth is what is true of a scenario.
type Truth struct {
	Log        []cluster.Batch
	Duplicates []Duplicate // in order of partition and first offset
	Counts     Counts
	Open       map[uint32]bool // CRCs of batches that a broker may still append: a suspicion of them is no mistake
}

// Duplicate is one record that stands at several offsets.
type Duplicate struct {
	Topic     string
	Partition int32
	Value     string
	Offsets   []int64 // of the copies, in the order of the log
	Cause     string
	Trigger   *Trigger // nil: no answer forced it
	Group     Group
}

// Group is what the records of one fault have in common: the partition and both identities, or without producer ids the
// batch that repeats them.
type Group struct {
	Partition          int32
	From, To           int64 // producer ids; without, -1 and the base offset
	FromEpoch, ToEpoch int16
}

// Trigger is the answer that made a producer change its epoch or producer id.
type Trigger struct {
	Error     int16
	Topic     string
	Partition int32
}

// Counts are what the report calls by these names.
type Counts struct {
	Appended     int64 `json:"appended"`
	Deduplicated int64 `json:"deduplicated"`
	Rejected     int64 `json:"rejected"`
	EpochBumps   int64 `json:"epoch_bumps"`
}

// Of finds the truth in a log and a journal. Epochs of a transactional producer rise with its transactions, which is no bump.
func Of(log []cluster.Batch, journal []proxy.Batch, transactional bool) *Truth {
	t := &Truth{Log: log, Counts: count(journal)}
	if transactional {
		t.Counts.EpochBumps = 0
	}
	type place struct {
		batch  *cluster.Batch
		offset int64
		time   int64
	}
	type record struct {
		partition int32
		value     string
	}
	places := make(map[record][]place)
	var order []record
	for i := range log {
		b := &log[i]
		if b.Control || b.Aborted {
			continue
		}
		for j, stored := range b.Records {
			r := record{b.Partition, stored.Value}
			if places[r] == nil {
				order = append(order, r)
			}
			places[r] = append(places[r], place{b, b.BaseOffset + int64(j), stored.Timestamp})
		}
	}
	for _, r := range order {
		if len(places[r]) < 2 {
			continue
		}
		first, second := places[r][0].batch, places[r][1].batch
		d := Duplicate{Topic: first.Topic, Partition: r.partition, Value: r.value, Cause: cause(first, second, places[r][0].time != places[r][1].time), Group: groupOf(first, second)}
		for _, p := range places[r] {
			d.Offsets = append(d.Offsets, p.offset)
		}
		if d.Cause == "epoch-bump" || d.Cause == "new-producer-id" {
			d.Trigger = trigger(first, second, journal)
		}
		t.Duplicates = append(t.Duplicates, d)
	}
	return t
}

func groupOf(first, second *cluster.Batch) Group {
	if first.ProducerID < 0 {
		return Group{first.Partition, -1, second.BaseOffset, -1, -1}
	}
	return Group{first.Partition, first.ProducerID, second.ProducerID, first.ProducerEpoch, second.ProducerEpoch}
}

// cause tells from the identities of two copies why a client whose application sends every value once wrote both. A client
// that stamps a record anew when it tries again (sarama does where its application gives no time) does what an application
// would that sends it again: the wire cannot tell them apart.
func cause(first, second *cluster.Batch, restamped bool) string {
	switch {
	case restamped:
		return "application-resend"
	case first.ProducerID < 0:
		return "blind-retry"
	case first.ProducerID != second.ProducerID:
		return "new-producer-id"
	case first.ProducerEpoch != second.ProducerEpoch:
		return "epoch-bump"
	case first.BaseSequence == second.BaseSequence:
		return "broker-dedup-failure"
	default:
		return "application-resend"
	}
}

// bumping are the errors after which an idempotent producer gives up its epoch: UNKNOWN_SERVER_ERROR, CORRUPT_MESSAGE,
// OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, UNKNOWN_PRODUCER_ID, INVALID_RECORD.
var bumping = []int16{-1, 2, 45, 47, 59, 87}

// trigger is the first answer to the old identity that forces a bump, if it came before the new identity's first batch.
func trigger(first, second *cluster.Batch, journal []proxy.Batch) *Trigger {
	var found *proxy.Batch
	for i := range journal {
		switch b := &journal[i]; {
		case b.ProducerID == second.ProducerID && b.ProducerEpoch == second.ProducerEpoch:
			if found == nil || found.AnsweredAt.After(b.SentAt) {
				return nil
			}
			return &Trigger{Error: found.Error, Topic: found.Topic, Partition: found.Partition}
		case b.ProducerID != first.ProducerID, b.ProducerEpoch != first.ProducerEpoch, !b.Answered, !slices.Contains(bumping, b.Error):
		case found == nil || b.AnsweredAt.Before(found.AnsweredAt):
			found = b
		}
	}
	return nil
}

// Unanswered are the CRCs of batches without a producer id that got no answer.
func Unanswered(journal []proxy.Batch) map[uint32]bool {
	all := make(map[uint32]bool)
	for _, b := range journal {
		if !b.Answered && b.ProducerID < 0 {
			all[b.CRC] = true
		}
	}
	return all
}

// count counts the answers that clients were sent.
func count(journal []proxy.Batch) (c Counts) {
	type epoch struct {
		producer int64
		epoch    int16
	}
	epochs, producers := make(map[epoch]bool), make(map[int64]bool)
	for _, b := range journal {
		if b.ProducerID >= 0 {
			epochs[epoch{b.ProducerID, b.ProducerEpoch}] = true
			producers[b.ProducerID] = true
		}
		switch {
		case !b.Answered:
		case b.Error == 0 && b.AppendTime < 0:
			c.Appended++
		case b.Error == 0: // a time of append on a topic with the clients' times marks a retry that was recognised
			c.Deduplicated++
		case b.Offset < 0:
			c.Rejected++
		}
	}
	c.EpochBumps = int64(len(epochs) - len(producers))
	return c
}

// Acknowledged is the journal of a wire that nobody could read, of a producer with one request in flight or without a fault:
// every batch of the log was sent once and acknowledged, save that those whose records were written again later got no answer.
func Acknowledged(log []cluster.Batch) (journal []proxy.Batch) {
	type record struct {
		partition int32
		value     string
	}
	last := make(map[record]int)
	for i, b := range log {
		for _, r := range b.Records {
			if !b.Control && !b.Aborted {
				last[record{b.Partition, r.Value}] = i
			}
		}
	}
	for i, b := range log {
		if b.Control {
			continue
		}
		answered := b.Aborted || len(b.Records) == 0 || last[record{b.Partition, b.Records[0].Value}] == i
		entry := proxy.Batch{
			Topic: b.Topic, Partition: b.Partition, Acks: -1, ProducerID: b.ProducerID, ProducerEpoch: b.ProducerEpoch,
			Sequence: b.BaseSequence, Records: int32(len(b.Records)), CRC: b.CRC, Answered: answered, Offset: -1, AppendTime: -1,
		}
		if answered {
			entry.Offset = b.BaseOffset
		}
		journal = append(journal, entry)
	}
	return journal
}
