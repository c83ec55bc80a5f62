package evidence

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"net/netip"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// Options of a Plan.
type Options struct {
	Reassembly reassembly.Limits
	Kafka      kafka.Limits
	// Allows restricts the connections to those between certain ports, as in the scan that gave the findings.
	Allows func(a, b uint16) bool
	// Decrypt, where not nil, returns a handler of events that hands their plaintext on to next.
	Decrypt func(next func(*reassembly.Event)) func(*reassembly.Event)
	// Memory bounds the marks on messages, and the bytes of a redacted file, which is put in order in memory.
	Memory int64
}

// ErrTooLarge says that a redacted file would need more than Options.Memory.
var ErrTooLarge = errors.New("the evidence is too large to be redacted in memory")

// Plan knows which messages and frames the findings need.
type Plan struct {
	options  Options
	findings []*analysis.Finding
	facts    facts
	digest   hash.Hash
	secrets  []pcap.Secret // of the captures

	marks    map[messageKey]Selection // the least selection that a message belongs to
	spans    map[pair][]span          // frames of connections that are needed
	comments map[frameKey][]remark    // what frames prove
	proof    map[messageKey]bool      // the messages that have remarks
	opened   map[*kafka.Link]pcap.Ref // first frame of each open connection
	current  Selection                // of the message whose observations are coming in
	remarks  []remark                 // on that message
	from, to pcap.Timestamp           // of all spans
}

// messageKey names a message in every pass over the same captures.
type messageKey struct {
	opened         frameKey // of its connection
	client, server netip.AddrPort
	fromClient     bool
	start          reassembly.StreamOffset
}

// frameKey is a pcap.Ref without its time.
type frameKey struct {
	capture int
	number  pcap.FrameNumber
}

func keyOf(r pcap.Ref) frameKey { return frameKey{r.Capture, r.Number} }

// pair is the two ends of a connection, the lower one first.
type pair struct{ low, high netip.AddrPort }

func pairOf(a, b netip.AddrPort) pair {
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	return pair{a, b}
}

// span is a time in which the frames of a connection are needed.
type span struct {
	from, to  pcap.Timestamp
	selection Selection
}

// NewPlan returns a plan for the findings, which are numbered in their order.
func NewPlan(findings []*analysis.Finding, o Options) *Plan {
	return &Plan{
		options: o, findings: findings, facts: factsOf(findings), digest: sha256.New(),
		marks: make(map[messageKey]Selection), spans: make(map[pair][]span), comments: make(map[frameKey][]remark),
		proof: make(map[messageKey]bool), opened: make(map[*kafka.Link]pcap.Ref), current: nothing,
	}
}

// Read marks what of the source the findings need.
func (p *Plan) Read(source pcap.Source) error {
	o := kafka.Options{Limits: p.options.Kafka, Messages: p.message}
	decoder := kafka.NewDecoder(o, p.observe, ignoreNote)
	err := p.read(source, decoder.Handle, func(f *pcap.Frame) {
		var head [12]byte
		binary.BigEndian.PutUint64(head[:], uint64(f.Time))
		binary.BigEndian.PutUint32(head[8:], uint32(len(f.Data)))
		p.digest.Write(head[:])
		p.digest.Write(f.Data)
	})
	for _, c := range source.Captures() {
		p.secrets = append(p.secrets, c.Secrets...)
	}
	return err
}

func ignoreNote(pcap.Note) {}

// read passes the frames of source to see, and the events of its connections to handle.
func (p *Plan) read(source pcap.Source, handle func(*reassembly.Event), see func(*pcap.Frame)) error {
	if p.options.Decrypt != nil {
		handle = p.options.Decrypt(handle)
	}
	frames := reassembly.NewDecoder(p.options.Reassembly, ignoreNote)
	assembler := reassembly.NewAssembler(p.options.Reassembly, handle, ignoreNote)
	push := func(s *reassembly.Segment) {
		if p.options.Allows(s.Src.Port(), s.Dst.Port()) {
			assembler.Push(s)
		}
	}
	var f pcap.Frame
	for {
		err := source.Next(&f)
		if errors.Is(err, io.EOF) {
			assembler.Finish()
			return nil
		}
		if err != nil {
			return err
		}
		see(&f)
		frames.Decode(&f, push)
	}
}

