package analysis

import (
	"time"

	"github.com/kdupscan/kdupscan/pcap"
)

// level is what the high watermarks of one server's answers show of a partition over time.
//
// A high watermark also falls without any loss. A new leader begins with what it had heard of as a follower; a broker that was
// killed begins with its checkpoint, up to five seconds old, until its followers have come or are given up
// (replica.lag.time.max.ms, 30 s); answers on parallel connections and packets sent again come late. Such a fall is small or
// soon made up for. One to less than half that lasts is taken for a log cut back or begun anew, and only for the offsets that
// no answer of any server has reached since.
type level struct {
	top    int64          // the highest of this log
	high   pcap.Timestamp // of the latest answer with at least half of that
	low    fall           // since then; its times are 0 where there was none
	latest highWatermark
	falls  []fall // that have lasted so long that what came afterwards is another log's
}

// fall is a run of answers with less than half of the top.
type fall struct {
	from     pcap.Timestamp // of the last answer before
	at, last pcap.Timestamp // of the first and of the last answer with less
	offset   int64          // the highest of them
}

const (
	// fallAfter is how long a fall lasts, from the last answer before it, until it is more than a delay.
	fallAfter = pcap.Timestamp(30 * time.Second)
	// begunAnewAfter is how long answers show a fall until it does not count any more how far the log grows again. No broker
	// waits so long for its followers.
	begunAnewAfter = pcap.Timestamp(5 * time.Minute)
	maxFalls       = 16 // of one history
)

func (l *level) answered(at pcap.Ref, offset int64) {
	l.latest = highWatermark{at, offset}
	if offset >= l.top-offset {
		l.top, l.high, l.low = max(l.top, offset), at.Time, fall{}
		return
	}
	if l.low.at == 0 {
		l.low = fall{from: l.high, at: at.Time}
	}
	l.low.last, l.low.offset = at.Time, max(l.low.offset, offset)
	if l.low.last-l.low.at >= begunAnewAfter {
		l.falls = append(newest(l.falls, maxFalls-1), l.low)
		l.top, l.high, l.low = l.low.offset, at.Time, fall{}
	}
}

// findFalls returns what lasting falls of the high watermark say of the log. What was known to stand above one in between was known
// before it.
func (p *partition) findFalls(c *claims) []rewind {
	var all []rewind
	for i, l := range p.levels {
		falls := l.falls
		if l.low.at != 0 && l.low.last-l.low.from >= fallAfter {
			falls = append(falls[:len(falls):len(falls)], l.low)
		}
		for _, f := range falls {
			offset := f.offset
			for j, other := range p.levels {
				if j != i && other.latest.at.Time >= f.from {
					offset = max(offset, other.latest.offset) // by its word the log reaches farther
				}
			}
			all = append(all, rewindAt(offset, max(f.from, c.lastAbove(offset, f.at)), f.at))
		}
	}
	return all
}
