package main

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/reassembly"
	"github.com/kdupscan/kdupscan/reassembly/tls"
)

// budget is the memory that a scan may use, in bytes, split over the packages. Their default limits are made for
// defaultMemory; what grows with the traffic is scaled from there.
type budget int64

// pace is the size of the heap, in bytes, at which garbage is collected next, when so much of it is in use. Below a sixth of the
// budget there is nothing worth the work of a first collection, below a seventh of another one: what was freed leaves its room in
// pieces, and the process is larger than its heap. Above that, a fifth of what is in use may be garbage. Where much more than a
// history is in use, for very many connections, looking through it all costs more than the memory, of which there is enough: three
// quarters of the budget then.
func (b budget) pace(live int64) int64 {
	switch budget := int64(b); {
	case live <= leastHeap:
		return budget / 6
	case live <= budget/6:
		return max(budget/7, live+live/5)
	default:
		return max(budget/4*3, live+live/8)
	}
}

// leastHeap is the size of the heap, in bytes, that Go takes a percentage of when less is in use.
const leastHeap = 4 << 20

// apply makes the garbage collector keep to the budget until release is called.
func (b budget) apply() (release func()) {
	over := new(atomic.Bool)
	debug.SetMemoryLimit(int64(b))
	b.setPace(0, over)
	return func() { // to what Go begins with; scans that run side by side, as tests do, end in any order
		over.Store(true)
		debug.SetMemoryLimit(math.MaxInt64)
		debug.SetGCPercent(100)
	}
}

// setPace sets the pace now, when so much is in use, and again after each collection until it is over.
func (b budget) setPace(live int64, over *atomic.Bool) {
	live = max(live, leastHeap)
	debug.SetGCPercent(int((b.pace(live) - live) * 100 / live))
	unused := new(any) // what the collection finds
	runtime.AddCleanup(unused, func(b budget) {
		if over.Load() {
			return
		}
		heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(heap)
		b.setPace(int64(heap[0].Value.Uint64()), over)
	}, b)
}

// scale returns n's part for one of so many users.
func (b budget) scale(n int64, users int) int64 {
	return max(1, int64(float64(n)*float64(b)/float64(defaultMemory))/int64(users))
}

// history is what the correlator may keep: three parts of 32, up to three times that for very many partitions. With the garbage it
// brings, and all else that ordinary traffic needs, a scan stays at about a quarter of its budget, whatever its length; the rest is for very many connections, and for hostile
// traffic. What may yet be sent again stays in the history however old it is, so a larger one would seldom show more.
func (b budget) history() int64 { return int64(b) / 32 * 3 }

func (b budget) kafka(users int) kafka.Limits {
	l := kafka.DefaultLimits()
	l.MaxBuffered = b.scale(l.MaxBuffered, users)
	return l
}

func (b budget) reassembly(users int) reassembly.Limits {
	l := reassembly.DefaultLimits()
	for _, n := range []*int{&l.Connections, &l.HalfOpen, &l.Closed, &l.BufferedBytes, &l.HistoryBytes, &l.Datagrams, &l.FragmentBytes} {
		*n = int(b.scale(int64(*n), users))
	}
	l.StreamBytes = min(l.StreamBytes, l.BufferedBytes)
	return l
}

func (b budget) tls(users int) tls.Limits {
	l := tls.DefaultLimits()
	l.BufferedBytes = int(b.scale(int64(l.BufferedBytes), users))
	l.ConnectionBytes = min(l.ConnectionBytes, l.BufferedBytes)
	return l
}

// A live run puts what its analysis and its disk have not got to into queues, which come on top of the above: the analysis
// may stand still while a part of the history is dropped, and disks stall.

// queued is how many chunks may wait for the analysis of a live run: a quarter of the memory.
func (b budget) queued() int { return int(b) / 4 / chunkMemory }

// reels is how many runs of packets may wait for the disk: a sixteenth of the memory.
func (b budget) reels() int { return max(2, int(b)/16/reelBytes) }
