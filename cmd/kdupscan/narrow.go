package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/filter"
	"github.com/kdupscan/kdupscan/reassembly"
	"github.com/kdupscan/kdupscan/reassembly/tls"
)

// Without a filter a live run sees all packets of the host, and most of them are none of its business. Once it knows which
// ports carry Kafka, the kernel lets these alone pass. Two things keep that sound:
//
//   - A short look at all ports now and then finds Kafka on others. What such a look shows of them goes to a scout, which
//     recognises Kafka and forgets the rest: connections seen for seconds only must not spoil the report with gaps.
//   - The filter is never narrowed where it would lose a packet that carries Kafka: inside a tunnel, behind two VLAN tags,
//     in fragments. One such packet, before or in a look, and all packets pass from then on.

const (
	// settleFor is how long no new port must have been found before the filter is narrowed.
	settleFor = 10 * time.Second
	// lookAroundEvery is how long Kafka on a new port can go unseen; lookAroundFor is enough for a client to send something.
	lookAroundEvery = time.Minute
	lookAroundFor   = 5 * time.Second
	// maxNarrowPorts bounds the length of the filter. A cluster has a few listeners; more ports than this are clients' taken
	// for servers', or a test, and then nothing is narrowed.
	maxNarrowPorts = 32
)

type narrowing int

const (
	wide    narrowing = iota // all packets pass and are analysed
	narrow                   // only the ports pass
	looking                  // all packets pass, only the ports are analysed
	unbound                  // all packets pass and are analysed, for ever
)

// narrower sets the filter of a live capture. It is the reader's.
type narrower struct {
	network pcap.Live
	learned chan uint16 // ports with Kafka, from the monitor and the scout
	keys    *tls.Keys   // for the scout
	say     func(string, ...any)
	state   narrowing
	since   time.Time // of the state, or the last new port
	ports   map[uint16]bool
	matcher *filter.Matcher // of the ports; nil while there are none
	passes  bool            // the current frame would pass the narrow filter
	scout   *scout          // while looking
	settle  time.Duration   // settleFor, lookAroundEvery and lookAroundFor but in tests
	every   time.Duration
	look    time.Duration
}

func newNarrower(network pcap.Live, learned chan uint16, keys *tls.Keys, say func(string, ...any)) *narrower {
	return &narrower{
		network: network, learned: learned, keys: keys, say: say, since: time.Now(), ports: make(map[uint16]bool),
		settle: settleFor, every: lookAroundEvery, look: lookAroundFor,
	}
}

// frame looks at a frame before its segments come, and reports whether it is to be recorded.
func (n *narrower) frame(f *pcap.Frame) bool {
	n.passes = true
	if n.matcher != nil && (n.state == wide || n.state == looking) {
		passes, err := n.matcher.Match(f)
		n.passes = passes && err == nil
	}
	return n.passes || n.state != looking
}

// wants reports whether a segment of the frame is to be analysed.
func (n *narrower) wants(s *reassembly.Segment) bool {
	known := n.ports[s.Src.Port()] || n.ports[s.Dst.Port()]
	if known && !n.passes {
		n.giveUp("Kafka on port %d comes in packets that a filter on ports does not find (a tunnel, fragments)", s.Dst.Port())
	}
	switch n.state {
	case narrow:
		return known
	case looking:
		if !known {
			n.scout.add(s)
		}
		return known
	}
	return true
}

// tick changes the state if it is time to.
func (n *narrower) tick(now time.Time) {
	for {
		select {
		case port := <-n.learned:
			n.learn(port, now)
			continue
		default:
		}
		break
	}
	elapsed := now.Sub(n.since)
	switch {
	case n.state == wide && len(n.ports) > 0 && elapsed >= n.settle:
		n.narrow(now)
		if n.state == narrow {
			n.say("capturing %s from now on, and all other ports for %v every %v; --filter names others", n.portList(), n.look, n.every)
		}
	case n.state == narrow && elapsed >= n.every:
		n.lookAround(now)
	case n.state == looking && elapsed >= n.look:
		n.end()
		n.narrow(now)
	case n.state == looking:
		n.scout.send()
	}
}

func (n *narrower) learn(port uint16, now time.Time) {
	if n.ports[port] || n.state == unbound {
		return
	}
	if len(n.ports) == maxNarrowPorts {
		n.giveUp("there is Kafka on more than %d ports", maxNarrowPorts)
		return
	}
	n.ports[port] = true
	matcher, err := filter.NewMatcher(n.text())
	if err != nil {
		n.giveUp("%v", err)
		return
	}
	n.matcher = matcher
	if n.state == wide {
		n.since = now
	} else {
		n.say("port %d carries Kafka too", port)
	}
}

// text is the narrow filter. Behind "vlan" all offsets are those of tagged packets, so that part comes last.
func (n *narrower) text() string {
	var tests []string
	for _, port := range slices.Sorted(maps.Keys(n.ports)) {
		tests = append(tests, fmt.Sprintf("tcp port %d", port))
	}
	any := strings.Join(tests, " or ")
	return fmt.Sprintf("%s or (vlan and (%s))", any, any)
}

func (n *narrower) portList() string {
	var list []string
	for _, port := range slices.Sorted(maps.Keys(n.ports)) {
		list = append(list, fmt.Sprint(port))
	}
	return "port " + strings.Join(list, ", ")
}

func (n *narrower) narrow(now time.Time) {
	if err := n.network.SetFilter(compiled(n.text())); err != nil {
		n.giveUp("%v", err)
		return
	}
	n.state, n.since = narrow, now
}

func (n *narrower) lookAround(now time.Time) {
	if err := n.network.SetFilter(nil); err != nil {
		n.since = now // the narrow filter stays; the next look may do better
		n.say("looking at all ports: %v", err)
		return
	}
	n.state, n.since, n.scout = looking, now, newScout(n.learned, n.keys)
}

// giveUp lets all packets pass from now on.
func (n *narrower) giveUp(format string, args ...any) {
	n.end()
	n.state = unbound
	if err := n.network.SetFilter(nil); err != nil {
		n.say("capturing all ports: %v", err)
		return
	}
	n.say("capturing all ports from now on: %s", fmt.Sprintf(format, args...))
}

// end ends the scout.
func (n *narrower) end() {
	if n.scout != nil {
		n.scout.stop()
		n.scout = nil
	}
}
