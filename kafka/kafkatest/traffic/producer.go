package traffic

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	allAcks       = -1
	timeoutMillis = 30000
	// rate is how many bytes the producers send in a second together: a third of what the link carries.
	rate = 400e6
	// spread is how many partitions a producer writes at each broker.
	spread = 4
	// retryAfter is how long a client waits after an error.
	retryAfter = 100 * time.Millisecond
)

// producer is a client that writes; it has a connection to each broker.
type producer struct {
	id    int64 // -1 none
	epoch int16
	fault *fault // in progress: a client has one at a time, or the epochs of two would mix
}

// target is a partition as one producer writes it.
type target struct {
	*partition
	epoch    int16
	sequence int32
}

// writer is one connection of a producer.
type writer struct {
	*conn
	producer *producer
	targets  []target
	pause    time.Duration
	script   []attempt // what is to be sent before anything new
	current  attempt
	req      *kmsg.ProduceRequest
}

// attempt is one Produce request of one batch, and what the broker makes of it.
type attempt struct {
	batch  *batch
	before func()        // called when it is sent, may be nil
	wait   time.Duration // after the answer before it
	answer answer
	offset *int64 // where a fault learns at which offset the batch is stored, may be nil
	keep   bool   // belongs to a fault
	last   bool   // the last attempt for the batch
}

// answer says what a broker does with a batch. The zero value stores it and says so.
type answer struct {
	code   int16
	stored bool   // despite of the error
	known  *int64 // the offset at which it is stored already
}

func newProducer(n *network, i int, addr [4]byte) {
	p := &producer{id: -1, epoch: -1}
	if float64(i) < n.config.Idempotent*float64(n.config.Producers) {
		p.id, p.epoch = int64(i+1)*1000, 0
	}
	formatter := clientFormatter("producer", i)
	batchBytes := float64(n.config.RecordBytes * n.config.BatchRecords)
	connections := n.config.Producers * n.config.Brokers
	pause := time.Duration(batchBytes * float64(connections) / rate * float64(time.Second))
	for broker, led := range n.cluster.led {
		at := time.Duration(n.random.Int64N(int64(pause + latency)))
		if i == 0 && broker == 0 {
			at = 0
		}
		w := &writer{
			conn:     n.connect(addr, firstPort+uint16(broker), broker, formatter, at),
			producer: p, pause: pause,
		}
		for j := range min(spread, len(led)) {
			w.targets = append(w.targets, target{partition: led[(i*spread+j)%len(led)], epoch: p.epoch})
		}
		n.producing++
		w.begin(i == 0 && broker == 0, broker == 0 && p.id >= 0)
	}
}

// begin opens the connection; the first one of all asks for the cluster, the first one of a producer for its id.
func (w *writer) begin(first, initialise bool) {
	next := w.write
	if initialise {
		next = func() (time.Duration, bool) { return w.initialise(w.write) }
	}
	if first {
		after := next
		next = func() (time.Duration, bool) { return w.learn(after) }
	}
	w.meet(next)
}

func (w *writer) initialise(next func() (time.Duration, bool)) (time.Duration, bool) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = 4
	return w.request(req, func() (time.Duration, bool) {
		resp := kmsg.NewPtrInitProducerIDResponse()
		resp.Version, resp.ProducerID, resp.ProducerEpoch = 4, w.producer.id, 0
		return w.respond(resp, next)
	})
}

// write sends the next batch.
func (w *writer) write() (time.Duration, bool) {
	n := w.network
	if len(w.script) == 0 {
		if n.closing() {
			n.producing--
			return w.close()
		}
		w.script = n.faults.next(w)
	}
	if len(w.script) == 0 {
		t := &w.targets[n.random.IntN(len(w.targets))]
		w.script = append(w.script, attempt{batch: w.fresh(t), last: true})
	}
	w.current = w.script[0]
	w.script = w.script[1:]
	if w.current.before != nil {
		w.current.before()
	}
	w.keep = w.current.keep
	return w.request(w.produce(w.current.batch), w.answered)
}

// fresh makes a batch of new records for t under the next sequences.
func (w *writer) fresh(t *target) *batch {
	b := w.network.encoder.batch(t.partition, w.network.now())
	w.identify(b, t)
	return b
}

// identify gives b the next sequences of the current epoch.
func (w *writer) identify(b *batch, t *target) {
	if w.producer.id < 0 {
		b.seal(w.network.config.Codec, -1, -1, -1)
		return
	}
	if t.epoch != w.producer.epoch {
		t.epoch, t.sequence = w.producer.epoch, 0
	}
	b.seal(w.network.config.Codec, w.producer.id, t.epoch, t.sequence)
	t.sequence = int32((int64(t.sequence) + int64(b.records)) & (1<<31 - 1))
}

func (w *writer) produce(b *batch) *kmsg.ProduceRequest {
	if w.req == nil {
		partition := kmsg.NewProduceRequestTopicPartition()
		topic := kmsg.NewProduceRequestTopic()
		topic.Partitions = append(topic.Partitions, partition)
		w.req = kmsg.NewPtrProduceRequest()
		w.req.Version, w.req.Acks, w.req.TimeoutMillis = w.network.config.ProduceVersion, allAcks, timeoutMillis
		w.req.Topics = append(w.req.Topics, topic)
	}
	topic := &w.req.Topics[0]
	topic.Topic, topic.TopicID = b.to.topic.name, b.to.topic.id
	topic.Partitions[0].Partition, topic.Partitions[0].Records = b.to.index, b.data
	return w.req
}

// answered stores the batch, or not, and answers.
func (w *writer) answered() (time.Duration, bool) {
	n, a := w.network, &w.current
	partition := kmsg.NewProduceResponseTopicPartition()
	partition.Partition = a.batch.to.index
	partition.ErrorCode, partition.BaseOffset, partition.LogAppendTime = a.answer.code, -1, -1
	switch {
	case a.answer.known != nil: // the largest timestamp marks a batch that was recognised, on topics with CreateTime too
		partition.BaseOffset, partition.LogAppendTime = *a.answer.known, a.batch.latest
		n.repeated++
	case a.answer.code == 0:
		partition.BaseOffset = n.cluster.append(a.batch)
		n.cluster.acknowledged++
	case a.answer.stored:
		partition.BaseOffset = n.cluster.append(a.batch)
	default:
		a.batch.to.leaderEpoch++ // a leader that refuses has just come or gone
		n.refused++
	}
	if a.offset != nil {
		*a.offset = partition.BaseOffset
	}
	if a.last {
		n.encoder.release(a.batch)
	}
	if a.keep && len(w.script) == 0 {
		w.producer.fault = nil
	}
	topic := kmsg.NewProduceResponseTopic()
	topic.Topic, topic.TopicID = a.batch.to.topic.name, a.batch.to.topic.id
	topic.Partitions = append(topic.Partitions, partition)
	resp := kmsg.NewPtrProduceResponse()
	resp.Version = n.config.ProduceVersion
	resp.Topics = append(resp.Topics, topic)
	return w.respond(resp, w.rest)
}

// rest waits for the next batch to be due.
func (w *writer) rest() (time.Duration, bool) {
	w.act = w.write
	switch {
	case len(w.script) > 0:
		return w.script[0].wait, true
	case w.network.closing():
		return 0, true
	}
	return w.network.jitter(w.pause), true
}
