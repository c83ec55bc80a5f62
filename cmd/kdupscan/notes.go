package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
)

// notes counts notes by code and keeps the first of each by capture time, so that the order in which they are added does
// not matter.
type notes map[pcap.Code]*analysis.NoteCount

func (n notes) add(note pcap.Note) {
	n.count(analysis.NoteCount{Code: note.Code, Count: max(note.Count, 1), First: note})
}

func (n notes) count(c analysis.NoteCount) {
	have := n[c.Code]
	if have == nil {
		n[c.Code] = &c
		return
	}
	have.Count += c.Count
	if compareNotes(c.First, have.First) < 0 {
		have.First = c.First
	}
}

func (n notes) merge(other notes) {
	for _, c := range other {
		n.count(*c)
	}
}

// list returns the notes sorted by code.
func (n notes) list() []analysis.NoteCount {
	var out []analysis.NoteCount
	for _, code := range slices.Sorted(maps.Keys(n)) {
		out = append(out, *n[code])
	}
	return out
}

// compareNotes orders by position, notes without one last.
func compareNotes(a, b pcap.Note) int {
	if a.At.IsZero() != b.At.IsZero() {
		if a.At.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(compareRefs(a.At, b.At), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Connection, b.Connection), cmp.Compare(a.Detail, b.Detail))
}

// compareRefs orders frames as a merged source does.
func compareRefs(a, b pcap.Ref) int {
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Capture, b.Capture), cmp.Compare(a.Number, b.Number))
}

// captureNotes returns what the captures themselves say about what they lack.
func captureNotes(captures []pcap.Capture) notes {
	n := make(notes)
	for i, c := range captures {
		if c.Dropped != nil && *c.Dropped > 0 {
			n.add(pcap.Note{Code: pcap.CodePacketsDropped, Count: int64(*c.Dropped), Detail: c.Name})
		}
		if c.CutShort > 0 {
			n.add(pcap.Note{Code: pcap.CodePacketCut, Count: int64(c.CutShort), Detail: fmt.Sprintf("%d of %d packets of %s", c.CutShort, c.Packets, c.Name)})
		}
		for _, d := range c.Damage {
			n.add(pcap.Note{Code: pcap.CodeCaptureDamaged, At: pcap.Ref{Capture: i, Number: d.Frame, Time: c.Last}, Offset: d.Offset,
				Detail: fmt.Sprintf("%s at byte %d of %s", d.What, d.Offset, c.Name)})
		}
	}
	return n
}
