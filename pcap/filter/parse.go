package filter

import (
	"errors"
	"fmt"
	"slices"
)

// expression is a parsed text: a primitive behind a number of VLAN tags, or "and", "or", "not" of others.
type expression struct {
	op          string // "and", "or", "not", or "" for a primitive
	left, right *expression
	primitive   primitive
	tags        int
}

// primitive is one test of a text.
type primitive interface {
	// tests returns the decision tree for the layer of a link type.
	tests(l layer) *node
}

// qualifiers say what a value is: those before it, or those of the value before.
type qualifiers struct {
	protocol string // "" for any
	from     direction
	kind     string // "host", "net", "port", "portrange"
}

type direction int

const (
	either direction = iota
	source
	destination
	both
)

var kinds = []string{"host", "net", "port", "portrange"}

// parser reads tokens by recursive descent. tags and last are what pcap-filter(7) carries from left to right.
type parser struct {
	tokens []token
	tags   int         // VLAN tags passed
	last   *qualifiers // of the value before, nil where none can be inherited
}

var errEmpty = errors.New("the filter is empty")

func parse(text string) (*expression, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	if len(tokens) == 0 {
		return nil, errEmpty
	}
	p := &parser{tokens: tokens}
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t != "" {
		return nil, misplaced(t)
	}
	return e, nil
}

func (p *parser) peek() token {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *parser) next() token {
	t := p.peek()
	if t != "" {
		p.tokens = p.tokens[1:]
	}
	return t
}

// accept consumes the token if it comes next.
func (p *parser) accept(t token) bool {
	if p.peek() != t {
		return false
	}
	p.next()
	return true
}

func misplaced(t token) error {
	if t == "" {
		return errors.New("the filter ends too early")
	}
	return fmt.Errorf("filter: %q is not understood here", string(t))
}

// expression reads terms joined by "and" and "or", which bind equally from left to right.
func (p *parser) expression() (*expression, error) {
	left, err := p.term()
	if err != nil {
		return nil, err
	}
	for p.peek() == "and" || p.peek() == "or" {
		op := string(p.next())
		right, err := p.term()
		if err != nil {
			return nil, err
		}
		left = join(op, left, right)
	}
	return left, nil
}

// join makes one primitive of a list of ports.
func join(op string, left, right *expression) *expression {
	p, ok1 := left.primitive.(ports)
	q, ok2 := right.primitive.(ports)
	if op == "or" && ok1 && ok2 && left.tags == right.tags {
		if all, ok := p.join(q); ok {
			return &expression{primitive: all, tags: left.tags}
		}
	}
	return &expression{op: op, left: left, right: right}
}

func (p *parser) term() (*expression, error) {
	switch {
	case p.accept("not"):
		e, err := p.term()
		return &expression{op: "not", left: e}, err
	case p.peek() == "(":
		return p.parenthesis()
	}
	return p.primitive()
}

// parenthesis reads an expression; behind qualifiers its values inherit them.
func (p *parser) parenthesis() (*expression, error) {
	p.next()
	e, err := p.expression()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t != ")" {
		if t == "" {
			return nil, errors.New(`filter: a ")" is missing`)
		}
		return nil, misplaced(t)
	}
	p.next()
	return e, nil
}

// alone are protocols that are a test by themselves.
var alone = []string{"ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6"}

// primitive reads qualifiers and a value, a value alone, a protocol, or a VLAN tag.
func (p *parser) primitive() (*expression, error) {
	if p.accept("vlan") {
		return p.vlan()
	}
	q, named, sided := qualifiers{}, false, false
	if t := string(p.peek()); slices.Contains(alone, t) {
		p.next()
		q.protocol, named = t, true
	}
	q.from, sided = p.direction()
	if t := string(p.peek()); slices.Contains(kinds, t) {
		p.next()
		q.kind = t
	} else if sided {
		q.kind = "host"
	}
	switch {
	case q.kind != "":
		if err := q.check(); err != nil {
			return nil, err
		}
		p.last = &q
		if p.peek() == "(" {
			return p.parenthesis()
		}
	case named:
		p.last = nil
		return p.place(protocol(q.protocol)), nil
	case p.last == nil || !startsValue(p.peek()):
		return nil, misplaced(p.peek())
	}
	return p.value(*p.last)
}

// place makes an expression of a test behind the tags passed so far.
func (p *parser) place(t primitive) *expression {
	return &expression{primitive: t, tags: p.tags}
}

// direction reads src, dst, or both of them with a word between.
func (p *parser) direction() (direction, bool) {
	first := p.peek()
	if first != "src" && first != "dst" {
		return either, false
	}
	p.next()
	if len(p.tokens) >= 2 && (p.tokens[1] == "src" || p.tokens[1] == "dst") && p.tokens[1] != first {
		switch op := p.tokens[0]; op {
		case "or", "and":
			p.tokens = p.tokens[2:]
			if op == "or" {
				return either, true
			}
			return both, true
		}
	}
	if first == "src" {
		return source, true
	}
	return destination, true
}

// check refuses what means nothing, such as the port of an ARP packet.
func (q *qualifiers) check() error {
	allowed := []string{"", "ip", "ip6", "arp", "rarp"}
	if q.kind == "port" || q.kind == "portrange" {
		allowed = []string{"", "tcp", "udp", "sctp"}
	}
	if !slices.Contains(allowed, q.protocol) {
		return fmt.Errorf("filter: %q cannot stand before %q", q.protocol, q.kind)
	}
	return nil
}

// startsValue reports whether a token can be an address or a number.
func startsValue(t token) bool {
	return t != "" && (t[0] >= '0' && t[0] <= '9' || slices.Contains([]byte(t), ':'))
}

// tests returns the decision tree of an expression.
func (e *expression) tests(l layer) *node {
	switch e.op {
	case "and":
		return and(e.left.tests(l), e.right.tests(l))
	case "or":
		return or(e.left.tests(l), e.right.tests(l))
	case "not":
		return not(e.left.tests(l))
	}
	return e.primitive.tests(l.behind(e.tags))
}
