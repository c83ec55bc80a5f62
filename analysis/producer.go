package analysis

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// producers knows the producer ids, who uses them and how their epochs rose. Clusters grant the same ids: what is known to belong to
// another cluster is kept apart.
type producers struct {
	byID  map[int64]*producer
	names *topics    // knows the clusters
	gone  []Producer // that were let go of
	bumps int64      // theirs, and those of rivals
}

// producer is one producer id. Everything in it is in the order of observation.
type producer struct {
	id            int64
	epochs        []int16 // in the order of their first sight in a Produce request or a grant
	sent          []int16 // epochs of batches, in the order of their first sight
	low, top      int16   // the lowest and the highest of them; -1 none
	lowGiven      bool    // the lowest was given by a transaction's end or a start
	bumps         int64   // rises that are neither a transaction's end nor a start
	granted       []int16 // epochs given by a transaction's end or by InitProducerId at a start, the latest
	grants        []*kafka.ProducerGranted
	endings       []*kafka.TransactionEnding
	markers       []marker
	knownMarkers  map[control]bool
	markersLost   bool // some were dropped
	transactional *string
	links         []*link // that sent with this id
	hasClientID   bool
	clientID      string
	used          pcap.Timestamp // when it was last seen
	server        netip.AddrPort // where it was first seen
	rival         *producer      // the same id in another cluster
}

// marker is a transaction marker that stands in a log, and where it was first seen.
type marker struct {
	control
	seen kafka.Seen
}

// control is what a marker says.
type control struct {
	epoch     int16
	commit    bool
	topic     kafka.Topic
	partition int32
	offset    int64
}

func newProducer(id int64, server netip.AddrPort) *producer {
	return &producer{id: id, low: -1, top: -1, server: server}
}

func newProducers(names *topics) *producers {
	return &producers{byID: map[int64]*producer{}, names: names}
}

// maxClusters bounds the clusters whose equal producer ids are told apart.
const maxClusters = 16

// get returns a producer id of a cluster.
func (p *producers) get(cluster string, id int64) *producer {
	first := p.byID[id]
	for pr := first; pr != nil; pr = pr.rival {
		if own := p.names.clusterOf(pr.server); own == cluster || own == "" || cluster == "" {
			return pr
		}
	}
	return newProducer(id, netip.AddrPort{})
}

// at returns a producer id as it is used at a server.
func (p *producers) at(server netip.AddrPort, id int64) *producer {
	first := p.byID[id]
	if first == nil {
		first = newProducer(id, server)
		p.byID[id] = first
	}
	if len(p.names.known) < 2 {
		return first
	}
	cluster := p.names.clusterOf(server)
	pr := first
	for n := 1; cluster != ""; n++ {
		own := p.names.clusterOf(pr.server)
		switch {
		case own == cluster || own == "" || n == maxClusters:
			return pr
		case pr.rival == nil:
			pr.rival = newProducer(id, server)
		}
		pr = pr.rival
	}
	return pr
}

func (p *producers) sent(l *link, o *kafka.BatchSent) {
	if o.Batch == nil || !o.Batch.Idempotent() || o.Torn {
		return
	}
	pr := p.at(l.Server, o.Batch.ProducerID)
	pr.saw(o.Batch.ProducerEpoch, o.At)
	if o.TransactionalID != nil {
		pr.transactional = o.TransactionalID
	}
	switch {
	case !pr.rose(o):
	case pr == p.byID[pr.id]:
		pr.bumps++
	default:
		p.bumps++
	}
	pr.use(l)
}

// trimmed keeps a list of transaction ends or grants from growing for ever.
func trimmed[T any](all []T) []T {
	if len(all) < 2*maxEnds {
		return all
	}
	return newest(all, maxEnds)
}

func (pr *producer) use(l *link) {
	if n := len(pr.links); n > 0 && pr.links[n-1] == l {
		return
	}
	if !slices.Contains(pr.links, l) {
		pr.links = append(newest(pr.links, maxLinks-1), l)
	}
	if l.hasClientID {
		pr.clientID, pr.hasClientID = l.clientID, true
	}
}

// granted takes an InitProducerId exchange. It starts a producer when the client named no id of its own; with one it is a
// bump (KIP-360), which the first batch of the new epoch counts.
func (p *producers) granted(l *link, o *kafka.ProducerGranted) {
	if o.OldProducerID >= 0 {
		old := p.at(l.Server, o.OldProducerID)
		old.grants = append(trimmed(old.grants), o)
	}
	if o.ErrorCode != 0 || o.ProducerID < 0 {
		return
	}
	pr := p.at(l.Server, o.ProducerID)
	pr.saw(o.ProducerEpoch, o.At)
	if o.OldProducerID != o.ProducerID {
		pr.grant(o.ProducerEpoch)
		pr.grants = append(trimmed(pr.grants), o)
	}
	if o.TransactionalID != nil {
		pr.transactional = o.TransactionalID
	}
	pr.use(l)
}

