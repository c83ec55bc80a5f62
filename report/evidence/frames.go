package evidence

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// Write writes the frames of a selection as they are, behind the secrets that the captures hold. source reads what Read has read.
func (p *Plan) Write(w io.Writer, source pcap.Source, s Selection) error {
	out := pcap.NewWriter(w, pcap.WriterOptions{Application: application, Comment: fmt.Sprintf(
		"Evidence of %d findings: %s. Frames are as captured; their comments say what they prove.", len(p.findings), s)})
	for _, secret := range p.secrets {
		if err := out.Secrets(secret); err != nil {
			return err
		}
	}
	chooser := p.chooser(s)
	decoder := reassembly.NewDecoder(p.options.Reassembly, ignoreNote)
	wanted := false
	choose := func(g *reassembly.Segment) {
		wanted = wanted || p.options.Allows(g.Src.Port(), g.Dst.Port()) && chooser.wants(g, g.At.Time)
	}
	var f pcap.Frame
	for {
		err := source.Next(&f)
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err != nil {
			return err
		}
		wanted = s == Everything
		decoder.Decode(&f, choose)
		if !wanted {
			continue
		}
		if err := out.Write(&f, p.commentOn(f.Ref, sameTopic)); err != nil {
			return err
		}
	}
}

// application is what the file says that wrote it.
const application = "kdupscan"

// commentOn returns the comment on a frame: its remarks, each once, a line each.
func (p *Plan) commentOn(at pcap.Ref, names namer) string {
	var lines []string
	for _, r := range p.comments[keyOf(at)] {
		if text := r.text(names); !slices.Contains(lines, text) {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n")
}