// observe takes what a message says, before the message itself.
func (p *Plan) observe(o kafka.Observation) {
	p.follow(o)
	switch o := o.(type) {
	case *kafka.LinkOpened, *kafka.LinkClosed, *kafka.GapSeen, *kafka.AnswerUnread:
	case *kafka.AnswerAcked:
		if s, marked := p.marks[p.requestKey(o.Link, o.Request)]; marked {
			p.span(o.Link, o.At, o.At, s)
		}
	default:
		s, text := p.facts.needs(o)
		p.current = min(p.current, s)
		if text.words != nil {
			p.remarks = append(p.remarks, text)
		}
	}
}

// follow keeps track of the open connections.
func (p *Plan) follow(o kafka.Observation) {
	switch o := o.(type) {
	case *kafka.LinkOpened:
		p.opened[o.Link] = o.At
	case *kafka.LinkClosed:
		delete(p.opened, o.Link)
	}
}

// message takes a message whose observations have come.
func (p *Plan) message(m *kafka.Message) {
	s, remarks := p.current, p.remarks
	p.current, p.remarks = nothing, nil
	for _, e := range p.facts.events[keyOf(m.At)] {
		if e.isIn(m) {
			s = Messages
			remarks = append(remarks, e.remark)
		}
	}
	request := p.requestKey(m.Link, m.Request)
	if !m.FromClient && m.Request != nil {
		if asked, marked := p.marks[request]; marked {
			s = min(s, asked)
		}
	}
	if s == nothing {
		return
	}
	p.mark(p.key(m), m.Link, m.First, m.At, s)
	if !m.FromClient && m.Request != nil {
		p.mark(request, m.Link, m.Request.First, m.Request.At, s)
	}
	if len(remarks) > 0 {
		p.proof[p.key(m)] = true
		p.remark(m.At, remarks)
	}
}

// remarksOn reports whether there are remarks on a message.
func (p *Plan) remarksOn(m *kafka.Message) bool { return p.proof[p.key(m)] }

// markCost is what a mark and its span need in memory. Where there are more messages about the partitions of the findings than
// memory allows, the selection of them is not whole and will not do; a wider one needs no marks.
const markCost = 400

func (p *Plan) mark(key messageKey, l *kafka.Link, first, at pcap.Ref, s Selection) {
	have, marked := p.marks[key]
	if marked && have <= s || s > Messages && int64(len(p.marks))*markCost > p.options.Memory {
		return
	}
	p.marks[key] = s
	p.span(l, first, at, s)
}

func (p *Plan) span(l *kafka.Link, first, at pcap.Ref, s Selection) {
	key := pairOf(l.Client, l.Server)
	p.spans[key] = append(p.spans[key], span{min(first.Time, at.Time), max(first.Time, at.Time), s})
	if p.to == 0 {
		p.from = first.Time
	}
	p.from, p.to = min(p.from, first.Time), max(p.to, at.Time)
}

// maxRemarks bounds the remarks on one frame: a comment that nobody reads proves nothing.
const maxRemarks = 8

func (p *Plan) remark(at pcap.Ref, remarks []remark) {
	key := keyOf(at)
	for _, r := range remarks {
		if len(p.comments[key]) < maxRemarks {
			p.comments[key] = append(p.comments[key], r)
		}
	}
}

func (p *Plan) key(m *kafka.Message) messageKey {
	return messageKey{keyOf(p.opened[m.Link]), m.Link.Client, m.Link.Server, m.FromClient, m.Start}
}

func (p *Plan) requestKey(l *kafka.Link, r *kafka.Request) messageKey {
	if r == nil {
		return messageKey{}
	}
	return messageKey{keyOf(p.opened[l]), l.Client, l.Server, true, r.Offset}
}
