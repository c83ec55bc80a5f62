package analysis

import (
	"net/netip"
	"slices"
)

// company knows which clients connected to which servers. Metadata mostly names brokers by host names, which packets do not translate: where
// a capture holds several clusters, the company that a server is met in tells to which one it belongs.
type company struct {
	servers  map[client][]netip.AddrPort
	version  int                       // of the topics that clusters was found for
	clusters map[netip.AddrPort]string // of servers that no answer names; "" where clients disagree
}

// maxServers bounds the servers kept of a client. One that uses more says nothing.
const maxServers = 256

// met notes a connection of a client that gives itself a name.
func (t *topics) met(cl client, server netip.AddrPort) {
	known := t.company.servers[cl]
	if cl.id == "" || slices.Contains(known, server) || len(known) >= maxServers || len(t.company.servers) >= maxTopics {
		return
	}
	t.company.servers[cl] = append(known, server)
	if len(t.known) > 1 {
		t.version++
	}
}

// clusterByCompany returns the cluster of the clients that use a server and no other cluster, "" where they disagree or none is known.
func (t *topics) clusterByCompany(server netip.AddrPort) string {
	if len(t.known) < 2 {
		return ""
	}
	if t.company.version != t.version {
		t.company.version, t.company.clusters = t.version, map[netip.AddrPort]string{}
		t.spread()
	}
	return t.company.clusters[server]
}

// spread takes the word of each client of which only one cluster is known for its servers, and then of those that this tells one.
func (t *topics) spread() {
	var asked []client
	users := map[netip.AddrPort][]client{}
	for cl, servers := range t.company.servers {
		asked = append(asked, cl)
		for _, server := range servers {
			users[server] = append(users[server], cl)
		}
	}
	for len(asked) > 0 {
		words := t.words(asked)
		asked = nil
		for server, cluster := range words {
			if t.company.clusters[server] = cluster; cluster != "" {
				asked = append(asked, users[server]...)
			}
		}
	}
}

// words returns what some clients tell of servers of which nothing is known, "" where they disagree.
func (t *topics) words(asked []client) map[netip.AddrPort]string {
	words := map[netip.AddrPort]string{}
	for _, cl := range asked {
		only, unknown := t.onlyCluster(t.company.servers[cl])
		if only == "" {
			continue
		}
		for _, server := range unknown {
			if have, met := words[server]; !met {
				words[server] = only
			} else if have != only {
				words[server] = ""
			}
		}
	}
	return words
}

// onlyCluster returns the one cluster that is known of some servers, "" if none or several are, and those of which nothing is known.
func (t *topics) onlyCluster(servers []netip.AddrPort) (only string, unknown []netip.AddrPort) {
	if len(servers) == maxServers {
		return "", nil
	}
	for _, server := range servers {
		c := t.clusterOf(server)
		if c == "" {
			told := false
			if c, told = t.company.clusters[server]; !told {
				unknown = append(unknown, server)
			}
		}
		if c != "" && only != "" && c != only {
			return "", nil
		}
		only = max(only, c)
	}
	return only, unknown
}
