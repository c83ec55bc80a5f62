package pcaptest

import (
	"net/netip"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
)

// TCP flags.
const (
	FIN uint8 = 1 << iota
	SYN
	RST
	PSH
	ACK
)

// Side is the sender of a segment.
type Side int

// The two sides of a conversation.
const (
	FromClient Side = iota
	FromServer
)

// Conversation builds the packets of one TCP connection. The exported fields may be changed at any time and hold for the
// packets to come, except the initial sequence numbers, which must be set before the first packet.
type Conversation struct {
	LinkType pcap.LinkType // NULL, EN10MB (the default), RAW, LINUX_SLL, LINUX_SLL2, IPV4 or IPV6
	VLAN     []uint16      // 802.1Q tags of Ethernet frames, outermost first
	SnapLen  int           // captured bytes at most; 0 means all
	MSS      int           // payload bytes in a segment of Client and Server, 1448 by default
	Step     time.Duration // between two packets, 100 µs by default
	ISN      [2]uint32     // initial sequence numbers, by Side

	addr    [2]netip.AddrPort
	next    [2]int64 // stream offset after the last byte sent; FIN counts as a byte
	now     time.Time
	ipID    uint16
	packets []Packet
}

// NewConversation returns an empty conversation whose first packet has the time start. Both addresses must be of one family.
func NewConversation(client, server netip.AddrPort, start time.Time) *Conversation {
	if client.Addr().Is4() != server.Addr().Is4() {
		panic("pcaptest: addresses of different families")
	}
	return &Conversation{
		LinkType: pcap.LinkTypeEthernet,
		MSS:      1448,
		Step:     100 * time.Microsecond,
		ISN:      [2]uint32{1000, 5000},
		addr:     [2]netip.AddrPort{client, server},
		now:      start,
	}
}

// Packets returns the packets so far. The slice is the caller's, the bytes are shared.
func (c *Conversation) Packets() []Packet { return append([]Packet(nil), c.packets...) }

// Now returns the time of the next packet.
func (c *Conversation) Now() time.Time { return c.now }

// Wait moves the time of the next packet.
func (c *Conversation) Wait(d time.Duration) { c.now = c.now.Add(d) }

// Offset returns the stream offset that the side's next byte will have; the first payload byte has offset 0.
func (c *Conversation) Offset(from Side) int64 { return c.next[from] }

// Handshake adds SYN, SYN+ACK and ACK.
func (c *Conversation) Handshake() {
	c.add(FromClient, -1, 0, SYN, nil)
	c.add(FromServer, -1, c.next[FromClient], SYN|ACK, nil)
	c.Ack(FromClient)
}

// Client adds data from the client, in segments of at most MSS bytes, the last one with PSH.
func (c *Conversation) Client(data []byte) { c.send(FromClient, data) }

// Server adds data from the server, as Client does.
func (c *Conversation) Server(data []byte) { c.send(FromServer, data) }

// Ack adds an empty segment that acknowledges all that the other side has sent.
func (c *Conversation) Ack(from Side) { c.AckTo(from, c.next[1-from]) }

// AckTo adds an empty segment that acknowledges the other side's bytes before the stream offset upTo.
func (c *Conversation) AckTo(from Side, upTo int64) { c.add(from, c.next[from], upTo, ACK, nil) }

// FIN adds an empty segment with FIN and ACK.
func (c *Conversation) FIN(from Side) {
	c.add(from, c.next[from], c.next[1-from], FIN|ACK, nil)
	c.next[from]++
}

// RST adds an empty segment with RST and ACK.
func (c *Conversation) RST(from Side) { c.add(from, c.next[from], c.next[1-from], RST|ACK, nil) }

// Segment adds one segment at any stream offset: a retransmission, an overlap, a keep-alive (offset -1), a jump ahead.
// It acknowledges all that the other side has sent. Offset moves on to the end of the payload if that lies further.
func (c *Conversation) Segment(from Side, offset int64, flags uint8, payload []byte) {
	c.add(from, offset, c.next[1-from], flags, payload)
	c.next[from] = max(c.next[from], offset+int64(len(payload)))
}

// Skip moves the side's stream offset on as if n bytes had been sent and not been captured.
func (c *Conversation) Skip(from Side, n int) { c.next[from] += int64(n) }

func (c *Conversation) send(from Side, data []byte) {
	for len(data) > 0 {
		n := min(len(data), c.MSS)
		flags := ACK
		if n == len(data) {
			flags |= PSH
		}
		c.Segment(from, c.next[from], flags, data[:n])
		data = data[n:]
	}
}

// add appends one packet; offset and ack are stream offsets, the byte before offset 0 being the SYN.
func (c *Conversation) add(from Side, offset, ack int64, flags uint8, payload []byte) {
	seq := c.ISN[from] + 1 + uint32(offset)
	var ackNumber uint32
	if flags&ACK != 0 {
		ackNumber = c.ISN[1-from] + 1 + uint32(ack)
	}
	c.ipID++
	segment := tcpSegment(c.addr[from], c.addr[1-from], seq, ackNumber, flags, payload)
	packet := ipPacket(c.addr[from].Addr(), c.addr[1-from].Addr(), c.ipID, segment)
	data := c.link(from, packet)
	p := Packet{Time: c.now, LinkType: c.LinkType, Data: data, Length: len(data)}
	if c.SnapLen > 0 && c.SnapLen < len(data) {
		p.Data = data[:c.SnapLen:c.SnapLen]
	}
	c.packets = append(c.packets, p)
	c.now = c.now.Add(c.Step)
}
