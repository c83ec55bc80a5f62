package evidence

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// Selection is how much around the evidence is written. Each holds the one before it.
type Selection uint8

// Selections, the smallest first.
const (
	// Messages: those that the findings name, those that name their topics, leaders, producers and clients, and the beginning and
	// end of their connections.
	Messages Selection = iota
	// Partitions: all messages about the partitions and producers of the findings.
	Partitions
	// Window: all messages of these connections between the first and the last of those.
	Window
	// Connections: these connections from beginning to end.
	Connections
	// Everything there is.
	Everything
	nothing
)

// Selections lists all, the smallest first.
func Selections() []Selection {
	return []Selection{Messages, Partitions, Window, Connections, Everything}
}

// String says what is selected.
func (s Selection) String() string {
	return [...]string{
		"the messages of the findings", "all messages on the partitions and producers of the findings",
		"their connections, from the first to the last message of the findings", "their whole connections", "everything", "nothing",
	}[s]
}

// wantsMessage reports whether a message belongs to a selection.
func (p *Plan) wantsMessage(m *kafka.Message, s Selection) bool {
	switch s {
	case Everything:
		return true
	case Connections:
		return p.spans[pairOf(m.Link.Client, m.Link.Server)] != nil
	case Window:
		return p.spans[pairOf(m.Link.Client, m.Link.Server)] != nil && m.At.Time >= p.from && m.First.Time <= p.to
	}
	have, marked := p.marks[p.key(m)]
	return marked && have <= s
}

// frameChooser tells which frames belong to a selection.
type frameChooser struct {
	*Plan
	selection Selection
	spans     map[pair][]span // merged and in order of time
}

func (p *Plan) chooser(s Selection) *frameChooser {
	c := &frameChooser{p, s, make(map[pair][]span)}
	for pair, all := range p.spans {
		if chosen := mergeSpans(all, s); chosen != nil {
			c.spans[pair] = chosen
		}
	}
	return c
}

// mergeSpans returns the spans of a selection in order, overlapping ones joined.
func mergeSpans(all []span, s Selection) []span {
	var out []span
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b span) int { return int(min(1, max(-1, a.from-b.from))) })
	for _, next := range sorted {
		switch last := len(out) - 1; {
		case next.selection > s:
		case last >= 0 && next.from <= out[last].to:
			out[last].to = max(out[last].to, next.to)
		default:
			out = append(out, next)
		}
	}
	return out
}

// wants reports whether the frame of a segment belongs to the selection.
func (c *frameChooser) wants(s *reassembly.Segment, at pcap.Timestamp) bool {
	if c.selection == Everything {
		return true
	}
	spans := c.spans[pairOf(s.Src, s.Dst)]
	switch {
	case spans == nil:
		return false
	case c.selection == Connections || s.Flags&(reassembly.SYN|reassembly.FIN|reassembly.RST) != 0:
		return true
	case c.selection == Window:
		return at >= c.from && at <= c.to
	}
	i, _ := slices.BinarySearchFunc(spans, at, func(s span, t pcap.Timestamp) int {
		if s.to < t {
			return -1
		}
		return 1
	})
	return i < len(spans) && spans[i].from <= at
}
