package analysis

import (
	"net/netip"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// forwardTime is how long a proxy may hold a request before it passes it on and the two are still taken for one. Proxies
// forward within milliseconds; clients wait for an answer far longer before they send again.
const forwardTime = pcap.Timestamp(1e9)

// exchange is what a request keeps when NAT or a proxy carries it over several connections.
type exchange struct {
	correlationID int32
	clientID      string
	crc           uint32
	size          int32
}

// mergeLegs makes one send of a request that was captured on several connections (VERDICTS section 5, 2): NAT keeps the TCP
// sequence numbers; a proxy passes a request on while the first connection still waits for its answer.
func mergeLegs(sends []*send) []*send { return mergeRelayed(mergeSame(sends)) }

// mergeSame merges what has the same correlation id and client id on each connection.
func mergeSame(sends []*send) []*send {
	again := sentAgain(sends)
	if len(again) == 0 {
		return sends
	}
	latest := map[exchange]*send{}
	kept := sends[:0:0]
	for _, s := range sends {
		key, ok := s.exchange()
		if !ok || !again[key] {
			kept = append(kept, s)
			continue
		}
		if first := latest[key]; first != nil && sameExchange(first, s) {
			first.addLeg(s)
			continue
		}
		fresh := *s // the history stays as it is
		fresh.legs = nil
		latest[key] = &fresh
		kept = append(kept, &fresh)
	}
	return kept
}

// addLeg notes that a send was seen on another connection too. What a proxy was answered says nothing of what its client heard.
func (s *send) addLeg(leg *send) {
	if !sameSegment(s, leg) {
		behind := *leg
		behind.acked = pcap.Ref{}
		leg = &behind
	}
	s.legs = append(s.legs, leg)
}

// relayed is a batch that a host received.
type relayed struct {
	host netip.Addr
	crc  uint32
	size int32
}

// mergeRelayed merges what a proxy passed on under a correlation id of its own: the host that received the batch sends the same bytes.
func mergeRelayed(sends []*send) []*send {
	relays := relaysAmong(sends)
	if len(relays) == 0 {
		return sends
	}
	waiting := map[relayed][]*send{}
	kept := sends[:0:0]
	for _, s := range sends {
		from, to := s.link.Client.Addr(), s.link.Server.Addr()
		if !relays[from] && !relays[to] {
			kept = append(kept, s)
			continue
		}
		b := s.sent.Batch
		key := relayed{from, b.CRC, b.Size}
		received := waiting[key]
		for len(received) > 0 && s.sent.First.Time-received[0].sent.First.Time > forwardTime {
			received = received[1:]
		}
		i := slices.IndexFunc(received, func(first *send) bool { return passedOn(first, s) && first.link.Client.Addr() != from })
		first := new(send)
		if i >= 0 {
			first = received[i]
			first.addLeg(s)
			received = received[i+1:] // a proxy keeps the order
		} else {
			*first = *s // the history stays as it is
			first.legs = slices.Clip(s.legs)
			kept = append(kept, first)
		}
		waiting[key] = received
		if relays[to] {
			next := relayed{to, b.CRC, b.Size}
			waiting[next] = append(waiting[next], first)
		}
	}
	return kept
}

// relaysAmong returns the hosts that both received batches and sent some.
func relaysAmong(sends []*send) map[netip.Addr]bool {
	seen := map[*link]bool{}
	senders := map[netip.Addr]bool{}
	for _, s := range sends {
		if !seen[s.link] {
			seen[s.link] = true
			senders[s.link.Client.Addr()] = true
		}
	}
	var relays map[netip.Addr]bool
	for l := range seen {
		if host := l.Server.Addr(); senders[host] && host != l.Client.Addr() {
			if relays == nil {
				relays = map[netip.Addr]bool{}
			}
			relays[host] = true
		}
	}
	return relays
}

func (s *send) exchange() (exchange, bool) {
	r := s.sent.Request
	if r == nil {
		return exchange{}, false
	}
	return exchange{r.CorrelationID, r.ClientID, s.sent.Batch.CRC, s.sent.Batch.Size}, true
}

// sentAgain returns the exchanges that several sends may share.
func sentAgain(sends []*send) map[exchange]bool {
	seen := newFilter(len(sends))
	var again map[exchange]bool
	for _, s := range sends {
		key, ok := s.exchange()
		if !ok || !seen.add(mixed(uint64(key.crc), uint64(key.correlationID)<<32)) {
			continue
		}
		if again == nil {
			again = map[exchange]bool{}
		}
		again[key] = true
	}
	return again
}

func sameExchange(first, s *send) bool {
	if first.link.Link == s.link.Link {
		return false
	}
	return sameSegment(first, s) || passedOn(first, s)
}

// sameSegment reports whether two requests are one piece of one TCP stream, seen under two address pairs.
func sameSegment(first, s *send) bool {
	if sameStream(first.link.Link, s.link.Link) {
		return true
	}
	a, b := first.sent.Request, s.sent.Request
	return a != nil && b != nil && a.Seq == b.Seq && a.Seq != 0
}

// passedOn reports whether s may be what a proxy made of first: to another server, while first still waited for its answer, and
// with the answer that first got in the end.
func passedOn(first, s *send) bool {
	if s.sent.First.Time-first.sent.First.Time > forwardTime || first.link.Server == s.link.Server {
		return false
	}
	if a := first.answer; a != nil && a.At.Time <= s.sent.First.Time {
		return false
	}
	if !first.link.closed.IsZero() && first.link.closed.Time <= s.sent.First.Time {
		return false
	}
	return first.answer == nil || s.answer == nil ||
		first.answer.ErrorCode == s.answer.ErrorCode && first.answer.BaseOffset == s.answer.BaseOffset
}

// sameStream reports whether two connections are one, seen under two address pairs.
func sameStream(a, b *kafka.Link) bool {
	return a.BaseKnown == [2]bool{true, true} && a.BaseKnown == b.BaseKnown && a.Base == b.Base
}
