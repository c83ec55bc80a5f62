package traffic

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	fetchWaitMillis = 500
	fetchMaxBytes   = 50 << 20
	// pollAfter is how long a broker lets a consumer wait until there is something: long enough for some batches.
	pollAfter = 2 * time.Millisecond
)

// reader is one connection of a consumer.
type reader struct {
	*conn
	partitions []*partition
	req        *kmsg.FetchRequest
}

func newConsumer(n *network, i int, addr [4]byte) {
	formatter := clientFormatter("consumer", i)
	for broker, led := range n.cluster.led {
		r := &reader{conn: n.connect(addr, firstPort+uint16(broker), broker, formatter, n.jitter(latency))}
		for j, p := range led {
			if j%n.config.Consumers == i {
				r.partitions = append(r.partitions, p)
			}
		}
		r.req = kmsg.NewPtrFetchRequest()
		r.req.Version = n.config.FetchVersion
		r.req.ReplicaID, r.req.SessionEpoch = -1, -1
		r.req.MaxWaitMillis, r.req.MinBytes, r.req.MaxBytes = fetchWaitMillis, 1, fetchMaxBytes
		r.meet(r.fetch)
	}
}

// fetch asks for what is new, without a session, or ends when there will be nothing more.
func (r *reader) fetch() (time.Duration, bool) {
	if r.network.producing == 0 && !r.behind() {
		return r.close()
	}
	r.req.Topics = r.req.Topics[:0]
	for _, p := range r.partitions {
		partition := kmsg.NewFetchRequestTopicPartition()
		partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = p.index, p.unreadFrom, partitionMaxBytes
		last := len(r.req.Topics) - 1
		if last < 0 || r.req.Topics[last].TopicID != p.topic.id {
			topic := kmsg.NewFetchRequestTopic()
			topic.Topic, topic.TopicID = p.topic.name, p.topic.id
			r.req.Topics = append(r.req.Topics, topic)
			last++
		}
		r.req.Topics[last].Partitions = append(r.req.Topics[last].Partitions, partition)
	}
	return r.request(r.req, r.poll)
}

// behind reports whether there is something to read.
func (r *reader) behind() bool {
	return slices.ContainsFunc(r.partitions, (*partition).behind)
}

// poll waits until there is something to answer.
func (r *reader) poll() (time.Duration, bool) {
	if r.network.producing > 0 && !r.behind() {
		return r.network.jitter(pollAfter), true
	}
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = r.network.config.FetchVersion
	for _, p := range r.partitions {
		last := len(resp.Topics) - 1
		if last < 0 || resp.Topics[last].TopicID != p.topic.id {
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic, topic.TopicID = p.topic.name, p.topic.id
			resp.Topics = append(resp.Topics, topic)
			last++
		}
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.Partition, partition.HighWatermark, partition.LastStableOffset = p.index, p.next, p.next
		partition.RecordBatches = p.take()
		resp.Topics[last].Partitions = append(resp.Topics[last].Partitions, partition)
	}
	return r.respond(resp, func() (time.Duration, bool) { r.act = r.fetch; return r.network.jitter(pollAfter), true })
}
