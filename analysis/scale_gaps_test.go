package analysis

import (
	"net/netip"

	"github.com/kdupscan/kdupscan/kafka"
)

func (c *capture) gap(fromClient bool) {
	c.all = append(c.all, &kafka.GapSeen{Seen: c.seen(), FromClient: fromClient, Bytes: 100, Hidden: true})
}

// moveTo opens the next connection from another host.
func (c *capture) moveTo(host int) {
	c.connect()
	c.link.Client = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(host >> 16), byte(host >> 8), byte(host)}), c.link.Client.Port())
}

// bumpAround has a batch of another partition come again under the next epoch, and something else happen in between.
func (c *capture) bumpAround(do func()) int {
	c.answer(c.send(1, c.batch(7, 0, 0, 5)), 7, 0)
	do()
	c.answer(c.send(1, c.batch(7, 1, 0, 5)), 0, 1)
	return 1
}

// scaleOfTrouble are histories with many gaps, errors and epochs: what is looked up for each of them must not take all of them.
var scaleOfTrouble = []scaleHistory{
	{"too large", func(c *capture, n int) int {
		return c.bumpAround(func() {
			for i := range n {
				c.answer(c.send(0, c.batch(7, 0, int32(2*i), 0)), 10, -1)
			}
		})
	}},
	{"given up", func(c *capture, n int) int {
		return c.bumpAround(func() {
			for i := range n {
				c.answer(c.send(0, c.batch(7, 0, int32(2*i), 0)), 6, -1)
			}
		})
	}},
	{"refused, then bumped, after gaps on as many connections", func(c *capture, n int) int {
		first := c.content
		for i := range n {
			c.answer(c.send(0, c.batch(7, 0, int32(i+1), 0)), 6, -1)
			c.gap(false)
			c.lose()
		}
		for i := range n {
			c.answer(c.send(0, c.batch(7, 1, int32(i), 1<<40+first+uint64(i)+1)), 0, int64(n+i))
		}
		return n
	}},
	{"blind retries over connections with gaps", func(c *capture, n int) int {
		for i := range n {
			b := c.batch(-1, -1, -1, 0)
			c.send(0, b)
			c.gap(true)
			c.lose()
			c.answer(c.send(0, b), 0, int64(2*i+1))
		}
		return n
	}},
	{"blind retries of as many clients with gaps", func(c *capture, n int) int {
		for i := range n {
			b := c.batch(-1, -1, -1, 0)
			c.moveTo(i)
			c.send(0, b)
			c.gap(true)
			c.lose()
			c.moveTo(i)
			c.answer(c.send(0, b), 0, int64(2*i+1))
		}
		return n
	}},
	{"fetched only, of two producers, by as many writers with gaps", func(c *capture, n int) int {
		for i := range n {
			c.moveTo(i)
			c.send(1, c.batch(int64(3*n+i), 0, 0, 0))
			c.gap(true)
			a := c.batch(int64(2*i), 0, 0, 0)
			c.fetch(0, int64(2*i), a)
			c.fetch(0, int64(2*i+1), c.batch(int64(2*i+1), 0, 0, a.Records[0].Content.Hi))
		}
		return n
	}},
	{"from one epoch to as many others", func(c *capture, n int) int {
		n = min(n, 32767)
		first := c.content
		for i := range n {
			c.answer(c.send(0, c.batch(7, 0, int32(i), 0)), 20, int64(i))
		}
		for i := range n {
			c.answer(c.send(0, c.batch(7, int16(i+1), 0, 1<<40+first+uint64(i)+1)), 0, int64(n+i))
		}
		return n
	}},
	{"from as many epochs to one", func(c *capture, n int) int {
		n = min(n, 32767)
		first := c.content
		for i := range n {
			c.answer(c.send(0, c.batch(7, int16(i), 0, 0)), 20, int64(i))
		}
		for i := range n {
			c.answer(c.send(0, c.batch(7, 32767, int32(i), 1<<40+first+uint64(i)+1)), 0, int64(n+i))
		}
		return n
	}},
	{"a bump of each producer over all epochs", func(c *capture, n int) int {
		for i := range n {
			b := c.batch(int64(i), 0, 0, 0)
			c.answer(c.send(0, b), 20, int64(2*i))
			c.answer(c.send(0, c.batch(int64(i), 32767, 0, b.Records[0].Content.Hi)), 0, int64(2*i+1))
		}
		return n
	}},
	{"sent again to the next leader, beside batches that it never answered", func(c *capture, n int) int {
		first := c.content
		for i := range n {
			c.answer(c.send(0, c.batch(-1, -1, -1, 0)), 7, int64(i))
		}
		next := netip.MustParseAddrPort("10.9.0.2:9092")
		c.connect()
		c.link.Server = next
		for range n {
			c.send(0, c.batch(-1, -1, -1, 0))
		}
		c.connect()
		c.link.Server = next
		for i := range n {
			c.answer(c.send(0, c.batch(-1, -1, -1, 1<<40+first+uint64(i)+1)), 0, int64(n+i))
		}
		return n
	}},
	{"one batch that times out at another offset each time", func(c *capture, n int) int {
		b := c.batch(7, 0, 0, 0)
		for i := range n {
			c.answer(c.send(0, b), 7, int64(i))
		}
		return 0
	}},
	{"transactions of two producers at a reader", func(c *capture, n int) int {
		n = min(n, maxEnds/2) // of which all markers are kept
		for i := range 2 * n {
			b := c.batch(int64(7+i/n), 0, int32(i), uint64(i%n)+1)
			b.Attributes = 0x10
			c.fetch(0, int64(2*i), b)
			marker := c.batch(b.ProducerID, 0, -1, 0)
			marker.Attributes, marker.Marker = 0x30, kafka.CommitMarker
			c.fetch(0, int64(2*i+1), marker)
		}
		return n
	}},
}
