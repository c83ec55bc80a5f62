package analysis

import (
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
func mergeLegs(sends []*send) []*send {
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
			first.legs = append(first.legs, s)
			continue
		}
		fresh := *s // the history stays as it is
		fresh.legs = nil
		latest[key] = &fresh
		kept = append(kept, &fresh)
	}
	return kept
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
	if sameStream(first.link.Link, s.link.Link) || first.sent.Request.Seq == s.sent.Request.Seq && first.sent.Request.Seq != 0 {
		return true
	}
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
