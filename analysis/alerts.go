package analysis

import (
	"fmt"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// Alert is a finding that is new, or whose verdict has risen since it was last given.
type Alert struct {
	Key     string // stays the same while the finding's verdict rises
	Rose    bool
	Finding Finding
}

// maxAlerted bounds the findings remembered as given. Beyond it the oldest are forgotten; they could be given again only while
// their history is kept.
const maxAlerted = 1 << 16

// alerted remembers which findings were given, and with which verdict.
type alerted struct {
	verdicts map[string]Verdict
	order    []string
}

// Alerts judges the partitions in which something has gone wrong and something has happened since the last call, and returns
// what is new, in the order of a report. It costs next to nothing while nothing goes wrong. Findings that need the view of
// all partitions or of a whole run (misrouted batches, copies seen by Fetch alone) are left to Interim and Finish.
func (c *Correlator) Alerts() []Alert {
	troubled := c.troubled()
	if troubled == nil {
		return nil
	}
	j := newJudgement(c)
	j.only = troubled
	j.run()
	var fresh []Alert
	for i := range j.found {
		if a, ok := c.alerted.give(&j.found[i].Finding, j.found[i].key()); ok {
			fresh = append(fresh, a)
		}
	}
	return fresh
}

// Interim judges the whole history as Finish does, and goes on.
func (c *Correlator) Interim() *Result { return c.Finish() }

func (a *alerted) give(f *Finding, key string) (Alert, bool) {
	was, known := a.verdicts[key]
	if known && f.Verdict <= was {
		return Alert{}, false
	}
	if !known {
		if len(a.order) == maxAlerted {
			delete(a.verdicts, a.order[0])
			a.order = a.order[1:]
		}
		a.order = append(a.order, key)
	}
	a.verdicts[key] = f.Verdict
	return Alert{Key: key, Rose: known, Finding: *f}, true
}

// key names a finding by what does not change while more is learnt of it: cause, partition, and the batches of its first record.
func (f judged) key() string {
	key := fmt.Sprint(f.Cause, "|", f.Cluster, "|", f.Topic.Name, "|", f.Partition)
	for _, c := range []copyOf{f.records[0].copies[0], f.records[0].copies[len(f.records[0].copies)-1]} {
		key += fmt.Sprint("|", c.b.id, c.b.info.CRC, c.b.first.Number, c.delta)
	}
	return key
}

// troubled returns the partitions to judge for alerts, nil for none: all in which something went wrong, if anything new was seen
// of one of them, under whatever name and at whatever server. Causes are looked for in all of them.
func (c *Correlator) troubled() map[partitionKey]bool {
	keys := map[partitionKey]bool{}
	for _, h := range c.inOrder {
		if h.troubled {
			keys[c.topics.key(h.key, forever)] = true
		}
	}
	if len(keys) == 0 {
		return nil
	}
	news := false
	for _, h := range c.inOrder {
		if h.changed && keys[c.topics.key(h.key, forever)] {
			news = true
		}
		h.changed = false
	}
	if !news {
		return nil
	}
	return keys
}

// key resolves the identity of a partition as of a time.
func (t *topics) key(h historyKey, at pcap.Timestamp) partitionKey {
	cluster := t.cluster(h.server, h.topic)
	topic := t.resolve(cluster, h.topic, at)
	return t.keyOf(cluster, topic, h.partition, at)
}

func (t *topics) keyOf(cluster string, topic kafka.Topic, partition int32, at pcap.Timestamp) partitionKey {
	if topic.ID != [16]byte{} {
		return partitionKey{id: topic.ID, partition: partition}
	}
	return partitionKey{cluster: cluster, name: topic.Name, era: t.era(topic.Name, at), partition: partition}
}

// watch notes what can make a batch of the history a first copy: its producer has another epoch or id than before.
func (h *history) watch(b *kafka.Batch) {
	h.changed = true
	if !b.Idempotent() {
		return
	}
	id := identity{producer: b.ProducerID, epoch: b.ProducerEpoch}
	if h.lastProducer != id && h.lastProducer != (identity{}) {
		h.troubled = true
	}
	h.lastProducer = id
}

// slow reports whether an answer came so late that an application may have sent again.
func slow(s *send, at pcap.Ref) bool { return at.Time-s.sent.First.Time >= answerTime }
