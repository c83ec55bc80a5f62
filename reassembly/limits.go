package reassembly

import (
	"time"

	"github.com/kdupscan/kdupscan/pcap"
)

// Limits bound the memory of one Decoder and one Assembler. Start from DefaultLimits; a bound of zero keeps nothing.
// Every bound that is hit is noted.
type Limits struct {
	Connections   int // open connections, at least 1
	HalfOpen      int // connection attempts that have not been answered, at least 1
	Closed        int // closed connections that are remembered, to know repeats of them
	StreamBytes   int // bytes that wait for earlier ones, per direction
	StreamChunks  int // pieces in which they wait
	BufferedBytes int // bytes that wait, in all
	HistoryBytes  int // delivered bytes kept to compare repeats with, in all
	Datagrams     int // IP packets waiting for fragments
	FragmentBytes int // bytes in these
}

// DefaultLimits needs about 300 MiB at worst, for hostile traffic; honest traffic stays below 50 MiB.
func DefaultLimits() Limits {
	return Limits{
		// A large broker host has some ten thousand connections, a tap in front of a cluster ten times as many. About 400
		// bytes each: 100 MiB.
		Connections: 1 << 18,
		// A scan or flood opens any number; an honest host has few unanswered at once.
		HalfOpen: 1 << 14,
		// About 200 bytes each. A second capture point repeats a connection within seconds, not after 65,000 others.
		Closed: 1 << 16,
		// What a sender may have in flight behind one lost segment: Linux lets receive windows grow to 6 MiB.
		StreamBytes: 8 << 20,
		// 8 MiB in segments of 1460 bytes are 5,700; offloading makes fewer, larger ones. Insertion is linear in it.
		StreamChunks: 1 << 13,
		// Sixteen streams at their bound. Only a capture that lost much has several.
		BufferedBytes: 128 << 20,
		// A repeat from a mirror port comes within a few packets, a retransmission within some round trips. Fits in the
		// second-level cache of a server, where copying into it costs least.
		HistoryBytes: 2 << 20,
		// Fragmented TCP is rare: path MTU discovery avoids it.
		Datagrams:     1 << 10,
		FragmentBytes: 16 << 20,
	}
}

const (
	// maxDepth bounds Ethernet and IP headers inside each other. Real stacks (ERSPAN of VXLAN of a VPN) have up to 6.
	maxDepth = 12

	// fragmentTimeout is how long a datagram waits for its fragments: Linux's ipfrag_time.
	fragmentTimeout = pcap.Timestamp(30 * time.Second)
	// fragmentMemory is how long a completed datagram is remembered, so that a mirrored copy of a fragment opens no
	// new one. Short, since the 16-bit identification of IPv4 is soon used again.
	fragmentMemory = pcap.Timestamp(time.Second)

	// reorderSegments and reorderTime say how far apart two swapped frames may stand: segments of the same connection,
	// and capture time, whichever is reached first. Queues of a network card or of two mirrored ports swap frames that
	// left within microseconds of each other; tens of milliseconds cover two capture points of one host. A piece that
	// the receiver has acknowledged and that has not come by then was not captured. The start of a stream without SYN
	// waits as long for an earlier segment.
	reorderSegments = 32
	reorderTime     = pcap.Timestamp(100 * time.Millisecond)

	// lossTimeout ends the wait for a piece that nobody has acknowledged: the network may have lost it, and the sender
	// repeats it after its retransmission timeout (0.2 s at first, doubled each time), so five tries fit.
	lossTimeout = pcap.Timestamp(10 * time.Second)

	// maxWindow is the largest window TCP allows (RFC 7323): a sequence number further away cannot belong here.
	maxWindow = 1 << 30
	// ackSlack is how far an acknowledgement may run ahead of all captured bytes of its stream. One that runs further
	// is not believed until data as far ahead is seen, so that a single forged one cannot skip a stream.
	ackSlack = 16 << 20
	// resetSlack is how far a reset may run ahead of all captured bytes: a window without scaling.
	resetSlack = 1 << 16
	// startSlack is how far before the first captured byte a SYN still belongs to the same connection: what can be
	// sent within reorderSegments.
	startSlack = 1 << 21
	// closedSlack is how far past its end data still belongs to a closed connection: what was in flight at a reset.
	closedSlack = 1 << 20
	// closedPerFlow bounds how many connections of the same two ports are remembered.
	closedPerFlow = 8

	// chunkOverhead is counted for each waiting piece beside its bytes, so that many tiny ones meet the bound as well.
	chunkOverhead = 128
	// historyRecord is the size of delivered segment for which the history has one record: half a small segment.
	historyRecord = 512
	// historySteps bounds the walk back through the history for one repeated segment.
	historySteps = 256

	// staleAfter tells a connection that was forgotten from one that was evicted: Linux probes an idle connection
	// after 2 hours, Kafka closes it after 10 minutes.
	staleAfter = pcap.Timestamp(3 * time.Hour)
)