func (p *producers) ending(o *kafka.TransactionEnding) {
	if o.ProducerID >= 0 {
		pr := p.at(o.Link.Server, o.ProducerID)
		pr.endings = append(trimmed(pr.endings), o)
		pr.used = max(pr.used, o.At.Time)
		if !o.Marker && pr.transactional == nil {
			id := o.TransactionalID
			pr.transactional = &id
		}
	}
}

func (p *producers) ended(o *kafka.TransactionEnded) {
	if o.ProducerID < 0 {
		return
	}
	if o.NewProducerID >= 0 && o.NewProducerEpoch >= 0 {
		p.at(o.Link.Server, o.NewProducerID).grant(o.NewProducerEpoch)
	}
}

// sighted takes what a Fetch answer shows of a producer: transaction markers.
func (p *producers) sighted(o *kafka.BatchFetched) {
	b := o.Batch
	if !b.Idempotent() || b.Marker != kafka.AbortMarker && b.Marker != kafka.CommitMarker {
		return
	}
	pr := p.at(o.Link.Server, b.ProducerID)
	m := control{b.ProducerEpoch, b.Marker == kafka.CommitMarker, o.Topic, o.Partition, b.BaseOffset}
	if n := len(pr.markers); n > 0 && pr.markers[n-1].control == m || pr.knownMarkers[m] {
		return
	}
	if len(pr.markers) == maxEnds {
		clear(pr.knownMarkers)
		pr.markers, pr.markersLost = newest(pr.markers, maxEnds/2), true
		for _, kept := range pr.markers {
			pr.knownMarkers[kept.control] = true
		}
	}
	if pr.knownMarkers == nil {
		pr.knownMarkers = map[control]bool{}
	}
	pr.markers = append(pr.markers, marker{m, o.Seen})
	pr.knownMarkers[m] = true
	pr.used = max(pr.used, o.At.Time)
}

// list gives the producers of the report, by id.
func (p *producers) list() []Producer {
	all := slices.Clone(p.gone)
	for _, first := range p.byID {
		for pr := first; pr != nil; pr = pr.rival {
			if len(pr.links) > 0 { // others are only seen in Fetch answers
				all = append(all, pr.report())
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Producer) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
	return slices.CompactFunc(all, func(a, b Producer) bool { return a.ProducerID == b.ProducerID && a.sharesHost(b) })
}

// sharesHost reports whether two producers were seen at one client address.
func (p Producer) sharesHost(o Producer) bool {
	return slices.ContainsFunc(p.Addresses, func(a netip.AddrPort) bool {
		return slices.ContainsFunc(o.Addresses, func(b netip.AddrPort) bool { return a.Addr() == b.Addr() })
	})
}

// prune lets go of producers that have not been seen since a time; the report still lists the first of them.
func (p *producers) prune(before pcap.Timestamp) {
	for id, first := range p.byID {
		used := first.used
		for pr := first.rival; pr != nil; pr = pr.rival {
			used = max(used, pr.used)
		}
		if used >= before {
			continue
		}
		for pr := first; pr != nil; pr = pr.rival {
			if len(pr.links) > 0 && len(p.gone) < maxListedProducers {
				p.gone = append(p.gone, pr.report())
			}
		}
		p.bumps += first.bumps
		delete(p.byID, id)
	}
	slices.SortStableFunc(p.gone, func(a, b Producer) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
}

func (pr *producer) report() Producer {
	r := Producer{ProducerID: pr.id, ClientID: pr.clientID, HasClientID: pr.hasClientID, Software: pr.software(), TransactionalID: pr.transactional}
	r.Epochs = slices.Sorted(slices.Values(pr.epochs))
	for _, l := range pr.links {
		r.Addresses = append(r.Addresses, l.Client)
	}
	slices.SortFunc(r.Addresses, netip.AddrPort.Compare)
	r.Addresses = slices.Compact(r.Addresses)
	return r
}

// software returns what the producer's client calls itself, "" unknown.
func (pr *producer) software() string {
	software := ""
	for _, l := range pr.links {
		if name := l.calls(); name != "" {
			software = name
		}
	}
	return software
}
