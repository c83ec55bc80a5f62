package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
)

// scene is the story of a finding as a sequence diagram: lanes, and the steps between them. The diagrams of the formats
// are drawn from it.
type scene struct {
	lanes []lane
	acts  []act
	cut   int // index of the act before which steps were left out
	left  int // how many were left out
}

// laneKind says whose lane it is; lanes stand in this order.
type laneKind int

const (
	laneClient laneKind = iota
	laneBroker
	laneLog
	laneReader
)

// lane is one column of a diagram.
type lane struct {
	kind laneKind
	name string // address, partition; clean; "" for those that no lane of their own is left for
}

// title is what stands above a lane's name.
func (l lane) title() string {
	return [...]string{"client", "broker", "log of", "readers"}[l.kind]
}

// maxLanes is how many lanes of one kind a diagram has; what comes after them shares the last one.
var maxLanes = [...]int{laneClient: 2, laneBroker: 4, laneLog: 2, laneReader: 1}

// tone is what an act means for the records, and so its colour.
type tone string

const (
	toneSend    tone = "send"
	toneOK      tone = "ok"
	toneFailed  tone = "failed"  // an error, yet appended
	toneRefused tone = "refused" // an error, not appended
	toneRead    tone = "read"
	toneTurn    tone = "turn" // leader change, epoch bump: concerns all lanes
	toneLost    tone = "lost"
)

// act is a step with its place in the diagram.
type act struct {
	step
	from, to   int // indexes of lanes; equal for what happens at one
	tone       tone
	head, tail string // two short lines; clean
	marks      []mark
}

// mark is a place in the log that an act shows.
type mark struct {
	lane, copy int
	offsets    string
	again      bool // an earlier act has shown it
	inferred   bool // from the offsets around it alone
}

// scene returns the story of f with at most limit steps.
func (v *view) scene(f *analysis.Finding, limit int) *scene {
	shown, cut, left := steps(f.Timeline, limit)
	s := &scene{cut: cut, left: left}
	s.addLanes(f, shown)
	seen := make(map[string]bool)
	for i := range shown {
		s.acts = append(s.acts, s.act(f, &shown[i], seen))
	}
	return s
}

// addLanes makes a lane for each client host, broker, log and for the readers that the steps tell of.
func (s *scene) addLanes(f *analysis.Finding, shown []step) {
	var names [4][]string
	add := func(kind laneKind, name string) {
		if !slices.Contains(names[kind], name) {
			names[kind] = append(names[kind], name)
		}
	}
	for i := range shown {
		e := &shown[i].Event
		if e.Kind == analysis.EventFetchResponse {
			add(laneReader, "")
			continue
		}
		if !across(e.Kind) {
			add(laneClient, host(e.At))
			add(laneBroker, address(e.At.Server))
		}
	}
	for i := range f.Copies {
		add(laneLog, place(f.Copies[i].Topic, f.Copies[i].Partition))
	}
	for kind, all := range names {
		most := maxLanes[kind]
		for i, name := range all {
			if i == most-1 && len(all) > most {
				name = ""
			}
			if i < most {
				s.lanes = append(s.lanes, lane{laneKind(kind), name})
			}
		}
	}
}

// host is the client's address without its port, which differs by connection; "?" where unknown.
func host(p analysis.Position) string {
	if !p.Client.IsValid() {
		return "?"
	}
	return p.Client.Addr().Unmap().String()
}

// lane returns the index of the lane of a kind and name, or of the last of that kind.
func (s *scene) lane(kind laneKind, name string) int {
	last := 0
	for i, l := range s.lanes {
		if l.kind == kind {
			if last = i; l.name == name {
				return i
			}
		}
	}
	return last
}

func (s *scene) act(f *analysis.Finding, st *step, seen map[string]bool) act {
	e := &st.Event
	a := act{step: *st, marks: s.marks(f, st, seen)}
	a.head, a.tail = brief(f, e)
	client, broker := s.lane(laneClient, host(e.At)), s.lane(laneBroker, address(e.At.Server))
	switch e.Kind {
	case analysis.EventProduceRequest:
		a.from, a.to, a.tone = client, broker, toneSend
	case analysis.EventProduceResponse:
		a.from, a.to, a.tone = broker, client, answerTone(e)
	case analysis.EventFetchResponse:
		log := s.lane(laneLog, place(e.Topic, e.Partition))
		if len(a.marks) > 0 {
			log = a.marks[0].lane
		}
		a.from, a.to, a.tone = log, s.lane(laneReader, ""), toneRead
	case analysis.EventConnectionLost, analysis.EventNoAnswer:
		a.from, a.to, a.tone = broker, client, toneLost
	case analysis.EventMetadata, analysis.EventInitProducerID:
		a.from, a.to, a.tone = broker, client, toneTurn
	default:
		a.from, a.to, a.tone = 0, len(s.lanes)-1, toneTurn
	}
	return a
}

