package traffic

import (
	"container/heap"
	"io"
	"math/rand/v2"
	"time"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
)

// Write writes the capture that c asks for and returns its truth. The error is that of w, or says what is wrong with c.
func Write(w io.Writer, c Config) (kafkatest.Truth, error) {
	if err := c.check(); err != nil {
		return kafkatest.Truth{}, err
	}
	n, err := newNetwork(w, &c)
	if err != nil {
		return kafkatest.Truth{}, err
	}
	n.run()
	return n.truth(), n.link.close()
}

// network is all that takes part: who acts next is at the top of the heap.
type network struct {
	config  *Config
	link    *link
	encoder *batchEncoder
	random  *rand.Rand
	cluster *cluster
	acting  actors
	faults  faults
	buffers [][]byte // of messages that have arrived

	producing int   // connections of producers that are not closed
	refused   int64 // answers with an error and no offset
	repeated  int64 // answers to batches that were stored already
}

func newNetwork(w io.Writer, c *Config) (*network, error) {
	encoder, err := newBatchEncoder(c)
	if err != nil {
		return nil, err
	}
	n := &network{
		config: c, link: newLink(w, c), encoder: encoder, cluster: newCluster(c),
		random: rand.New(rand.NewPCG(c.Seed, 0x6e657477)),
	}
	n.faults = newFaults(c)
	for i := range c.Producers {
		newProducer(n, i, [4]byte{10, 1, byte(i >> 8), byte(i)})
	}
	for i := range c.Consumers {
		newConsumer(n, i, [4]byte{10, 2, byte(i >> 8), byte(i)})
	}
	heap.Init(&n.acting)
	return n, nil
}

func (n *network) run() {
	for len(n.acting) > 0 && n.link.err == nil {
		c := n.acting[0]
		n.link.now = max(n.link.now, c.at)
		wait, open := c.act()
		if !open {
			heap.Pop(&n.acting)
			continue
		}
		c.at = n.link.now + wait
		heap.Fix(&n.acting, 0)
	}
}

// closing reports whether clients are to stop.
func (n *network) closing() bool { return n.link.written >= n.config.Size }

// now is the time of day.
func (n *network) now() time.Time { return start.Add(n.link.now) }

// jitter returns a duration around d.
func (n *network) jitter(d time.Duration) time.Duration {
	return d/2 + time.Duration(n.random.Int64N(int64(d)))
}

func (n *network) truth() kafkatest.Truth {
	t := kafkatest.Truth{Duplicates: n.faults.duplicates()}
	if n.config.Lost == 0 { // else some were not captured
		t.Counts = map[string]int64{"appended": n.cluster.acknowledged, "rejected": n.refused, "deduplicated": n.repeated}
	}
	return t
}

// actors are open connections by the time at which they act next.
type actors []*conn

func (a actors) Len() int           { return len(a) }
func (a actors) Less(i, j int) bool { return a[i].at < a[j].at }
func (a actors) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *actors) Push(c any)        { *a = append(*a, c.(*conn)) }
func (a *actors) Pop() any {
	last := len(*a) - 1
	c := (*a)[last]
	*a = (*a)[:last]
	return c
}
