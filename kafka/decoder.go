package kafka

import (
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// Decoder turns the events of TCP connections into observations.
type Decoder struct {
	limits   Limits
	emit     func(Observation)
	noteTo   func(pcap.Note)
	messages func(*Message) // nil unless asked for
	stats    Stats
	batches  *BatchReader
	names    map[string]string
	work     []chunk       // bytes that the stream in hand has to take, the next ones last; empty between events
	spare    []*partial    // messages that are finished, to be used again
	idle     []*recogniser // likewise, of connections that are known
	buffered int64         // bytes in unfinished messages

	// What the batch being read belongs to. The functions are made once, so that reading a batch allocates nothing for them.
	sent        BatchSent
	fetched     *PartitionFetched
	current     *conn
	currentAt   pcap.Ref
	emitSent    func(*Batch)
	emitFetched func(*Batch)
	noteBatch   func(code pcap.Code, detail string)
}

// NewDecoder returns a Decoder that gives emit every observation and note every oddity, both from within Handle.
func NewDecoder(o Options, emit func(Observation), note func(pcap.Note)) *Decoder {
	d := &Decoder{limits: o.Limits, emit: emit, noteTo: note, messages: o.Messages, batches: NewBatchReader(o), names: map[string]string{}}
	d.stats.APIs = map[API]*APIStats{}
	d.emitSent, d.emitFetched, d.noteBatch = d.batchSent, d.batchFetched, d.batchNote
	return d
}

// Stats returns the counts so far. They belong to the Decoder and change with the next Handle.
func (d *Decoder) Stats() *Stats { return &d.stats }

// ignored is the state of a connection that carries no Kafka or is closed.
type ignored struct{}

// Handle takes the next event. It keeps its state in e.Conn.State and borrows e.Data for the call.
func (d *Decoder) Handle(e *reassembly.Event) {
	switch state := e.Conn.State.(type) {
	case nil:
		if e.Kind == reassembly.Open {
			return // many a connection is opened long before it is used
		}
		c := newConn(d, e.Conn)
		e.Conn.State = c
		c.handle(e)
	case *conn:
		state.handle(e)
	}
}

// api returns the counts of an API version.
func (d *Decoder) api(key, version int16) *APIStats {
	api := API{key, version}
	n := d.stats.APIs[api]
	if n == nil {
		n = &APIStats{}
		d.stats.APIs[api] = n
	}
	return n
}

func (d *Decoder) countRecords(b *Batch) {
	if b.NotCompared == Compared {
		d.stats.Records += int64(len(b.Records))
	} else {
		d.stats.RecordsNotCompared += int64(max(b.RecordCount, 0))
	}
}

// maxNames and maxName bound the names that are kept to be shared. Clusters have some ten thousand topics at most, whose names
// have up to 249 bytes; a stream of invented names must not fill the memory.
const (
	maxNames = 50_000
	maxName  = 256
)

// intern returns b as a string that equal names share.
func (d *Decoder) intern(b []byte) string {
	if s, ok := d.names[string(b)]; ok {
		return s
	}
	if len(b) > maxName {
		return string(b)
	}
	if len(d.names) >= maxNames {
		clear(d.names)
	}
	s := string(b)
	d.names[s] = s
	return s
}

// topic returns the topic that a walk is at.
func (d *Decoder) topic(w *topicWalk) Topic {
	if w.byID {
		return Topic{ID: w.id}
	}
	return Topic{Name: d.intern(w.name)}
}

// maxSpare and keptBuffer bound the memory of messages that wait for use: a few producers that send batches of the default
// maximum of 1 MiB at once.
const (
	maxSpare   = 8
	keptBuffer = 2 << 20
)

// partial returns an empty message, perhaps with a buffer.
func (d *Decoder) partial() *partial {
	if n := len(d.spare); n > 0 {
		p := d.spare[n-1]
		d.spare = d.spare[:n-1]
		return p
	}
	return new(partial)
}

// recycle takes back a message that is finished.
func (d *Decoder) recycle(p *partial) {
	if cap(p.kept) <= keptBuffer && len(d.spare) < maxSpare {
		*p = partial{kept: p.kept[:0]}
		d.spare = append(d.spare, p)
	}
}
