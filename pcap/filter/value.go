package filter

import (
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"
)

// value reads what stands behind qualifiers.
func (p *parser) value(q qualifiers) (*expression, error) {
	t := p.next()
	if t == "" {
		return nil, misplaced(t)
	}
	var v primitive
	var err error
	switch q.kind {
	case "host":
		v, err = host(t, q)
	case "net":
		v, err = p.network(t, q)
	default:
		v, err = portsOf(t, q)
	}
	if err != nil {
		return nil, err
	}
	return p.place(v), nil
}

func host(t token, q qualifiers) (primitive, error) {
	a, err := netip.ParseAddr(string(t))
	if err != nil || a.Zone() != "" {
		return nil, fmt.Errorf("filter: %q is no IP address (names are not looked up)", string(t))
	}
	return addressOf(netip.PrefixFrom(a, a.BitLen()), t, q)
}

// network reads A/LEN, A mask M, or A alone, where the number of bytes written is the length.
func (p *parser) network(t token, q qualifiers) (primitive, error) {
	wrong := fmt.Errorf("filter: %q is no network (names are not looked up)", string(t))
	text, suffix, hasLength := strings.Cut(string(t), "/")
	a, length, err := networkAddress(text)
	if err != nil {
		return nil, wrong
	}
	switch {
	case hasLength:
		n, err := strconv.ParseUint(suffix, 10, 8)
		if err != nil || int(n) > a.BitLen() {
			return nil, wrong
		}
		length = int(n)
	case p.peek() == "mask":
		p.next()
		m := p.next()
		if length, err = maskLength(m); err != nil || !a.Is4() {
			return nil, fmt.Errorf("filter: %q is no mask of an IPv4 network", string(m))
		}
	}
	prefix := netip.PrefixFrom(a, length)
	if prefix.Masked() != prefix {
		return nil, fmt.Errorf("filter: %q has bits set behind its /%d", string(t), length)
	}
	return addressOf(prefix, t, q)
}

// networkAddress reads an address of which trailing zero bytes may be missing.
func networkAddress(text string) (netip.Addr, int, error) {
	dots := strings.Count(text, ".")
	if strings.Contains(text, ":") || dots > 3 {
		a, err := netip.ParseAddr(text)
		if a.Zone() != "" {
			err = strconv.ErrSyntax
		}
		return a, a.BitLen(), err
	}
	a, err := netip.ParseAddr(text + strings.Repeat(".0", 3-dots))
	return a, 8 * (dots + 1), err
}

func maskLength(t token) (int, error) {
	m, err := netip.ParseAddr(string(t))
	if err != nil || !m.Is4() {
		return 0, strconv.ErrSyntax
	}
	b := m.As4()
	v := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	length := bits.LeadingZeros32(^v)
	if v<<length != 0 {
		return 0, strconv.ErrSyntax
	}
	return length, nil
}

func addressOf(prefix netip.Prefix, t token, q qualifiers) (primitive, error) {
	if q.protocol != "" && prefix.Addr().Is4() == (q.protocol == "ip6") {
		return nil, fmt.Errorf("filter: %q cannot stand before %q", q.protocol, string(t))
	}
	return address{prefix, q.protocol, q.from}, nil
}

// portsOf reads a port or a range of ports, whose ends may be swapped.
func portsOf(t token, q qualifiers) (primitive, error) {
	low, high := string(t), string(t)
	if q.kind == "portrange" {
		if a, b, ok := strings.Cut(string(t), "-"); ok {
			low, high = a, b
		}
	}
	from, err := number(low, 16)
	if err != nil {
		return nil, fmt.Errorf("filter: %q is no %s (names are not looked up)", string(t), q.kind)
	}
	to, err := number(high, 16)
	if err != nil {
		return nil, fmt.Errorf("filter: %q is no %s (names are not looked up)", string(t), q.kind)
	}
	return ports{[]portRange{{min(from, to), max(from, to)}}, q.protocol, q.from}, nil
}

// vlan reads the id, if there is one, and moves what follows behind the tag.
func (p *parser) vlan() (*expression, error) {
	v := tag{any: true}
	if t := p.peek(); startsValue(t) {
		p.next()
		id, err := number(string(t), 12)
		if err != nil {
			return nil, fmt.Errorf("filter: %q is no VLAN id", string(t))
		}
		v = tag{id: id}
	}
	e := p.place(v)
	p.tags++
	p.last = nil
	return e, nil
}

// number reads a decimal number, or a hexadecimal one behind 0x. Octal ones, as tcpdump reads "010", are refused.
func number(text string, size int) (uint32, error) {
	base := 10
	if digits, ok := strings.CutPrefix(text, "0x"); ok {
		text, base = digits, 16
	} else if len(text) > 1 && text[0] == '0' {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseUint(text, base, size)
	return uint32(n), err
}
