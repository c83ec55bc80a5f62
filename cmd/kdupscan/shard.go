package main

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/reassembly"
	"github.com/kdupscan/kdupscan/reassembly/tls"
)

// shard is what becomes of a part of the connections: TCP, TLS and Kafka undone. It is for one goroutine.
type shard struct {
	assembler *reassembly.Assembler
	keys      *tls.Keys
	decoder   *kafka.Decoder
	notes     notes
	order     uint64     // of the segment being pushed
	out       []observed // observations since the last push
}

func newShard(b budget, previews bool) *shard {
	s := &shard{keys: tls.NewKeys(nil), notes: make(notes)}
	s.decoder = kafka.NewDecoder(kafka.Options{Limits: b.kafka(shards), Previews: previews}, s.observe, s.notes.add)
	decrypter := tls.NewDecrypter(s.keys, b.tls(shards), s.decoder.Handle, s.notes.add)
	s.assembler = reassembly.NewAssembler(b.reassembly(shards), decrypter.Handle, s.notes.add)
	return s
}

func (s *shard) observe(o kafka.Observation) { s.out = append(s.out, observed{o, s.order}) }

// take does the shard's part of a chunk.
func (s *shard) take(c *chunk, number int) {
	c.observed[number] = s.push(c.keyLogs, c.segments[number], c.observed[number])
	if c.view != nil {
		c.view.shards[number] = s.view()
	}
}

// push takes in key logs and segments, and returns out with the observations they caused appended.
func (s *shard) push(keyLogs [][]byte, segments []segment, out []observed) []observed {
	s.out = out
	for _, log := range keyLogs {
		s.keys.AddLog(log)
	}
	for i := range segments {
		s.order = segments[i].order
		s.assembler.Push(&segments[i].Segment)
	}
	out, s.out = s.out, nil
	return out
}

// shardView is what a shard has counted so far.
type shardView struct {
	kafka kafka.Stats
	tcp   reassembly.Stats
	notes notes
}

// view returns a copy, which the shard leaves alone.
func (s *shard) view() shardView {
	v := shardView{tcp: s.assembler.Stats(), notes: make(notes)}
	v.kafka.Add(s.decoder.Stats())
	v.notes.merge(s.notes)
	return v
}

// atEnd is the order of what the end of the input causes.
const atEnd = ^uint64(0)

// lastObservations ends all connections and returns what that shows, connection by connection in the order in which they
// began. The order in which a shard ends its own must not show: it would differ with the number of shards.
func lastObservations(all []*shard) []kafka.Observation {
	var lasts []kafka.Observation
	for _, s := range all {
		s.order = atEnd
		s.assembler.Finish()
		for _, o := range s.out {
			lasts = append(lasts, o.Observation)
		}
	}
	slices.SortStableFunc(lasts, func(a, b kafka.Observation) int {
		return compareRefs(a.Where().Link.First, b.Where().Link.First)
	})
	return lasts
}
