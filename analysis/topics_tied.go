package analysis

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/kafka"
)

// tieByTraffic ties ids to names without Metadata: equal batches at equal offsets under an id and a name, or a
// client that fetches one unresolved id and commits offsets under one unresolved name.
func (t *topics) tieByTraffic(c *Correlator) {
	t.tieByBatches(c)
	t.tieByUse()
}

// storedBatch is a batch and its place. Without a producer id the server counts too: another one may be of another cluster, to which the
// bytes were mirrored.
type storedBatch struct {
	server     netip.AddrPort
	partition  int32
	producer   int64
	epoch      int16
	sequence   int32
	crc        uint32
	baseOffset int64
}

func (t *topics) tieByBatches(c *Correlator) {
	var unresolved, unnumbered []*history
	for _, h := range c.inOrder {
		switch {
		case h.key.topic.Name != "" && len(t.ids[h.key.topic.Name]) == 0:
			unnumbered = append(unnumbered, h)
		case h.key.topic.Name == "" && t.names[h.key.topic.ID] == "":
			unresolved = append(unresolved, h)
		}
	}
	if len(unresolved) == 0 || len(unnumbered) == 0 {
		return
	}
	named, numbered := storedIn(unnumbered), storedIn(unresolved)
	for _, h := range unresolved {
		h.eachStored(func(b storedBatch) {
			if name := named[b].Name; name != "" && numbered[b] == h.key.topic && t.names[h.key.topic.ID] == "" {
				t.tie(kafka.Topic{Name: name, ID: h.key.topic.ID}, 0)
			}
		})
	}
}

// storedIn returns the topic in which each batch stands; none for what stands in several, as a broadcast does.
func storedIn(all []*history) map[storedBatch]kafka.Topic {
	topics := map[storedBatch]kafka.Topic{}
	for _, h := range all {
		h.eachStored(func(b storedBatch) {
			if other, met := topics[b]; met && other != h.key.topic {
				topics[b] = kafka.Topic{}
				return
			}
			topics[b] = h.key.topic
		})
	}
	return topics
}

// eachStored calls f for each batch whose place in the log is known.
func (h *history) eachStored(f func(storedBatch)) {
	place := func(b *kafka.Batch, offset int64) {
		at := storedBatch{partition: h.key.partition, producer: b.ProducerID, epoch: b.ProducerEpoch, sequence: b.BaseSequence, crc: b.CRC, baseOffset: offset}
		switch {
		case b.Magic < 2:
			return
		case !b.Idempotent():
			at.server = h.key.server
		}
		f(at)
	}
	for _, s := range h.sends {
		if s.placed() {
			place(s.sent.Batch, s.answer.BaseOffset)
		}
	}
	for _, s := range h.sightings {
		place(s.batch, s.batch.BaseOffset)
	}
}

// use is what one client fetches by id alone, and commits by name.
type use struct {
	ids   map[[16]byte]bool
	names map[string]bool
}

const (
	// maxTiedTopics bounds what is kept of a client's use. A tie needs exactly one unresolved id and one unresolved name; a
	// client at this bound uses too many topics for that.
	maxTiedTopics = 64
	// maxTiedClients bounds the clients of which it is kept. Ids without names are rare.
	maxTiedClients = 1 << 14
)

func (t *topics) useOf(cl client) *use {
	u := t.uses[cl]
	if u == nil && len(t.uses) < maxTiedClients {
		u = &use{map[[16]byte]bool{}, map[string]bool{}}
		t.uses[cl] = u
	}
	return u
}

// fetched notes what a client reads. Members of a share group commit no offsets.
func (t *topics) fetched(cl client, o *kafka.PartitionFetched) {
	if o.Topic.Name != "" || t.names[o.Topic.ID] != "" || o.Shared {
		return
	}
	if u := t.useOf(cl); u != nil && len(u.ids) < maxTiedTopics {
		u.ids[o.Topic.ID] = true
	}
}

func (t *topics) committed(cl client, o *kafka.OffsetCommitted) {
	if o.Topic.Name == "" || len(t.ids[o.Topic.Name]) > 0 {
		return
	}
	if u := t.useOf(cl); u != nil && len(u.names) < maxTiedTopics {
		u.names[o.Topic.Name] = true
	}
}

// tieByUse pairs, per client, the only unresolved id fetched with the only unresolved name committed.
func (t *topics) tieByUse() {
	var ties []kafka.Topic
	for _, u := range t.uses {
		if len(u.ids) == maxTiedTopics || len(u.names) == maxTiedTopics {
			continue
		}
		var open []kafka.Topic
		for id := range u.ids {
			if t.names[id] == "" {
				open = append(open, kafka.Topic{ID: id})
			}
		}
		var names []string
		for name := range u.names {
			if len(t.ids[name]) == 0 {
				names = append(names, name)
			}
		}
		if len(open) == 1 && len(names) == 1 {
			ties = append(ties, kafka.Topic{Name: names[0], ID: open[0].ID})
		}
	}
	slices.SortFunc(ties, func(a, b kafka.Topic) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), bytes.Compare(a.ID[:], b.ID[:]))
	})
	for _, tied := range ties {
		if t.names[tied.ID] == "" {
			t.tie(tied, 0)
		}
	}
}
