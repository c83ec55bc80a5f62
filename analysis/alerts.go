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
	watch    watch
}

// Alerts returns the findings that are new, in the order of a report: each that Interim would show is given by the next
// call, or, long after its copy was written, some seconds later (see echoing.due).
// It costs little while nothing goes wrong: watch tells which partitions to judge, and only if these have something to tell
// all are judged, since causes are looked for everywhere.
func (c *Correlator) Alerts() []Alert {
	w := &c.alerted.watch
	w.look(c)
	due := w.due(c)
	if len(due) == 0 {
		return nil
	}
	j := c.judged(due, nil)
	if c.alerted.anything(j) {
		j = c.judged(nil, nil)
	}
	w.judged(due, j)
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

// anything reports whether a judgement holds something to give.
func (a *alerted) anything(j *judgement) bool {
	for i := range j.found {
		if was, known := a.verdicts[j.found[i].key()]; !known || j.found[i].Verdict > was {
			return true
		}
	}
	return false
}

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

// slow reports whether an answer came so late that an application may have sent again.
func slow(s *send, at pcap.Ref) bool { return at.Time-s.sent.First.Time >= answerTime }
