package main

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
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
	// began has where each open connection begins, to order what is observed of them at the end.
	began map[*kafka.Link]pcap.Ref
}

func newShard(b budget, previews bool) *shard {
	s := &shard{keys: tls.NewKeys(nil), notes: make(notes), began: make(map[*kafka.Link]pcap.Ref)}
	s.decoder = kafka.NewDecoder(kafka.Options{Limits: b.kafka(shards), Previews: previews}, s.observe, s.notes.add)
	decrypter := tls.NewDecrypter(s.keys, b.tls(shards), s.decoder.Handle, s.notes.add)
	s.assembler = reassembly.NewAssembler(b.reassembly(shards), decrypter.Handle, s.notes.add)
	return s
}

func (s *shard) observe(o kafka.Observation) {
	link := o.Where().Link
	if _, known := s.began[link]; !known {
		s.began[link] = o.Where().At
	}
	if _, closed := o.(*kafka.LinkClosed); closed && s.order != atEnd {
		delete(s.began, link)
	}
	s.out = append(s.out, observed{o, s.order})
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
	type last struct {
		kafka.Observation
		began pcap.Ref
	}
	var lasts []last
	for _, s := range all {
		s.order = atEnd
		s.assembler.Finish()
		for _, o := range s.out {
			lasts = append(lasts, last{o.Observation, s.began[o.Where().Link]})
		}
	}
	slices.SortStableFunc(lasts, func(a, b last) int { return compareRefs(a.began, b.began) })
	var out []kafka.Observation
	for _, l := range lasts {
		out = append(out, l.Observation)
	}
	return out
}
