package pcap

// Options of packet blocks (draft-ietf-opsawg-pcapng, section 4.3).
const optDropCount = 4 // packets lost before this one, 8 bytes

// enhanced reads an Enhanced Packet Block: interface, then as capturedPacket.
func (p *pcapngFile) enhanced(body []byte, f *Frame) (fault string) {
	if len(body) < 4 {
		return "a packet block without room for its header"
	}
	number := p.order.uint32(body)
	options, fault := p.capturedPacket(number, body[4:], f)
	if fault == "" && len(options) > 0 {
		p.dropCount(&p.interfaces[number], options)
	}
	return fault
}

// obsolete reads a Packet Block: interface and drops in 16 bits each, then as capturedPacket.
func (p *pcapngFile) obsolete(body []byte, f *Frame) (fault string) {
	if len(body) < 4 {
		return "a packet block without room for its header"
	}
	number, drops := p.order.uint16(body), p.order.uint16(body[2:])
	_, fault = p.capturedPacket(uint32(number), body[4:], f)
	const unknown = 0xffff
	if fault == "" && drops != unknown {
		p.addPacketDrops(&p.interfaces[number], uint64(drops))
	}
	return fault
}

// capturedPacket reads what both have in common: time in two halves, captured and original length, data, options.
func (p *pcapngFile) capturedPacket(number uint32, body []byte, f *Frame) (options []byte, fault string) {
	const header = 16
	if len(body) < header {
		return nil, "a packet block without room for its header"
	}
	if uint64(number) >= uint64(len(p.interfaces)) {
		return nil, "a packet of an interface that is not described"
	}
	captured, data := p.order.uint32(body[8:]), body[header:]
	if uint64(captured) > uint64(len(data)) {
		return nil, "a packet longer than its block"
	}
	i := &p.interfaces[number]
	f.Time = i.clock.timestamp(uint64(p.order.uint32(body))<<32 | uint64(p.order.uint32(body[4:])))
	f.LinkType = i.linkType
	f.Interface = p.earlier + int(number)
	f.Data = data[:captured:captured]
	f.OriginalLength = originalLength(p.order.uint32(body[12:]), len(f.Data))
	p.last = f.Time
	return data[min(padded(int(captured)), len(data)):], ""
}

// simple reads a Simple Packet Block: original length and data, of the first interface. It has no time; it gets that of
// the packet before, which keeps it in its place when captures are merged.
func (p *pcapngFile) simple(body []byte, f *Frame) (fault string) {
	if len(body) < 4 {
		return "a packet block without room for its header"
	}
	if len(p.interfaces) == 0 {
		return "a packet of an interface that is not described"
	}
	i := &p.interfaces[0]
	original, data := p.order.uint32(body), body[4:]
	captured := min(uint64(original), uint64(len(data)))
	if i.snapLen > 0 {
		captured = min(captured, uint64(i.snapLen))
	}
	f.Time = p.last
	f.LinkType = i.linkType
	f.Interface = p.earlier
	f.Data = data[:captured:captured]
	f.OriginalLength = originalLength(original, len(f.Data))
	return ""
}

func (p *pcapngFile) dropCount(i *ifDescription, options []byte) {
	for o := (optionReader{order: p.order, rest: options}); o.next(); {
		if o.code == optDropCount && len(o.value) == 8 {
			p.addPacketDrops(i, p.order.uint64(o.value))
		}
	}
}
