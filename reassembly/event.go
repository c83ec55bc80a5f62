package reassembly

import (
	"net/netip"

	"github.com/kdupscan/kdupscan/pcap"
)

// StreamOffset is a position in one direction of a TCP connection, in bytes. Offset 0 is the first byte after the SYN, or
// the first byte seen where no SYN was. It is 64 bits wide and does not wrap.
type StreamOffset int64

// ConnID numbers connections. It is unique within one Assembler only.
type ConnID uint64

// Direction says which endpoint sent.
type Direction uint8

// The two directions of a connection.
const (
	FromA Direction = iota // sent by Conn.A
	FromB
)

// Other returns the opposite direction.
func (d Direction) Other() Direction { return d ^ 1 }

// Conn is one TCP connection. A sent the SYN; without a SYN, A sent the first segment seen.
type Conn struct {
	ID      ConnID
	A, B    netip.AddrPort
	First   pcap.Ref // its first frame
	SynSeen bool     // A's SYN (or B's SYN-ACK) was captured, so the stream is seen from its start
	// Base is the TCP sequence number of stream offset 0 per direction, valid where BaseKnown. Two Conns with equal bases
	// and overlapping lifetimes are one connection seen under two address pairs (NAT).
	Base      [2]uint32
	BaseKnown [2]bool
	// State is for the consumer of the events: the reassembler neither reads nor writes it.
	State any
}

// EventKind says what an Event is.
type EventKind uint8

// Kinds of Event.
const (
	Open    EventKind = iota // first sight of a connection
	Data                     // Length bytes at Offset, in order, each byte once
	Gap                      // Length bytes at Offset that the capture lacks; Data goes on at Offset+Length
	Ack                      // the receiver of Dir's bytes has acknowledged all before Offset
	Overlap                  // Length bytes at Offset arrived again; Unequal says whether with other content. The first copy counts
	Finish                   // Dir's sender has sent FIN after Offset; all before it has been delivered
	Close                    // no event of this connection follows
)

// GapReason says why bytes are missing.
type GapReason uint8

// Reasons of a Gap.
const (
	Lost GapReason = iota // no captured packet holds the bytes
	Cut                   // snaplen cut the packet that holds them
)

// CloseReason says how a connection ended.
type CloseReason uint8

// Reasons of a Close.
const (
	ClosedFIN   CloseReason = iota // both sides finished
	ClosedRST                      // reset; Dir is its sender
	Replaced                       // a new connection re-used the ports
	Evicted                        // given up to keep memory bounded
	EndOfInput                     // still open when the capture ended
	ClosedStale                    // not seen for long enough to be forgotten
)

// Event is one step in the life of a connection. Events of one connection come in capture order; in each direction Data
// and Gap events cover the stream without holes or repeats.
type Event struct {
	Kind    EventKind
	Conn    *Conn
	Dir     Direction
	Offset  StreamOffset
	Length  int64
	Data    []byte   // Kind Data: borrowed, valid during the call only
	At      pcap.Ref // Data: the frame that held the bytes. Gap: the frame that holds what follows, or made the loss certain. Else: the frame that caused the event
	Gap     GapReason
	Close   CloseReason
	Unequal bool
}
