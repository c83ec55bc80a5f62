package filter

import (
	"errors"
	"math"

	"golang.org/x/net/bpf"

	"github.com/kdupscan/kdupscan/pcap"
)

// Matcher decides about frames of any link type. It compiles its text once for each.
type Matcher struct {
	expression *expression // nil if the text is a program
	programs   map[pcap.LinkType][]bpf.RawInstruction
	link       pcap.LinkType // of current
	current    []bpf.RawInstruction
}

// NewMatcher reads a text as Compile does. A program in the form of tcpdump -ddd is applied to frames of all link types; one
// that asks for what only the kernel of the capturing host knew is an error.
func NewMatcher(text string) (*Matcher, error) {
	m := &Matcher{programs: make(map[pcap.LinkType][]bpf.RawInstruction)}
	var err error
	if !isProgram(text) {
		m.expression, err = parse(text)
		return m, err
	}
	m.current, err = parseProgram(text)
	for _, in := range m.current {
		if in.Op&7 <= 1 && in.Op&0xe0 == 0x20 && in.K >= kernelData {
			return nil, errors.New("filter: the program was made for a live capture and cannot be run over files")
		}
	}
	return m, err
}

// Match reports whether the frame passes. A program that reads beyond the captured bytes refuses the frame, as the kernel
// does. The error says that frames of this link type cannot be filtered; it comes for the first of them, and each time.
func (m *Matcher) Match(f *pcap.Frame) (bool, error) {
	if m.expression != nil && (m.current == nil || m.link != f.LinkType) {
		program, ok := m.programs[f.LinkType]
		if !ok {
			var err error
			if program, err = m.expression.compile(f.LinkType, math.MaxInt32); err != nil {
				return false, err
			}
			m.programs[f.LinkType] = program
		}
		m.link, m.current = f.LinkType, program
	}
	kept, _ := run(m.current, f.Data, f.OriginalLength)
	return kept != 0, nil
}