// across reports whether an event concerns all lanes rather than two.
func across(kind analysis.EventKind) bool {
	switch kind {
	case analysis.EventLeaderChange, analysis.EventEpochBump, analysis.EventTransactionEnd:
		return true
	}
	return false
}

func answerTone(e *analysis.Event) tone {
	switch {
	case e.ErrorCode == 0:
		return toneOK
	case e.Offset >= 0:
		return toneFailed
	}
	return toneRefused
}

// marks returns where the step shows a copy to stand: the offset of an answer or a fetch that lies within the copy. A copy
// that only the gap around it shows is marked at its first send.
func (s *scene) marks(f *analysis.Finding, st *step, seen map[string]bool) []mark {
	var out []mark
	for _, n := range st.copies {
		c := &f.Copies[n-1]
		offsets, inferred := "", false
		switch {
		case c.BaseOffset < 0:
			continue
		case c.OffsetSource == analysis.OffsetFromGap && st.Kind == analysis.EventProduceRequest:
			offsets, inferred = span(c.BaseOffset, c.LastOffset), true
		case st.Offset >= c.BaseOffset && st.Offset <= c.LastOffset:
			offsets = batchSpan(c, st.Offset)
		default:
			continue
		}
		key := fmt.Sprintf("%d %s", n, offsets)
		if inferred && seen[key] {
			continue
		}
		out = append(out, mark{s.lane(laneLog, place(c.Topic, c.Partition)), n, offsets, seen[key], inferred})
		seen[key] = true
	}
	return out
}

// batchSpan is the offsets of the batch of c that stands at the given one.
func batchSpan(c *analysis.Copy, offset int64) string {
	for _, b := range c.Batches {
		if b.BaseOffset >= 0 && b.BaseOffset <= offset && offset <= b.LastOffset {
			return span(max(b.BaseOffset, c.BaseOffset), min(b.LastOffset, max(c.LastOffset, b.BaseOffset)))
		}
	}
	if len(c.Batches) == 1 {
		return span(c.BaseOffset, c.LastOffset)
	}
	return fmt.Sprint(offset)
}

// briefWidth is how many columns a line of a diagram has.
const briefWidth = 32

// brief words an event in two short lines for a diagram; the sentence that says all stands beside it.
func brief(f *analysis.Finding, e *analysis.Event) (head, tail string) {
	switch e.Kind {
	case analysis.EventProduceRequest:
		head, tail = "Produce"+correlation(e), briefBatch(e)
	case analysis.EventProduceResponse:
		head, tail = briefAnswer(e), errorName(e.ErrorCode)
		if e.ErrorCode == 0 {
			tail = ""
		}
	case analysis.EventFetchResponse:
		head, tail = "fetched", "by "+reader(e.ReplicaID)
		if e.Offset >= 0 {
			head += fmt.Sprintf(" offset %d", e.Offset)
		}
	case analysis.EventConnectionLost:
		head = "connection lost"
	case analysis.EventNoAnswer:
		head, tail = "no answer", "to Produce"+correlation(e)
	case analysis.EventInitProducerID:
		head, tail = "InitProducerId", strings.TrimPrefix(initText(e), "InitProducerId: ")
	case analysis.EventMetadata:
		head, tail = "Metadata", leads(e)
	case analysis.EventEpochBump:
		return fmt.Sprintf("producer %d: epoch %d from here on", e.ProducerID, e.ProducerEpoch), ""
	default:
		return eventText(f, e), ""
	}
	if where := elsewhere(f, e); where != "" {
		head, _, _ = strings.Cut(head, ",")
		head += where
	}
	if e.Repeat > 0 {
		head += fmt.Sprintf(" (%d times)", e.Repeat+1)
	}
	return trim(head), trim(tail)
}

// trim cuts text that is clean already to the width of a diagram.
func trim(s string) string {
	if runes := []rune(s); len(runes) > briefWidth {
		return strings.TrimRight(string(runes[:briefWidth-1]), ` \`) + "…"
	}
	return s
}

func briefBatch(e *analysis.Event) string {
	switch {
	case !e.HasBatch:
		return ""
	case e.ProducerID < 0:
		return "CRC " + crc(e.CRC)
	}
	return fmt.Sprintf("epoch %d, seq %s", e.ProducerEpoch, span(int64(e.BaseSequence), int64(e.LastSequence)))
}

func briefAnswer(e *analysis.Event) string {
	said := "OK"
	if e.ErrorCode != 0 {
		said = fmt.Sprintf("error %d", e.ErrorCode)
	}
	switch {
	case e.Deduplicated:
		return fmt.Sprintf("%s, offset %d again", said, e.Offset)
	case e.Offset >= 0 && e.ErrorCode != 0:
		return fmt.Sprintf("%s, yet offset %d", said, e.Offset)
	case e.Offset >= 0:
		return fmt.Sprintf("%s, offset %d", said, e.Offset)
	case saysNothing(e.ErrorCode):
		return said
	}
	return said + ", not appended"
}
