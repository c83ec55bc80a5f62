package analysis

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
)

// unseen is when messages may have passed in gaps of the capture, in order of time.
type unseen struct {
	messages []pcap.Timestamp // of either side
	requests []pcap.Timestamp
}

// requestGap is when a Produce request of a client may have passed in a gap.
type requestGap struct {
	at pcap.Timestamp
	of client
}

// minProduce is the size of the smallest Produce request: of version 0, without a client id, with one empty message for a topic
// of one letter. A smaller gap hides none.
const minProduce = 65

// findGaps sorts the gaps by the clients of their connections, those of writers by their addresses, and those that may hide Produce requests by servers.
func (j *judgement) findGaps() {
	j.gaps, j.writersGaps, j.serversGaps = map[client]unseen{}, map[netip.Addr][]pcap.Timestamp{}, map[netip.AddrPort][]requestGap{}
	for _, l := range j.c.gapped {
		cl := l.client()
		of, writes := j.gaps[cl], j.writersGaps[cl.addr]
		for _, g := range l.gaps {
			if !g.hidden {
				continue
			}
			of.messages = append(of.messages, g.at.Time)
			if !g.fromClient {
				continue
			}
			of.requests = append(of.requests, g.at.Time)
			if g.bytes >= minProduce {
				j.serversGaps[l.Server] = append(j.serversGaps[l.Server], requestGap{g.at.Time, cl})
			}
			if l.writes {
				writes = append(writes, g.at.Time)
			}
		}
		j.gaps[cl] = of
		if len(writes) > 0 {
			j.writersGaps[cl.addr] = writes
		}
	}
	for _, of := range j.gaps {
		slices.Sort(of.messages)
		slices.Sort(of.requests)
	}
	for _, writes := range j.writersGaps {
		slices.Sort(writes)
	}
	for _, requests := range j.serversGaps {
		slices.SortStableFunc(requests, func(a, b requestGap) int { return cmp.Compare(a.at, b.at) })
	}
}

// within reports whether one of sorted times is from one time to another.
func within(times []pcap.Timestamp, from, to pcap.Timestamp) bool {
	i, _ := slices.BinarySearch(times, from)
	return i < len(times) && times[i] <= to
}

// gapOf reports whether a stream of the batch's client, or one of its host that no request names, has a gap within a time.
func (j *judgement) gapOf(b *batch, since, until pcap.Timestamp) bool {
	return slices.ContainsFunc(j.unseenOf(b), func(u unseen) bool { return within(u.messages, since, until) })
}

// requestGapOf reports the same of the client's side alone.
func (j *judgement) requestGapOf(b *batch, since, until pcap.Timestamp) bool {
	return slices.ContainsFunc(j.unseenOf(b), func(u unseen) bool { return within(u.requests, since, until) })
}

func (j *judgement) unseenOf(b *batch) []unseen {
	cl, _ := b.client()
	return []unseen{j.gaps[cl], j.gaps[client{addr: cl.addr}]}
}
