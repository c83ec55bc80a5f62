package analysis

import "github.com/kdupscan/kdupscan/kafka"

// parts says which histories make up which partition, for as long as names mean what they meant: nearly always they do, and there are
// many partitions.
type parts struct {
	version int // of the topics it was made from
	divided int // histories, in order, that are in it
	all     []part
	index   map[partitionKey]int
	mixed   []*history // of names that had several lives: what of them belongs where is a matter of time
}

// part is one partition: at several servers, or under its name and its id.
type part struct {
	key       partitionKey
	cluster   string
	topic     kafka.Topic
	number    int32
	histories []*history
}

// divide brings the parts up to date.
func (c *Correlator) divide() {
	if c.parts.version != c.topics.version {
		c.parts = parts{version: c.topics.version, index: map[partitionKey]int{}}
	}
	d := &c.parts
	for _, h := range c.inOrder[d.divided:] {
		if !c.topics.livesOnce(h.key.topic) {
			d.mixed = append(d.mixed, h)
			continue
		}
		cluster := c.topics.cluster(h.key.server, h.key.topic)
		topic := c.topics.resolve(cluster, h.key.topic, 0)
		key := c.topics.keyOf(cluster, topic, h.key.partition, 0)
		i, known := d.index[key]
		if !known {
			i = len(d.all)
			d.index[key] = i
			d.all = append(d.all, part{key: key, cluster: cluster, topic: topic, number: h.key.partition})
		}
		p := &d.all[i]
		p.histories = append(p.histories, h)
		if p.topic.Name == "" {
			p.topic.Name = topic.Name
		}
	}
	d.divided = len(c.inOrder)
}
