package analysis

import (
	"net/netip"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// topics knows which names, ids and servers belong together.
type topics struct {
	clusters    map[netip.AddrPort]string   // cluster of a server that answered a Metadata request
	brokers     map[netip.AddrPort]string   // cluster of a broker named by address in an answer
	brokerHosts map[netip.Addr]string       // likewise by host alone; "" where two clusters share it
	nodes       map[netip.AddrPort]int32    // id of a broker named by address in an answer
	idClusters  map[[16]byte]string         // cluster in which a topic id was named
	names       map[[16]byte]string         // name of a topic id
	ids         map[string][]incarnation    // ids of a name, by first sight
	removals    map[string][]pcap.Timestamp // deletions of a name
	internal    map[string]bool
	known       map[string]bool // cluster ids
	uses        map[client]*use
	company     company
	version     int // counts the changes of what the above say of a partition; see put
}

// incarnation is one life of a topic name: deleted and created again, it has another id.
type incarnation struct {
	id   [16]byte
	from pcap.Timestamp
}

// clusterMetadata is the id of __cluster_metadata, which no Metadata answer names.
var clusterMetadata = [16]byte{15: 1}

const (
	// maxTopics bounds the names, ids and servers known of. A large cluster has some ten thousand topics.
	maxTopics = 1 << 17
	// maxLives bounds how often a topic is deleted and created again.
	maxLives = 1024
)

func newTopics() *topics {
	return &topics{
		clusters:    map[netip.AddrPort]string{},
		brokers:     map[netip.AddrPort]string{},
		brokerHosts: map[netip.Addr]string{},
		nodes:       map[netip.AddrPort]int32{},
		idClusters:  map[[16]byte]string{},
		names:       map[[16]byte]string{clusterMetadata: "__cluster_metadata"},
		ids:         map[string][]incarnation{},
		removals:    map[string][]pcap.Timestamp{},
		internal:    map[string]bool{"__consumer_offsets": true, "__transaction_state": true, "__cluster_metadata": true, "__share_group_state": true},
		known:       map[string]bool{},
		uses:        map[client]*use{},
		company:     company{servers: map[client][]netip.AddrPort{}},
		version:     1,
	}
}

// put sets what partitions are told apart by.
func put[K, V comparable](t *topics, m map[K]V, key K, value V) {
	if have, known := m[key]; !known || have != value {
		m[key] = value
		t.version++
	}
}

func (t *topics) described(o *kafka.ClusterDescribed) {
	if o.ClusterID == "" || len(t.clusters) >= maxTopics || len(t.brokers) >= maxTopics || len(t.known) >= maxTopics {
		return
	}
	put(t, t.known, o.ClusterID, true)
	put(t, t.clusters, o.Link.Server, o.ClusterID)
	for _, b := range o.Brokers {
		host, err := netip.ParseAddr(b.Host)
		if err != nil || b.Port < 0 || b.Port > 65535 {
			continue
		}
		host = host.Unmap()
		address := netip.AddrPortFrom(host, uint16(b.Port))
		put(t, t.brokers, address, o.ClusterID)
		t.nodes[address] = b.NodeID
		if have, seen := t.brokerHosts[host]; seen && have != o.ClusterID {
			put(t, t.brokerHosts, host, "")
		} else {
			put(t, t.brokerHosts, host, o.ClusterID)
		}
	}
}

func (t *topics) named(o *kafka.TopicNamed) {
	if o.Internal && o.Topic.Name != "" && len(t.internal) < maxTopics {
		t.internal[o.Topic.Name] = true
	}
	if o.Topic.ID == [16]byte{} || o.Topic.Name == "" {
		return
	}
	t.tie(o.Topic, o.At.Time)
	if cluster := t.clusters[o.Link.Server]; cluster != "" && len(t.idClusters) < maxTopics {
		put(t, t.idClusters, o.Topic.ID, cluster)
	}
}

func (t *topics) tie(topic kafka.Topic, at pcap.Timestamp) {
	if t.names[topic.ID] == topic.Name || len(t.names) >= maxTopics {
		return
	}
	put(t, t.names, topic.ID, topic.Name)
	t.ids[topic.Name] = append(newest(t.ids[topic.Name], maxLives-1), incarnation{topic.ID, at})
}

func (t *topics) deleted(o *kafka.TopicDeleted) {
	name := o.Topic.Name
	if name == "" {
		name = t.names[o.Topic.ID]
	}
	if name != "" && len(t.removals) < maxTopics {
		t.removals[name] = append(newest(t.removals[name], maxLives-1), o.At.Time)
		t.version++
	}
}

// cluster returns the cluster of a server; servers that no answer names are taken into the only known cluster, or into that of the clients
// that use them.
func (t *topics) cluster(server netip.AddrPort, topic kafka.Topic) string {
	if c := t.clusterOf(server); c != "" {
		return c
	}
	if c := t.idClusters[topic.ID]; c != "" {
		return c
	}
	if len(t.known) == 1 {
		for c := range t.known {
			return c
		}
	}
	return t.clusterByCompany(server)
}

// clusterOf returns the cluster that answers name for a server, "" for none.
func (t *topics) clusterOf(server netip.AddrPort) string {
	plain := netip.AddrPortFrom(server.Addr().Unmap(), server.Port())
	if c := t.clusters[server]; c != "" {
		return c
	}
	if c := t.brokers[plain]; c != "" {
		return c
	}
	return t.brokerHosts[plain.Addr()]
}

// resolve completes a topic by its name or id as of a time: of several lives of one name, the one that the time falls into.
func (t *topics) resolve(cluster string, topic kafka.Topic, at pcap.Timestamp) kafka.Topic {
	if topic.ID != [16]byte{} {
		if topic.Name == "" {
			topic.Name = t.names[topic.ID]
		}
		return topic
	}
	lives := t.lives(cluster, topic.Name)
	if len(lives) == 0 {
		return topic
	}
	life := lives[0]
	for i, next := range lives[1:] {
		if at >= t.end(topic.Name, lives[i].from, next.from) {
			life = next
		}
	}
	topic.ID = life.id
	return topic
}

// livesOnce reports whether a topic means the same at any time.
func (t *topics) livesOnce(topic kafka.Topic) bool {
	return topic.ID != [16]byte{} || len(t.ids[topic.Name]) <= 1 && len(t.removals[topic.Name]) == 0
}

func (t *topics) lives(cluster, name string) []incarnation {
	var lives []incarnation
	for _, life := range t.ids[name] {
		if c, known := t.idClusters[life.id]; !known || c == cluster || cluster == "" {
			lives = append(lives, life)
		}
	}
	return lives
}

// end returns when the life that began at from ended: at its deletion, or where the next one was first named.
func (t *topics) end(name string, from, next pcap.Timestamp) pcap.Timestamp {
	for _, at := range t.removals[name] {
		if at >= from && at <= next {
			return at
		}
	}
	return next
}

// era counts the deletions of a topic without ids up to a time, so that offsets of two lives are not mixed.
func (t *topics) era(name string, at pcap.Timestamp) int {
	n := 0
	for _, removed := range t.removals[name] {
		if removed <= at {
			n++
		}
	}
	return n
}

func (t *topics) isInternal(topic kafka.Topic) bool {
	return t.internal[topic.Name] || topic.ID == clusterMetadata
}
