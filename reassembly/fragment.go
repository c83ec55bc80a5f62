package reassembly

import (
	"container/list"
	"net/netip"
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
)

// fragmentKey says which fragments belong together (RFC 791; RFC 8200, section 4.5). For IPv6 the protocol is the next
// header of the fragment header, which all senders keep equal in all fragments.
type fragmentKey struct {
	src, dst netip.Addr
	id       uint32
	protocol uint8
}

// fragment is one fragment of an IP packet; offset and lengths are in bytes.
type fragment struct {
	key    fragmentKey
	offset int
	more   bool // others follow
	packet packet
}

// datagram is an IP packet that waits for fragments, or was lately completed.
type datagram struct {
	key     fragmentKey
	pieces  []piece // ordered, without overlap
	covered int     // sum of their lengths on the wire
	size    int     // of the whole, 0 while the last fragment is missing
	bytes   int     // of memory
	first   pcap.Ref
	done    bool
}

// piece is a range of a datagram. Data is shorter than the range where snaplen cut it.
type piece struct {
	start, end int
	data       []byte
}

// pieceOverhead is counted for each fragment beside its bytes, so that many tiny ones meet the bound as well.
const pieceOverhead = 64

// fragments holds the datagrams, the oldest first.
type fragments struct {
	note   func(pcap.Note)
	limits Limits
	byKey  map[fragmentKey]*list.Element
	order  list.List
	bytes  int
}

func newFragments(limits Limits, note func(pcap.Note)) fragments {
	return fragments{note: note, limits: limits, byKey: map[fragmentKey]*list.Element{}}
}

// fragment keeps f and decodes the whole packet once it is complete.
func (d *Decoder) fragment(f fragment) {
	end := f.offset + f.packet.wire
	if f.packet.wire == 0 || end > 0xffff || f.more && f.packet.wire%8 != 0 {
		d.report(CodeMalformed, "IP fragment")
		return
	}
	d.fragments.expire(d.frame.Time)
	g := d.fragments.datagram(f.key, d.frame.Ref)
	if g.done {
		return
	}
	if !f.more && g.size == 0 && (len(g.pieces) == 0 || g.pieces[len(g.pieces)-1].end <= end) {
		g.size = end
	}
	if g.size > 0 && end > g.size || !f.more && end != g.size {
		d.report(CodeMalformed, "IP fragments that disagree on the length")
		return
	}
	if added := d.fragments.add(g, f.offset, end, f.packet.data); added > 0 && added < f.packet.wire {
		d.report(CodeFragmentOverlap, "")
	}
	complete := g.size > 0 && g.covered == g.size
	whole := packet{depth: f.packet.depth}
	if complete {
		whole.data, whole.wire = g.join(), g.size
		d.fragments.finish(g, d.frame.Time)
	}
	d.fragments.bound(d.frame.Ref)
	if !complete {
		return
	}
	if f.key.src.Is4() {
		d.transport(f.key.protocol, whole)
	} else {
		d.ip6Headers(f.key.protocol, whole)
	}
}

// datagram returns the datagram of key, a new one where there is none.
func (f *fragments) datagram(key fragmentKey, at pcap.Ref) *datagram {
	if e, ok := f.byKey[key]; ok {
		g := e.Value.(*datagram)
		if !g.done || at.Time-g.first.Time <= fragmentMemory {
			return g
		}
		f.remove(e)
	}
	g := &datagram{key: key, first: at}
	f.byKey[key] = f.order.PushBack(g)
	return g
}

// add copies what data has of the range [start, end) that no earlier fragment covers, and returns how much that is.
func (f *fragments) add(g *datagram, start, end int, data []byte) (added int) {
	own := []byte(nil)
	i, _ := slices.BinarySearchFunc(g.pieces, start, func(p piece, at int) int {
		if p.end <= at {
			return -1
		}
		return 1
	})
	for at := start; at < end; i++ {
		to := end
		if i < len(g.pieces) {
			to = min(to, g.pieces[i].start)
		}
		if to > at {
			if own == nil {
				own = append(make([]byte, 0, len(data)), data...)
				g.bytes += len(own)
				f.bytes += len(own)
			}
			low, high := min(at-start, len(own)), min(to-start, len(own))
			g.pieces = slices.Insert(g.pieces, i, piece{start: at, end: to, data: own[low:high]})
			g.bytes += pieceOverhead
			f.bytes += pieceOverhead
			added += to - at
			i++
		}
		if i >= len(g.pieces) {
			break
		}
		at = max(to, g.pieces[i].end)
	}
	g.covered += added
	return added
}

// join returns the bytes of a complete datagram up to the first that snaplen cut.
func (g *datagram) join() []byte {
	whole := make([]byte, 0, g.size)
	for _, p := range g.pieces {
		whole = append(whole, p.data...)
		if len(p.data) < p.end-p.start {
			break
		}
	}
	return whole
}

// finish frees the bytes of g and remembers it for a while, from now on.
func (f *fragments) finish(g *datagram, now pcap.Timestamp) {
	f.bytes -= g.bytes
	*g = datagram{key: g.key, first: pcap.Ref{Time: now}, done: true}
	f.order.MoveToBack(f.byKey[g.key])
}

// expire drops what is too old at the time now.
func (f *fragments) expire(now pcap.Timestamp) {
	for e := f.order.Front(); e != nil; e = f.order.Front() {
		g, limit := e.Value.(*datagram), fragmentTimeout
		if g.done {
			limit = fragmentMemory
		}
		if now-g.first.Time <= limit {
			return
		}
		if !g.done {
			f.note(pcap.Note{Code: CodeFragmentLost, At: g.first})
		}
		f.remove(e)
	}
}

// bound drops the oldest datagrams while there are too many or they hold too much.
func (f *fragments) bound(at pcap.Ref) {
	for f.order.Len() > f.limits.Datagrams || f.bytes > f.limits.FragmentBytes {
		e := f.order.Front()
		if !e.Value.(*datagram).done {
			f.note(pcap.Note{Code: CodeFragmentLimit, At: at})
		}
		f.remove(e)
	}
}

func (f *fragments) remove(e *list.Element) {
	g := f.order.Remove(e).(*datagram)
	delete(f.byKey, g.key)
	f.bytes -= g.bytes
}
