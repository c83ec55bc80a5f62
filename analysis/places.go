package analysis

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/kafka"
)

// Place is a partition of which a batch was seen.
type Place struct {
	Topic     kafka.Topic
	Partition int32
}

// places returns where batches were seen, by topic and partition.
func (c *Correlator) places() []Place {
	var all []Place
	for _, h := range c.inOrder {
		if h.batches {
			all = append(all, Place{c.topics.resolve(c.topics.cluster(h.key.server, h.key.topic), h.key.topic, forever), h.key.partition})
		}
	}
	slices.SortFunc(all, func(a, b Place) int {
		return cmp.Or(strings.Compare(a.Topic.Name, b.Topic.Name), bytes.Compare(a.Topic.ID[:], b.Topic.ID[:]), cmp.Compare(a.Partition, b.Partition))
	})
	return slices.Compact(all)
}
