package pcap

import (
	"fmt"
	"io"
)

// Block types (draft-ietf-opsawg-pcapng, section 11.1).
const (
	blockSection    = 0x0a0d0d0a // the same in both byte orders
	blockInterface  = 1
	blockPacket     = 2 // obsolete
	blockSimple     = 3
	blockNames      = 4
	blockStatistics = 5
	blockEnhanced   = 6
	blockJournal    = 9
	blockSecrets    = 10
	blockCustom     = 0x00000bad
	blockCustomKeep = 0x40000bad // not to be copied by tools that change the file
)

const (
	byteOrderMagic = 0x1a2b3c4d
	blockOverhead  = 12 // type, length, length again
	sectionLen     = blockOverhead + 16
	// maxBlock leaves room for the options beside the longest packet.
	maxBlock = maxPacket + 1<<20
	// maxSecrets bounds the decryption secrets kept of one capture; a TLS session needs some hundred bytes.
	maxSecrets = 16 << 20
)

// pcapngFile is the newer format (draft-ietf-opsawg-pcapng).
type pcapngFile struct {
	r          *Reader
	order      byteOrder       // of the present section
	interfaces []ifDescription // of the present section
	earlier    int             // interfaces of the sections before
	last       Timestamp       // of the last packet that has a time
	secrets    int             // bytes kept
	skipped    int             // entry of Capture.Damage, from 1, for the present section if its version is unknown
}

func newPcapngFile(r *Reader) *pcapngFile {
	r.capture.Format = "pcapng"
	return &pcapngFile{r: r}
}

// startsWell reports whether the file begins with a section header, whole as far as its fixed part goes.
func (p *pcapngFile) startsWell() bool {
	if !p.r.buf.has(sectionLen) {
		return false
	}
	_, ok := sectionOrder(p.r.buf.rest())
	return ok
}

// sectionOrder returns the byte order that a Section Header Block states for its section.
func sectionOrder(block []byte) (order byteOrder, ok bool) {
	switch {
	case byteOrder(true).uint32(block[8:]) == byteOrderMagic:
		return true, true
	case byteOrder(false).uint32(block[8:]) == byteOrderMagic:
		return false, true
	}
	return false, false
}

func (p *pcapngFile) next(f *Frame) error {
	b := &p.r.buf
	for {
		if !b.has(blockOverhead) {
			return p.r.ends("a block header")
		}
		kind, length, fault := p.block(maxBlock)
		if fault != "" {
			if !p.resync(fault) {
				return io.EOF
			}
			continue
		}
		body := b.rest()[8 : length-4 : length-4]
		f.Offset = b.offset
		b.skip(length)
		if p.skipped > 0 && kind != blockSection {
			p.r.lostMore(p.skipped, length)
			continue
		}
		if p.read(kind, body, f) {
			return nil
		}
	}
}

// block makes the block at the start of the buffer available as a whole and returns its type and length, or what is wrong
// with it. It sets the byte order when a section begins.
func (p *pcapngFile) block(limit uint32) (kind uint32, length int, fault string) {
	b := &p.r.buf
	h := b.rest()
	order := p.order
	if kind = order.uint32(h); kind == blockSection {
		var ok bool
		if order, ok = sectionOrder(h); !ok {
			return 0, 0, "a section header without byte order"
		}
	}
	total := order.uint32(h[4:])
	if total < blockOverhead || total > limit || kind == blockSection && total < sectionLen {
		return 0, 0, fmt.Sprintf("not a block (length %d)", total)
	}
	length = int(total)
	if !b.has(length) {
		return 0, 0, "the file ends inside a block"
	}
	if order.uint32(b.rest()[length-4:]) != total {
		return 0, 0, "a block whose two lengths differ"
	}
	p.order = order
	return kind, length, ""
}

// read takes in a block and reports whether it filled f with a packet. Blocks of types not listed are skipped.
func (p *pcapngFile) read(kind uint32, body []byte, f *Frame) bool {
	var fault string
	switch kind {
	case blockEnhanced:
		fault = p.enhanced(body, f)
	case blockSimple:
		fault = p.simple(body, f)
	case blockPacket:
		fault = p.obsolete(body, f)
	default:
		if fault = p.describe(kind, body, f.Offset); fault == "" {
			return false
		}
	}
	if fault != "" {
		p.r.damaged(f.Offset, fault, int64(len(body)+blockOverhead))
		return false
	}
	return true
}

// describe takes in a block that holds no packet.
func (p *pcapngFile) describe(kind uint32, body []byte, offset FileOffset) (fault string) {
	switch kind {
	case blockSection:
		p.section(body, offset)
	case blockInterface:
		return p.addInterface(body)
	case blockStatistics:
		return p.statistics(body)
	case blockSecrets:
		return p.keepSecrets(body)
	}
	return ""
}

// section begins a section: interfaces are counted anew. In a section of unknown version only the block lengths are
// trusted, and all blocks are skipped. Version 1.2 is also written by older tools; a minor version changes no layout.
func (p *pcapngFile) section(body []byte, offset FileOffset) {
	p.earlier += len(p.interfaces)
	p.interfaces = p.interfaces[:0]
	p.skipped = 0
	if major, minor := p.order.uint16(body[4:]), p.order.uint16(body[6:]); major != 1 {
		what := fmt.Sprintf("a section of unknown version %d.%d", major, minor)
		p.skipped = p.r.damaged(offset, what, int64(len(body)+blockOverhead))
	}
}

// keepSecrets copies a Decryption Secrets Block: type, length, data.
func (p *pcapngFile) keepSecrets(body []byte) (fault string) {
	if len(body) < 8 {
		return "a secrets block without room for its header"
	}
	kind, length, data := p.order.uint32(body), p.order.uint32(body[4:]), body[8:]
	if uint64(length) > uint64(len(data)) {
		return "secrets longer than their block"
	}
	// The struct counts too, or empty blocks would be kept without end.
	const overhead = 32
	if p.secrets += overhead + int(length); p.secrets > maxSecrets {
		return fmt.Sprintf("decryption secrets beyond %d MiB, not kept", maxSecrets>>20)
	}
	kept := append([]byte(nil), data[:length]...)
	p.r.capture.Secrets = append(p.r.capture.Secrets, Secret{Type: kind, Data: kept})
	return ""
}
