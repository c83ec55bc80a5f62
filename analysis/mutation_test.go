package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
)

// Histories that look real but for a few observations that are lost, repeated, moved or out of all bounds.
func TestMutatedWorlds(t *testing.T) {
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		w.run(6, w.tellFalse)
		r := rand.New(rand.NewPCG(seed, 5))
		if soundResult(t, mutate(observe(t, w.history()), r)); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func mutate(all []kafka.Observation, r *rand.Rand) []kafka.Observation {
	var kept []kafka.Observation
	for _, o := range all {
		switch r.IntN(30) {
		case 0:
		case 1:
			kept = append(kept, o, o)
		case 2:
			at := r.IntN(len(kept) + 1)
			kept = append(kept[:at:at], append([]kafka.Observation{o}, kept[at:]...)...)
		case 3, 4:
			kept = append(kept, distort(o, r))
		default:
			kept = append(kept, o)
		}
	}
	return kept
}

// distort returns the observation with one number at the edge of its range.
func distort(o kafka.Observation, r *rand.Rand) kafka.Observation {
	edge := []int64{-1, math.MinInt64, math.MaxInt64, math.MaxInt64 - 1, math.MaxInt32, math.MaxInt64 - math.MaxInt32}[r.IntN(6)]
	switch o := o.(type) {
	case *kafka.BatchSent:
		sent := *o
		sent.Batch = distortBatch(o.Batch, edge, r)
		return &sent
	case *kafka.BatchFetched:
		return &kafka.BatchFetched{PartitionFetched: o.PartitionFetched, Batch: distortBatch(o.Batch, edge, r)}
	case *kafka.BatchAnswered:
		answer := *o
		if r.IntN(2) == 0 {
			answer.BaseOffset = edge
		} else {
			answer.LogAppendTime = edge
		}
		return &answer
	case *kafka.PartitionFetched:
		f := *o
		f.HighWatermark = edge
		return &f
	case *kafka.EpochEnd:
		e := *o
		if r.IntN(2) == 0 {
			e.LeaderEpoch = int32(edge)
		} else {
			e.EndOffset = edge
		}
		return &e
	case *kafka.LeaderNamed:
		l := *o
		l.LeaderEpoch = int32(edge)
		return &l
	}
	return o
}

func distortBatch(whole *kafka.Batch, edge int64, r *rand.Rand) *kafka.Batch {
	b := *whole
	switch r.IntN(7) {
	case 0:
		b.BaseOffset = edge
	case 1:
		b.LastOffsetDelta = max(int32(edge), b.LastOffsetDelta)
	case 2:
		b.BaseSequence = int32(edge)
	case 3:
		b.ProducerEpoch = int16(edge)
	case 4:
		b.ProducerID = edge
	case 5:
		b.Records, b.NotCompared = nil, kafka.CutShort
		b.LastOffsetDelta = int32(edge)
	case 6:
		b.MaxTimestamp = edge
	}
	return &b
}
