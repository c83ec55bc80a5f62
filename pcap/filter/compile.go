package filter

import (
	"golang.org/x/net/bpf"

	"github.com/kdupscan/kdupscan/pcap"
)

// Compile returns the program of a text for frames of one link type, to be attached to a socket or run by Matcher. It
// returns snaplen for frames to keep. The text is an expression, or a program as tcpdump -ddd prints it, which is returned
// as it is: it does not say for which link type it was made. Errors name the word that is not understood.
func Compile(text string, link pcap.LinkType, snaplen int) ([]bpf.RawInstruction, error) {
	if isProgram(text) {
		return parseProgram(text)
	}
	e, err := parse(text)
	if err != nil {
		return nil, err
	}
	return e.compile(link, snaplen)
}

func (e *expression) compile(link pcap.LinkType, snaplen int) ([]bpf.RawInstruction, error) {
	l, err := layerOf(link)
	if err != nil {
		return nil, err
	}
	return assemble(e.tests(l), uint32(snaplen))
}
