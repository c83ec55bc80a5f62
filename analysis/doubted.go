package analysis

import (
	"net/netip"
	"slices"
	"sort"

	"github.com/kdupscan/kdupscan/pcap"
)

// An answer gives a copy its place. Where the capture has gaps, what undoes that place may be hidden in them.

// doubted reports whether the capture may hide that a first copy does not stand where an answer placed it.
func (p *partition) doubted(first, last copyOf) bool {
	return p.displaced(first, last) || p.givenToUnasked(first) || p.overtaken(first) || p.takenForAnother(first)
}

// displaced reports whether another batch may have taken a copy's place at the next leader: it was sent there before the last copy, there
// is no room for it between the two, and the capture may hide its answer, or hides the batch too.
func (p *partition) displaced(first, last copyOf) bool {
	f, l := first.b, last.b
	if len(f.sends) == 0 || len(l.sends) == 0 || first.fate.offset == NoOffset || last.fate.offset <= first.fate.offset {
		return false
	}
	server := l.appendedBy().link.Server
	if f.appendedBy().link.Server == server {
		return false
	}
	var room int64
	for _, h := range p.holes(p.known().standing, first.fate.offset+int64(f.count()), last.fate.offset) {
		room += h.to - h.from
	}
	if room == 0 && p.batchesHidden(f, l, server, first.fate.last) {
		return true
	}
	open := p.answersHidden()
	open = open[sort.Search(len(open), func(i int) bool { return open[i].first.Time > first.fate.last }):]
	return slices.ContainsFunc(open[:min(len(open), maxRivals)], func(o *batch) bool {
		return o != f && o != l && o.first.Time < l.first.Time && o.sends[0].link.Server == server && int64(o.count()) > room
	})
}

// batchesHidden reports whether gaps may hide batches that went to a server from a time on until l: of other clients, or of l's own where its
// sequences do not rule that out.
func (p *partition) batchesHidden(f, l *batch, server netip.AddrPort, from pcap.Timestamp) bool {
	gaps := p.j.serversGaps[server]
	gaps = gaps[sort.Search(len(gaps), func(i int) bool { return gaps[i].at >= from }):]
	own, _ := l.client()
	return slices.ContainsFunc(gaps[:min(len(gaps), maxRivals)], func(g requestGap) bool {
		return g.at <= l.first.Time && (g.of != own || !sequencesSeen(f, l))
	})
}

// overtaken reports whether a later leader's records were read below a copy that only its leader's answer places. Leader epochs rise along a
// log, so that one was cut off, unless its leader's epoch had risen unseen by then: what stood there before would tell, and a gap may hide it.
func (p *partition) overtaken(first copyOf) bool {
	if first.fate.grade != appended || first.fate.source == OffsetFromFetch {
		return false
	}
	epoch, server := p.leaderEpochAt(first.b), first.b.appendedBy().link.Server
	n := sort.Search(len(p.sightings), func(i int) bool { return p.sightings[i].batch.BaseOffset > first.fate.offset })
	return epoch >= 0 && slices.ContainsFunc(p.sightings[max(0, n-maxRivals):n], func(s *sighting) bool {
		return s.leaderEpoch > epoch && s.link.Server != server && s.firstSight() > first.fate.last
	}) && p.messagesHidden()
}

// messagesHidden reports whether a gap may hide what was sent to the partition or read from it.
func (p *partition) messagesHidden() bool {
	if !p.lossKnown {
		p.lossKnown = true
		hides := func(l *link) bool { return slices.ContainsFunc(l.gaps, func(g gap) bool { return g.hidden }) }
		p.lossy = slices.ContainsFunc(p.sends, func(s *send) bool { return hides(s.link) }) ||
			slices.ContainsFunc(p.sightings, func(s *sighting) bool { return hides(s.link) })
	}
	return p.lossy
}

// takenForAnother reports whether a leader may have taken a copy for another batch with its sequences and answered with that one's place: it
// recognised a retry, and of what came before under these sequences the capture shows other content, or hides it.
func (p *partition) takenForAnother(first copyOf) bool {
	b := first.b
	if first.fate.source != OffsetFromAnswer || !b.idempotent() {
		return false
	}
	s := b.appendedBy()
	if s != b.sends[0] || !b.isRetryAnswer(s, s.reply()) {
		return false
	}
	for rival, n := b.rival, 0; rival != nil && n < maxRivals; rival, n = rival.rival, n+1 {
		if before(rival, b) && len(rival.sends) > 0 && !rival.named() && !rival.allRefused() {
			return true
		}
	}
	since := pcap.Timestamp(0)
	if o := b.predecessor(); o != nil {
		since = o.first.Time
	}
	return p.j.requestGapOf(b, since, s.sent.First.Time)
}
