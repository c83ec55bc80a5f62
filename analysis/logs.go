package analysis

import (
	"cmp"
	"net/netip"
	"slices"
	"sort"

	"github.com/kdupscan/kdupscan/pcap"
)

// An application that moves to another cluster writes everything to both for a while, to topics of one name. Where no answer names the
// clusters, the offsets tell the two logs apart: one log does not go on at one server as if nothing had happened at the other.

// growth is how one server's log is seen to grow.
type growth struct {
	all     []grown
	ends    ends    // by when they were told
	highest []int64 // highest[i]: the highest offset of all[i:], which are by their at
}

// grown is an offset at which a log ended at some time between two.
type grown struct {
	from, at pcap.Timestamp
	offset   int64
}

// lagTime is how far a server's high watermark may be behind the log of its partition: a follower that is behind for longer leaves the replicas
// in sync (replica.lag.time.max.ms).
const lagTime = pcap.Timestamp(30e9)

// logNumbers tells the logs of servers apart; those that nothing tells apart have none.
type logNumbers map[netip.AddrPort]int

// logOf returns the number of the log that a server holds of the partition, 0 where nothing tells it from others.
func (p *partition) logOf(server netip.AddrPort) int {
	if p.logs == nil {
		p.logs = p.findLogs()
	}
	return p.logs[server]
}

// findLogs numbers the servers whose logs cannot be one.
func (p *partition) findLogs() logNumbers {
	logs := logNumbers{}
	if p.atOneServer() {
		return logs
	}
	servers, at := p.growthByServer()
	if len(servers) < 2 {
		return logs
	}
	for i, x := range servers {
		var taken []int
		for _, y := range servers[:i] {
			if !p.inOneCluster(x, y) && (at[x].goesOnBeside(at[y]) || at[y].goesOnBeside(at[x])) {
				logs[y] = max(logs[y], 1)
				taken = append(taken, logs[y])
			}
		}
		if len(taken) > 0 {
			logs[x] = 1
		}
		for slices.Contains(taken, logs[x]) {
			logs[x]++
		}
	}
	return logs
}

// atOneServer reports whether no more than one server stores the partition, as is mostly so.
func (p *partition) atOneServer() bool {
	var one netip.AddrPort
	other := func(server netip.AddrPort) bool {
		if !one.IsValid() {
			one = server
		}
		return server != one
	}
	return !slices.ContainsFunc(p.sends, func(s *send) bool { return other(s.link.Server) }) &&
		!slices.ContainsFunc(p.histories, func(h *history) bool { return len(h.marks) > 0 && other(h.key.server) })
}

// growthByServer returns the servers that store the partition, in the order in which they were met, and how their logs grow.
func (p *partition) growthByServer() (servers []netip.AddrPort, at map[netip.AddrPort]*growth) {
	at = map[netip.AddrPort]*growth{}
	add := func(server netip.AddrPort, one grown, end int64) {
		if at[server] == nil {
			if len(servers) == maxRivals {
				return
			}
			servers, at[server] = append(servers, server), new(growth)
		}
		log := at[server]
		log.all = append(log.all, one)
		log.ends.add(one.at, end)
	}
	for _, s := range p.sends {
		a := s.reply()
		if a == nil || a.BaseOffset < 0 || s.sent.Batch.Idempotent() && (a.ErrorCode != 0 || a.LogAppendTime >= 0) {
			continue // with a producer id it may be the answer to a retry
		}
		add(s.link.Server, grown{s.sent.First.Time, a.At.Time, a.BaseOffset}, a.BaseOffset+int64(s.sent.Batch.LastOffsetDelta)+1)
	}
	for _, h := range p.histories {
		for _, m := range h.marks {
			add(h.key.server, grown{m.at.Time - lagTime, m.at.Time, m.offset}, m.offset)
		}
	}
	for _, one := range at {
		one.complete()
	}
	return servers, at
}

func (l *growth) complete() {
	slices.SortStableFunc(l.all, func(a, b grown) int { return cmp.Compare(a.at, b.at) })
	l.ends.sort()
	l.highest = make([]int64, len(l.all))
	highest := int64(-1)
	for i := len(l.all) - 1; i >= 0; i-- {
		highest = max(highest, l.all[i].offset)
		l.highest[i] = highest
	}
}

// goesOnBeside reports whether a log is at its known end or behind it after it has ended before that at another server: had it been the same
// log, it would have been cut back.
func (l *growth) goesOnBeside(other *growth) bool {
	return slices.ContainsFunc(other.all, func(o grown) bool {
		end := l.ends.before(o.from - clocksApart)
		i := sort.Search(len(l.all), func(i int) bool { return l.all[i].at > o.at })
		return end > o.offset && i < len(l.all) && l.highest[i] >= end
	})
}
