package tls

import (
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// Limits bound the memory of one Decrypter. Every bound that is hit is noted.
type Limits struct {
	ConnectionBytes int // ciphertext of one connection that waits for keys
	BufferedBytes   int // that of all connections, and records in progress
}

// DefaultLimits returns the limits for a scan with the default memory budget.
func DefaultLimits() Limits {
	return Limits{
		// What a connection carries in the seconds after which a tool that hooks the peers writes its keys. A key log that
		// is given before the packets needs none of it.
		ConnectionBytes: 4 << 20,
		// Some hundred such connections as they begin, or five thousand records in progress.
		BufferedBytes: 64 << 20,
	}
}

// Decrypter turns the events of TLS connections into those of their plaintext.
type Decrypter struct {
	keys     *Keys
	limits   Limits
	next     func(*reassembly.Event)
	noteTo   func(pcap.Note)
	event    reassembly.Event // the one that is being emitted
	buffered int              // bytes held and pending
	spare    [][]byte         // buffers for records in progress, to be used again
	idle     []*guard         // likewise, of connections that are not TLS
	scratch  [maxBody]byte    // plaintext of the record that is being read
}

// NewDecrypter returns a Decrypter that gives next the events of connections that are not TLS, of plaintext, and of TLS
// without keys. The keys may be added to between events. Both functions are called from within Handle.
func NewDecrypter(keys *Keys, limits Limits, next func(*reassembly.Event), note func(pcap.Note)) *Decrypter {
	return &Decrypter{keys: keys, limits: limits, next: next, noteTo: note}
}

// Handle takes the next event. It keeps its own state in e.Conn.State, and while next runs, what next has put
// there; for good once nothing more is to be known of a connection.
func (d *Decrypter) Handle(e *reassembly.Event) {
	g, ok := e.Conn.State.(*guard)
	if !ok && e.Conn.State != nil { // the receiver's own: guard.leave
		d.next(e)
		return
	}
	if !ok && e.Kind == reassembly.Open {
		d.open(e)
		return
	}
	if !ok {
		g = d.guard()
		e.Conn.State = g
	}
	switch {
	case g.tls != nil:
		g.tls.handle(e)
	case g.passes:
		g.watch(d, e)
		g.forward(d, e)
		g.leave(d, e.Conn)
	default:
		g.recognise(d, e)
	}
}

// open hands on that a connection begins. There is nothing to guard before it is used, and many wait long for that.
func (d *Decrypter) open(e *reassembly.Event) {
	d.next(e)
	if e.Conn.State != nil {
		g := d.guard()
		g.inner, e.Conn.State = e.Conn.State, g
	}
}

// guard returns the state of a connection that begins.
func (d *Decrypter) guard() *guard {
	if n := len(d.idle); n > 0 {
		g := d.idle[n-1]
		d.idle = d.idle[:n-1]
		return g
	}
	return new(guard)
}

// maxSpare and keptBuffer bound what waits for use: a few connections whose records are split over segments at
// once, as long as a record and the largest segment (64 KiB with offloading) make them.
const (
	maxSpare   = 32
	keptBuffer = 128 << 10
)

// buffer returns an empty buffer for a record in progress.
func (d *Decrypter) buffer() []byte {
	if n := len(d.spare); n > 0 {
		b := d.spare[n-1]
		d.spare = d.spare[:n-1]
		return b
	}
	return nil
}

// release takes back a buffer.
func (d *Decrypter) release(b []byte) {
	if cap(b) > 0 && cap(b) <= keptBuffer && len(d.spare) < maxSpare {
		d.spare = append(d.spare, b[:0])
	}
}
