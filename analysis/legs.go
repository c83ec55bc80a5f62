package analysis

import (
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

// mergeLegs makes one send of a request that was captured on several connections: NAT keeps the TCP
// sequence numbers; a proxy passes a request on while the first connection still waits for its answer.
func mergeLegs(sends []*send) []*send {
	again := sentAgain(sends)
	if len(again) == 0 {
		return sends
	}
	return mergeRelayed(mergeSame(sends, again), again)
}

// mergeSame merges what has the same correlation id and client id on each connection.
func mergeSame(sends []*send, again map[bytesOf]bool) []*send {
	latest := map[exchange]*send{}
	kept := sends[:0:0]
	for _, s := range sends {
		key, ok := s.exchange()
		if !ok || !again[s.bytesOf()] {
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

// mergeRelayed merges what a proxy passed on under a correlation id of its own.
func mergeRelayed(sends []*send, again map[bytesOf]bool) []*send {
	if !slices.ContainsFunc(sends, func(s *send) bool { return s.link.Client.Addr() != sends[0].link.Client.Addr() }) {
		return sends
	}
	waiting := map[bytesOf][]*send{}
	kept := sends[:0:0]
	for _, s := range sends {
		key := s.bytesOf()
		if !again[key] {
			kept = append(kept, s)
			continue
		}
		received := waiting[key]
		for len(received) > 0 && s.sent.First.Time-received[0].sent.First.Time > forwardTime {
			received = received[1:]
		}
		i := slices.IndexFunc(received[:min(len(received), maxRivals)], func(first *send) bool { return relays(first, s) })
		if i >= 0 {
			received[i].addLeg(s)
			waiting[key] = received
			continue
		}
		first := *s // the history stays as it is
		first.legs = slices.Clip(s.legs)
		kept = append(kept, &first)
		waiting[key] = append(received, &first)
	}
	return kept
}

// relays reports whether s is what a proxy made of first: it comes from a host that first was sent to (where that was a loopback
// address, any other address is one of the same host), or the two were told one place in the log.
func relays(first, s *send) bool {
	from := s.link.Client.Addr()
	last := first.all()[len(first.legs)]
	if first.link.Client.Addr() == from || last.link.Client.Addr() == from || !passedOn(first, s) || !passedOn(last, s) {
		return false
	}
	if to := last.link.Server.Addr(); to == from || to.IsLoopback() && !from.IsLoopback() {
		return true
	}
	a, b := last.answer, s.answer
	return a != nil && b != nil && a.ErrorCode == 0 && b.ErrorCode == 0 && a.BaseOffset >= 0 && a.BaseOffset == b.BaseOffset
}

// relayEvents tells how proxies passed a send on, and the end of the connection on which its client waited.
func (b *batch) relayEvents(s *send, number int) []Event {
	var all []Event
	for _, leg := range s.legs {
		if !sameSegment(s, leg) {
			all = append(all, b.requestEvent(leg, number))
		}
	}
	if at, lost := s.link.lost(); lost && len(all) > 0 && s.answer == nil && s.reply() != nil && s.sent.Acks != 0 {
		all = append(all, b.event(EventConnectionLost, positionOf(s.link, at), number))
	}
	return all
}

// bytesOf tells batches of equal bytes from others.
type bytesOf struct {
	crc  uint32
	size int32
}

func (s *send) bytesOf() bytesOf { return bytesOf{s.sent.Batch.CRC, s.sent.Batch.Size} }

// sentAgain returns the bytes that several sends may share: nothing, nearly always.
func sentAgain(sends []*send) map[bytesOf]bool {
	if len(sends) < 2 {
		return nil
	}
	all := func(yield func(bytesOf) bool) {
		for _, s := range sends {
			if !yield(s.bytesOf()) {
				return
			}
		}
	}
	return metAgain(len(sends), all, func(key bytesOf) kafka.Fingerprint { return mixed(uint64(key.crc), uint64(key.size)<<32) })
}

func (s *send) exchange() (exchange, bool) {
	r := s.sent.Request
	if r == nil {
		return exchange{}, false
	}
	return exchange{r.CorrelationID, r.ClientID, s.sent.Batch.CRC, s.sent.Batch.Size}, true
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
