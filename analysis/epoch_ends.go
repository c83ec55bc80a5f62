package analysis

import (
	"net/netip"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// epochEnd is the word of a leader on where the records of a leader epoch end in its log (KIP-101, KIP-320, KIP-595). For the
// leader's own epoch that is the end of the log at that moment, which proves nothing; for an earlier one it is where the first
// later epoch begins, and what another leader had appended behind it under that epoch or an older one has been cut off.
type epochEnd struct {
	server netip.AddrPort
	epoch  int32 // the latest of those that end there
	closed bool  // the answer alone shows that the leader's log has a later epoch
	offset int64 // the first behind it
	first  pcap.Timestamp
	at     pcap.Timestamp
}

// maxEpochEnds bounds the ends kept of one history. Followers and consumers ask when the leader has changed.
const maxEpochEnds = 64

// epochEnded keeps where an epoch ends. A broker names the greatest epoch that its log has up to the one asked for, and no end
// for one above all of them: a smaller epoch than the one asked for shows that a greater one stands behind it.
func (h *history) epochEnded(o *kafka.EpochEnd) {
	epoch := max(o.AskedEpoch, o.LeaderEpoch)
	if o.ErrorCode != 0 || o.EndOffset < 0 || o.EndOffset > maxOffset || epoch < 0 || o.AskedEpoch >= 0 && o.LeaderEpoch > o.AskedEpoch {
		return
	}
	e := epochEnd{h.key.server, epoch, o.LeaderEpoch >= 0 && o.LeaderEpoch < o.AskedEpoch, o.EndOffset, o.First.Time, o.At.Time}
	h.ends = slices.DeleteFunc(h.ends, func(old epochEnd) bool {
		return old.epoch == e.epoch && old.closed == e.closed && old.offset == e.offset // the later answer says more
	})
	h.ends = append(newest(h.ends, maxEpochEnds-1), e)
}

// cutOff reports whether a later leader has said, after the place was last known, that its log has nothing of the place's leader
// epoch there.
func (b *batch) cutOff(pl place) bool {
	if len(b.p.ends) == 0 {
		return false
	}
	seen := pl.sighting
	for _, v := range b.views {
		if seen == nil && v.base == pl.offset {
			seen = v.sighting
		}
	}
	return slices.ContainsFunc(b.p.ends, func(e epochEnd) bool {
		switch {
		case e.offset > pl.offset || pl.at >= e.first:
			return false
		case seen != nil && seen.leaderEpoch >= 0:
			return seen.leaderEpoch <= e.epoch && seen.lastSeen < e.first && (e.closed || b.p.leaderAfter(e) != nil)
		}
		return pl.by != nil && pl.grade < stored && b.p.appendedUpTo(pl.by, e)
	})
}

// leaderAfter returns the leader of the lowest epoch behind one that has ended, as far as it was named before that was said; nil
// for none.
func (p *partition) leaderAfter(e epochEnd) *leaderSeen {
	var next *leaderSeen
	for i := range p.leaders {
		l := &p.leaders[i]
		if l.id < 0 || l.epoch <= e.epoch || l.at.Time >= e.first {
			continue
		}
		if next == nil || l.epoch < next.epoch {
			next = l
		}
	}
	return next
}

// appendedUpTo reports whether what an answer said to be appended was appended under the ended epoch or an older one. An answer
// does not name the epoch: no later one may have been named by then, the very next one must belong to another broker, and
// that other broker must not be who answered. A leader's epoch may also rise while it stays the leader.
func (p *partition) appendedUpTo(s *send, e epochEnd) bool {
	next, server := p.leaderAfter(e), s.sent.Link.Server
	if next == nil || next.epoch != e.epoch+1 || server == e.server {
		return false
	}
	last := leaderSeen{id: -1, epoch: -1}
	for _, l := range p.leaders {
		if l.at.Time >= s.reply().First.Time {
			break
		}
		if l.epoch > e.epoch {
			return false
		}
		if l.id >= 0 && l.epoch >= last.epoch {
			last = l
		}
	}
	if last.epoch < 0 || last.id == next.id {
		return false
	}
	node, known := p.j.c.topics.nodes[server]
	return !known || node != next.id
}
