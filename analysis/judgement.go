package analysis

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// judgement turns the history into findings. It reads the correlator's state and changes none of it.
type judgement struct {
	c           *Correlator
	only        map[partitionKey]bool // judge these alone; nil: all
	also        func(*partition)      // done with each that was judged, while it is in the cache; may be nil
	partitions  []*partition
	byPart      []*partition                    // of each of the correlator's parts; nil for those not judged
	byKey       map[partitionKey]*partition     // of those that are none of its parts
	memory      []partition                     // of the newest partitions
	found       []judged                        // sorted as the report wants them
	delays      map[client]int64                // see joinDelays
	gaps        map[client]unseen               // see findGaps
	writersGaps map[netip.Addr][]pcap.Timestamp // likewise: of requests of those that write
	serversGaps map[netip.AddrPort][]requestGap // likewise: of Produce requests
	suspected   map[int64]bool                  // producers that wrote twice
	byProducer  map[producerEpoch][]*send       // see findSends
	epochs      map[int64][]int16               // likewise
	bumps       map[bumpKey]*Bump
	departures  map[bumpKey]departures // see triggerOnce
}

// partitionKey is the identity of a partition: the topic id where one is known, else cluster and name.
type partitionKey struct {
	cluster   string
	id        [16]byte
	name      string
	era       int // lives of a name without ids, by deletions seen
	partition int32
}

func newJudgement(c *Correlator) *judgement {
	return &judgement{c: c, byKey: map[partitionKey]*partition{}, suspected: map[int64]bool{}, bumps: map[bumpKey]*Bump{}, departures: map[bumpKey]departures{}}
}

// judged judges some partitions (nil: all), and also does with each of them what is given.
func (c *Correlator) judged(only map[partitionKey]bool, also func(*partition)) *judgement {
	j := newJudgement(c)
	j.only, j.also = only, also
	j.run()
	return j
}

func (j *judgement) run() {
	j.c.topics.tieByTraffic(j.c)
	j.c.divide()
	j.byPart = make([]*partition, len(j.c.parts.all))
	for i := range j.c.parts.all {
		if p := &j.c.parts.all[i]; j.only == nil || j.only[p.key] {
			j.part(i).histories = p.histories
		}
	}
	for _, h := range j.c.parts.mixed {
		if j.only == nil || j.only[j.c.topics.key(h.key, forever)] {
			j.divide(h)
		}
	}
	j.each(func(p *partition) {
		p.gather()
		p.findDelays()
	})
	j.joinDelays()
	j.findGaps()
	j.each(func(p *partition) {
		p.build()
		p.judge()
		p.findBodies()
		if j.also != nil {
			j.also(p)
		}
	})
	var groups []group
	for _, p := range j.partitions {
		groups = append(groups, p.groups...)
	}
	groups = append(groups, j.misrouted()...)
	for i := range groups {
		for _, b := range []*batch{groups[i].first(), groups[i].later()} {
			j.suspected[b.id.producer] = b.idempotent()
		}
	}
	for i := range groups {
		j.found = append(j.found, judged{j.finding(groups[i]), &groups[i]})
	}
	slices.SortStableFunc(j.found, func(a, b judged) int { return compareFindings(&a.Finding, &b.Finding) })
}

// each calls do for every partition, for several at once where the correlator may: do changes nothing but the partition.
func (j *judgement) each(do func(*partition)) {
	j.c.options.Each(len(j.partitions), func(i int) { do(j.partitions[i]) })
}

// judged is a finding with the batches it was made of.
type judged struct {
	Finding
	*group
}

func (f judged) eachBatch(do func(*batch)) {
	for _, d := range f.records {
		for _, c := range d.copies {
			do(c.b)
		}
	}
}

// newest returns when anything of the finding's batches was last seen.
func (f judged) newest() pcap.Timestamp {
	var at pcap.Timestamp
	f.eachBatch(func(b *batch) { at = max(at, b.last()) })
	return at
}

