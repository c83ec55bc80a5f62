package traffic

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// cluster is what the brokers hold.
type cluster struct {
	topics       []topic
	partitions   []*partition   // of all topics
	led          [][]*partition // by broker
	keep         bool           // there are consumers, so the bytes of batches are kept for them
	acknowledged int64          // answers OK to batches that were stored then
}

type topic struct {
	name       string
	id         [16]byte
	partitions []*partition
}

// partition is one partition at its leader.
type partition struct {
	topic       *topic
	index       int32
	broker      int
	leaderEpoch int32
	next        int64  // offset of the next record
	log         []byte // batches for the consumers
	read        int    // how much of log has been read
	unreadFrom  int64  // offset of the first record that has not
}

func newCluster(c *Config) *cluster {
	k := &cluster{topics: make([]topic, c.Topics), led: make([][]*partition, c.Brokers), keep: c.Consumers > 0}
	for i := range k.topics {
		t := &k.topics[i]
		t.name = fmt.Sprintf("topic-%04d", i)
		t.id = topicID(t.name)
		for index := range c.Partitions {
			p := &partition{topic: t, index: int32(index), broker: len(k.partitions) % c.Brokers, leaderEpoch: 1}
			p.next = int64(len(k.partitions)+1) * 1000 // the topics are older than the capture
			p.unreadFrom = p.next
			t.partitions = append(t.partitions, p)
			k.partitions = append(k.partitions, p)
			k.led[p.broker] = append(k.led[p.broker], p)
		}
	}
	return k
}

// topicID returns an id for the name in the form of a version 4 UUID.
func topicID(name string) [16]byte {
	sum := sha256.Sum256([]byte(name))
	id := [16]byte(sum[:16])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// append stores b and returns its offset.
func (k *cluster) append(b *batch) int64 {
	p := b.to
	offset := p.next
	p.next += int64(b.records)
	if k.keep {
		if !p.behind() {
			p.log, p.read = p.log[:0], 0
		}
		at := len(p.log)
		p.log = append(p.log, b.data...)
		binary.BigEndian.PutUint64(p.log[at:], uint64(offset))
		binary.BigEndian.PutUint32(p.log[at+12:], uint32(p.leaderEpoch))
	}
	return offset
}

// partitionMaxBytes is what a consumer takes of a partition at once, the default of Java's.
const partitionMaxBytes = 1 << 20

// behind reports whether there is something that no one has read.
func (p *partition) behind() bool { return p.read < len(p.log) }

// take returns what is next to be read. The bytes are valid until the next append to p.
func (p *partition) take() []byte {
	from := p.read
	for p.behind() {
		b := p.log[p.read:]
		length := int(binary.BigEndian.Uint32(b[8:])) + 12
		if p.read > from && p.read+length-from > partitionMaxBytes {
			break
		}
		p.unreadFrom += int64(binary.BigEndian.Uint32(b[23:])) + 1
		p.read += length
	}
	return p.log[from:p.read]
}

// metadata names all brokers and partitions.
func (k *cluster) metadata() *kmsg.MetadataResponse {
	resp := kmsg.NewPtrMetadataResponse()
	resp.ClusterID = kmsg.StringPtr("cluster-a")
	resp.ControllerID = 1
	for i := range k.led {
		b := kmsg.NewMetadataResponseBroker()
		b.NodeID, b.Port = int32(i+1), brokerPort
		b.Host = fmt.Sprintf("10.0.0.%d", i+1)
		resp.Brokers = append(resp.Brokers, b)
	}
	for i := range k.topics {
		t := kmsg.NewMetadataResponseTopic()
		t.Topic, t.TopicID = &k.topics[i].name, k.topics[i].id
		for _, p := range k.topics[i].partitions {
			named := kmsg.NewMetadataResponseTopicPartition()
			named.Partition, named.Leader, named.LeaderEpoch = p.index, int32(p.broker+1), p.leaderEpoch
			named.Replicas, named.ISR = []int32{named.Leader}, []int32{named.Leader}
			t.Partitions = append(t.Partitions, named)
		}
		resp.Topics = append(resp.Topics, t)
	}
	return resp
}
