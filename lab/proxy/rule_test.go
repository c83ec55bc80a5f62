package proxy

import (
	"slices"
	"testing"
	"time"
)

// TestStrikes sends batches 0, 1, 2, … of the partition, epoch and time given, and tells which of them a rule strikes.
func TestStrikes(t *testing.T) {
	type sent struct {
		partition int32
		epoch     int16
		second    int
		repeated  bool
	}
	fired := &Rule{struck: 1}
	for _, c := range []struct {
		name string
		rule Rule
		sent []sent
		want []int
	}{
		{"the first, once", Rule{}, []sent{{}, {}, {}}, []int{0}},
		{"its partition only", Rule{Partition: 1}, []sent{{}, {partition: 1}, {partition: 1}}, []int{1}},
		{"some pass", Rule{Skip: 2}, []sent{{}, {}, {}, {}}, []int{2}},
		{"those of other partitions do not count as passed", Rule{Skip: 1}, []sent{{partition: 1}, {}, {}}, []int{2}},
		{"new ones only", Rule{New: true}, []sent{{repeated: true}, {}}, []int{1}},
		{"after another rule", Rule{After: fired}, []sent{{}}, []int{0}},
		{"not before another rule", Rule{After: &Rule{}}, []sent{{}}, nil},
		{"for a while", Rule{Lasting: 2 * time.Second}, []sent{{}, {second: 1}, {second: 2}, {second: 3}}, []int{0, 1, 2}},
		{"a while spares a newer epoch", Rule{Lasting: 2 * time.Second}, []sent{{}, {epoch: 1, second: 1}, {second: 1}}, []int{0, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var have []int
			for i, s := range c.sent {
				b := &Batch{Partition: s.partition, ProducerEpoch: s.epoch}
				if c.rule.strikes(b, s.repeated, time.Unix(int64(s.second), 0)) {
					have = append(have, i)
				}
			}
			if !slices.Equal(have, c.want) || c.rule.Struck() != len(c.want) {
				t.Errorf("struck %v, want %v", have, c.want)
			}
		})
	}
}