// judge finds the copies within one partition, the causes with the surest signature first.
func (p *partition) judge() {
	if p.internal() {
		return
	}
	p.chains = newChains(p, p.j.c.producers)
	p.chains.dedupFailures()
	p.chains.resends()
	p.chains.repeatedWhole()
	p.chains.applicationResends()
	p.chains.fetchOnly()
	p.groups = p.chains.groups()
}

// gather makes what was seen at each server the partition's.
func (p *partition) gather() {
	for _, h := range p.histories {
		p.sends, p.torn, p.sightings = append(p.sends, h.sends...), append(p.torn, h.torn...), append(p.sightings, h.sightings...)
		p.marks, p.leaders, p.forgotten = append(p.marks, h.marks...), append(p.leaders, h.leaders...), append(p.forgotten, h.forgotten...)
		p.ends, p.unasked = append(p.ends, h.ends...), append(p.unasked, h.unasked...)
		if h.level.latest.at.Time != 0 && len(p.levels) < maxRivals { // no partition is read at so many servers
			p.levels = append(p.levels, &h.level)
		}
		p.addAborted(h)
	}
}

// divide gives what a history has of a topic's several lives to the partitions it belongs to.
func (j *judgement) divide(h *history) {
	cluster := j.c.topics.cluster(h.key.server, h.key.topic)
	at := func(t pcap.Timestamp) *partition { return j.partition(cluster, h.key, t) }
	for _, s := range h.sends {
		p := at(s.at)
		p.sends = append(p.sends, s)
	}
	for _, s := range h.torn {
		p := at(s.at)
		p.torn = append(p.torn, s)
	}
	for _, s := range h.sightings {
		p := at(s.at)
		p.sightings = append(p.sightings, s)
	}
	for _, m := range h.marks {
		p := at(m.at.Time)
		p.marks = append(p.marks, m)
	}
	for _, l := range h.leaders {
		p := at(l.at.Time)
		p.leaders = append(p.leaders, l)
	}
	for _, e := range h.ends {
		p := at(e.at)
		p.ends = append(p.ends, e)
	}
	for _, u := range h.unasked {
		p := at(u.at)
		p.unasked = append(p.unasked, u)
	}
	for _, f := range h.forgotten {
		p := at(f.at)
		p.forgotten = append(p.forgotten, f)
	}
	at(0).addAborted(h)
}

func (p *partition) addAborted(h *history) {
	if p.aborted == nil && len(h.aborted) > 0 {
		p.aborted = map[kafka.AbortedTransaction]bool{}
	}
	for a := range h.aborted {
		p.aborted[a] = true
	}
}

func (j *judgement) partition(cluster string, h historyKey, at pcap.Timestamp) *partition {
	topic := j.c.topics.resolve(cluster, h.topic, at)
	key := j.c.topics.keyOf(cluster, topic, h.partition, at)
	p := j.known(key)
	if p == nil {
		p = j.add(partition{cluster: cluster, topic: topic, number: h.partition})
		j.byKey[key] = p
	}
	if p.topic.Name == "" {
		p.topic.Name = topic.Name
	}
	return p
}

// known returns the partition with a key, nil if nothing was seen of it.
func (j *judgement) known(key partitionKey) *partition {
	if i, is := j.c.parts.index[key]; is {
		return j.part(i)
	}
	return j.byKey[key]
}

// part returns the partition that one of the correlator's parts is judged as.
func (j *judgement) part(i int) *partition {
	if j.byPart[i] == nil {
		p := &j.c.parts.all[i]
		j.byPart[i] = j.add(partition{cluster: p.cluster, topic: p.topic, number: p.number})
	}
	return j.byPart[i]
}

func (j *judgement) add(p partition) *partition {
	if len(j.memory) == cap(j.memory) {
		j.memory = make([]partition, 0, 64)
	}
	p.j = j
	j.memory = append(j.memory, p)
	added := &j.memory[len(j.memory)-1]
	j.partitions = append(j.partitions, added)
	return added
}

func compareFindings(a, b *Finding) int {
	return cmp.Or(cmp.Compare(a.LaterAt, b.LaterAt), strings.Compare(a.Topic.Name, b.Topic.Name), cmp.Compare(a.Partition, b.Partition))
}
