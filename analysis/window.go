package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// DefaultMemory is the history kept when Options name no bound: about two million records with their batches.
const DefaultMemory = 192 << 20

// What one item of history takes, in bytes: its structs, and its share of what judging builds for a moment.
const (
	sendCost     = 640
	sightingCost = 640
	recordCost   = 64
	linkCost     = 400 // of a closed connection, with what the kafka layer shares with it; those that are open are few, or bounded by reassembly
	producerCost = 512
	// historyCost is how much more history is let in for each history, up to three times the budget: judging one takes time beside
	// that for its batches.
	historyCost = 2048
)

// keptShare is the part of the budget, in percent, that is left after history was dropped. The smaller it is, the less often
// all of it has to be judged; the larger, the farther back a first copy is remembered.
const keptShare = 40

const (
	maxMarks   = 4096    // high watermarks per history: a coarser series says less, nothing wrong
	maxLeaders = 1024    // leader sightings per history
	maxLinks   = 64      // connections per producer: those that a bump can have come from are the last ones
	maxSettled = 1 << 14 // findings of dropped history: a report of more is read by nobody
	// maxSettledRecords bounds the records listed in them; findings behind it list the first few.
	maxSettledRecords = 1 << 18
	listedBehind      = 10
	maxEnds           = 4096 // transaction ends, markers and grants per producer
	maxEpochs         = 4096 // epochs listed per producer
	// maxListedProducers bounds the producers of a report that were let go of.
	maxListedProducers = 10000
)

// window bounds the history.
type window struct {
	budget  int64
	used    int64
	left    int64               // used when history had been dropped last
	settled []Finding           // found in history that has been dropped
	keys    map[string]bool     // theirs
	records int                 // listed in them
	counts  Counts              // of dropped history
	repeats []ApplicationRepeat // of dropped history
}

// full reports whether history has to be dropped: what is used is more than the budget. Where histories are very many, more must have
// come in before it is worth to judge each of them, however little there is of it; and where much cannot be dropped, too.
func (w *window) full(histories int) bool {
	return w.used > max(w.budget+min(2*w.budget, int64(histories)*historyCost), w.left+w.budget/4)
}

// settle keeps a finding whose history goes. A batch of it may stay for another finding's sake, and would give it again.
func (w *window) settle(f judged) {
	if w.keys == nil {
		w.keys = map[string]bool{}
	}
	if key := f.key(); !w.keys[key] && len(w.settled) < maxSettled {
		w.keys[key] = true
		if w.records > maxSettledRecords {
			f.Finding.Records = slices.Clone(f.Finding.Records[:min(len(f.Finding.Records), listedBehind)])
		}
		w.records += len(f.Finding.Records)
		w.settled = append(w.settled, f.Finding)
	}
}

// grew accounts for new history, and drops the oldest when there is too much.
func (c *Correlator) grew(h *history, cost int64) {
	h.cost += cost
	c.used(cost)
}

func (c *Correlator) used(cost int64) {
	c.window.used += cost
	if c.window.full(len(c.inOrder)) {
		c.evict()
	}
}

// cutoff returns the time before which history has to go, and that of the newest history. It looks at a histogram of the costs
// over time.
func (c *Correlator) cutoff() (cutoff, last pcap.Timestamp) {
	first := forever
	c.eachItem(func(at pcap.Timestamp, _ int64) { first, last = min(first, at), max(last, at) })
	const slots = 256
	width := (last-first)/slots + 1
	var costs [slots]int64
	c.eachItem(func(at pcap.Timestamp, cost int64) { costs[(at-first)/width] += cost })
	excess := c.cost() - c.window.budget*keptShare/100
	cutoff = first
	for _, cost := range costs {
		if excess <= 0 {
			break
		}
		excess -= cost
		cutoff += width
	}
	return cutoff, last
}

func (c *Correlator) cost() int64 {
	var sum int64
	for _, h := range c.inOrder {
		sum += h.cost
	}
	for _, l := range c.links {
		if !l.closed.IsZero() {
			sum += linkCost
		}
	}
	return sum + int64(len(c.producers.byID))*producerCost
}

func (c *Correlator) eachItem(f func(at pcap.Timestamp, cost int64)) {
	for _, h := range c.inOrder {
		for _, s := range h.sends {
			f(s.at, s.cost)
		}
		for _, s := range h.sightings {
			f(s.at, s.cost)
		}
	}
	for _, l := range c.links {
		if !l.closed.IsZero() {
			f(l.closed.Time, linkCost)
		}
	}
	for _, pr := range c.producers.byID {
		f(pr.used, producerCost)
	}
}

// newest returns the last elements, at most n, in memory of their own when that is less than there were. Of a long list it leaves out an eighth
// more, so that one which grows by one is not copied each time.
func newest[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	return slices.Clone(all[len(all)-n+n/8:])
}

func (c *Counts) add(o Counts) {
	c.Appended += o.Appended
	c.Deduplicated += o.Deduplicated
	c.Rejected += o.Rejected
	c.Unacknowledged += o.Unacknowledged
	c.ApplicationRepeats += o.ApplicationRepeats
	c.EpochBumps += o.EpochBumps
	c.LeaderChanges += o.LeaderChanges
}

// addRepeats adds the repeats of dropped history to those of the rest.
func addRepeats(all, dropped []ApplicationRepeat) []ApplicationRepeat {
	type at struct {
		topic     kafka.Topic
		partition int32
	}
	index := map[at]int{}
	var sum []ApplicationRepeat
	for _, r := range slices.Concat(all, dropped) {
		i, known := index[at{r.Topic, r.Partition}]
		if !known {
			i = len(sum)
			index[at{r.Topic, r.Partition}] = i
			sum = append(sum, ApplicationRepeat{r.Topic, r.Partition, 0})
		}
		sum[i].Records += r.Records
	}
	return sum
}
