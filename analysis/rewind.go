package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
)

// rewind is an append at an offset below the known end: the log had been cut back to there, by an unclean
// leader election, or the topic had been deleted and created again under its name. What stood there and behind it is gone.
type rewind struct {
	offset int64
	from   pcap.Timestamp // until when the log was surely whole
	at     pcap.Timestamp // what was known of the log before this time is void
}

// findRewinds finds the OK answers to new batches below what was known before they were sent: of producers with an id only those
// that stand where other content was.
func (p *partition) findRewinds(c *claims) []rewind {
	var all []rewind
	for _, b := range p.batches {
		for _, pl := range b.places() {
			if len(all) == maxRivals {
				return all
			}
			if pl.source != OffsetFromAnswer || pl.retry || pl.sighting != nil || c.bounds.known.before(pl.sent) <= pl.offset {
				continue
			}
			if !b.idempotent() { // else it may be the answer to a retry of a batch that the capture lacks
				all = append(all, rewind{pl.offset, pl.sent, pl.sent})
				continue
			}
			c.overlapping(pl.offset, pl.offset+int64(b.count()), func(other claim) bool {
				if other.batch == nil || other.batch == b || other.uncertain || other.at >= pl.sent || !differ(other.batch, b) {
					return true
				}
				all = append(all, rewind{pl.offset, pl.sent, pl.sent})
				return false
			})
		}
	}
	return all
}

// differ reports whether the records of two batches are known to be different.
func differ(a, b *batch) bool {
	return len(a.records) > 0 && len(b.records) > 0 && !sameRecords(a.records, b.records, false)
}

// rewound returns the first time that the log was cut back behind a place since that was last known, nil for none.
func (c *claims) rewound(pl place) *rewind {
	last := pl.at
	if pl.sighting != nil {
		last = pl.sighting.lastSeen
	}
	var first *rewind
	for i := range c.rewinds {
		if r := &c.rewinds[i]; r.at > last && r.offset <= pl.offset && (first == nil || r.at < first.at) {
			first = r
		}
	}
	return first
}

// cutBetween reports whether the log was cut back to an offset or to before it when the batch had been sent.
func (c *claims) cutBetween(b *batch, offset int64) bool {
	return slices.ContainsFunc(c.rewinds, func(r rewind) bool { return r.offset <= offset && r.at >= b.first.Time })
}

// beside reports whether two places were in one log at one time.
func (f fate) beside(o fate) bool {
	if f.log != o.log && f.log != 0 && o.log != 0 {
		return false
	}
	return f.void == o.void || (f.void == nil || o.known <= f.void.from) && (o.void == nil || f.known <= o.void.from)
}

// beside keeps the copies that stood in the log together with the last one for which there are any.
func beside(copies []copyOf) []copyOf {
	for i := len(copies) - 1; i > 0 && i >= len(copies)-maxRivals; i-- {
		last := copies[i].fate
		kept := slices.DeleteFunc(slices.Clone(copies[:i+1]), func(c copyOf) bool { return !c.fate.beside(last) })
		if len(kept) > 1 {
			return kept
		}
	}
	return nil
}
