package analysis

import "github.com/kdupscan/kdupscan/pcap"

// echoing is a partition, or two, to be judged.
type echoing struct {
	at     pcap.Timestamp // of the last echo
	judged pcap.Timestamp
	news   bool // something was seen since
	open   bool // a finding may become surer
}

// due returns the partitions to judge now, under whatever name and at whatever server: those with echoes of which something new was
// seen.
func (w *watch) due(c *Correlator) map[partitionKey]bool {
	changed := map[partitionKey]bool{}
	for _, h := range c.inOrder {
		if !h.changed {
			continue
		}
		h.changed = false
		at := w.seen[h]
		if len(w.echoing)+len(w.shared) == 0 && !at.echoed {
			continue
		}
		key := c.topics.key(h.key, forever)
		changed[key] = true
		e := w.echoing[key]
		if at.echoed && e == nil {
			e = &echoing{}
			w.echoing[key] = e
		}
		if at.echoed {
			e.at, at.echoed = w.now, false
		}
		if e != nil {
			e.news = true
		}
	}
	due := map[partitionKey]bool{}
	for key, e := range w.echoing {
		switch {
		case !e.open && w.now-e.at > echoTime:
			delete(w.echoing, key)
		case e.due(w.now):
			due[key] = true
		}
	}
	for pair, one := range w.strayed(c) {
		one.news = one.news || changed[pair[0]] || changed[pair[1]]
		if one.due(w.now) {
			one.news, one.judged = false, w.now
			due[pair[0]], due[pair[1]] = true, true
		}
	}
	return due
}

// due reports whether there is news to be judged. Who reads a copy long after it was written does so for hours, and judging has
// its cost, so after a while there is a time between.
func (e *echoing) due(now pcap.Timestamp) bool {
	age := now - e.at
	return e.news && (age < atOnce || now-e.judged >= min(age/laterShare, maxLater))
}

const (
	// echoTime is how long a partition is judged for echoes that show nothing: their answers and readers come within that.
	echoTime = pcap.Timestamp(300e9)
	// atOnce is how long after an echo all is told at once. Later it may take a part of the age, up to maxLater.
	atOnce     = pcap.Timestamp(10e9)
	laterShare = 30
	maxLater   = pcap.Timestamp(10e9)
)

// judged takes note of what has been judged, and of whether more may become of it.
func (w *watch) judged(keys map[partitionKey]bool, j *judgement) {
	open := map[*partition]bool{}
	for _, f := range j.found {
		if f.Verdict < Confirmed {
			f.eachBatch(func(b *batch) { open[b.p] = true })
		}
	}
	for key := range keys {
		if e := w.echoing[key]; e != nil {
			e.judged, e.news, e.open = w.now, false, open[j.known(key)]
		}
	}
}
