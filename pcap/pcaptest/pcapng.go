package pcaptest

import (
	"slices"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
)

// Block types of pcapng (draft-ietf-opsawg-pcapng, section 11.1).
const (
	BlockSection    = 0x0a0d0d0a
	BlockInterface  = 1
	BlockPacket     = 2 // obsolete
	BlockSimple     = 3
	BlockNames      = 4
	BlockStatistics = 5
	BlockEnhanced   = 6
	BlockSecrets    = 10
	BlockCustom     = 0xbad
)

// Option is one option of a pcapng block, without padding.
type Option struct {
	Code  uint16
	Value []byte
}

// PCAPNG builds a pcapng file block by block. The zero value is empty and little-endian; begin with Section.
type PCAPNG struct {
	BigEndian bool // byte order of the blocks to come; change it only right before Section
	file      []byte
}

// EncodePCAPNG returns a file of one little-endian section with nanosecond times and one interface for each link type.
func EncodePCAPNG(packets ...Packet) []byte {
	var b PCAPNG
	b.Section()
	var links []pcap.LinkType
	for _, p := range packets {
		if !slices.Contains(links, p.LinkType) {
			links = append(links, p.LinkType)
			b.Interface(p.LinkType, 0, Option{Code: 9, Value: []byte{9}})
		}
	}
	for _, p := range packets {
		b.Enhanced(slices.Index(links, p.LinkType), uint64(p.Time.UnixNano()), p.Data, p.wireLength())
	}
	return b.Bytes()
}

// Bytes returns the file so far, which stays the builder's.
func (b *PCAPNG) Bytes() []byte { return b.file }

// Len returns the length of the file so far: the offset of the next block.
func (b *PCAPNG) Len() int { return len(b.file) }

// Section adds a Section Header Block, version 1.0, of unknown section length.
func (b *PCAPNG) Section(options ...Option) { b.SectionVersion(1, 0, options...) }

// SectionVersion adds a Section Header Block of some other version.
func (b *PCAPNG) SectionVersion(major, minor uint16, options ...Option) {
	o := order(b.BigEndian)
	body := o.AppendUint32(nil, 0x1a2b3c4d)
	body = o.AppendUint16(body, major)
	body = o.AppendUint16(body, minor)
	body = o.AppendUint64(body, ^uint64(0))
	b.Block(BlockSection, b.options(body, options))
}

// Interface adds an Interface Description Block; snapLen 0 means no limit.
func (b *PCAPNG) Interface(link pcap.LinkType, snapLen uint32, options ...Option) {
	o := order(b.BigEndian)
	body := o.AppendUint16(nil, uint16(link))
	body = o.AppendUint16(body, 0)
	body = o.AppendUint32(body, snapLen)
	b.Block(BlockInterface, b.options(body, options))
}

// Enhanced adds an Enhanced Packet Block. Ticks are in the unit of the interface.
func (b *PCAPNG) Enhanced(iface int, ticks uint64, data []byte, length int, options ...Option) {
	o := order(b.BigEndian)
	body := o.AppendUint32(nil, uint32(iface))
	body = o.AppendUint32(body, uint32(ticks>>32))
	body = o.AppendUint32(body, uint32(ticks))
	body = o.AppendUint32(body, uint32(len(data)))
	body = o.AppendUint32(body, uint32(length))
	b.Block(BlockEnhanced, b.options(pad(append(body, data...)), options))
}

// Micro is Enhanced for an interface of the default resolution.
func (b *PCAPNG) Micro(iface int, t time.Time, data []byte) {
	b.Enhanced(iface, uint64(t.UnixMicro()), data, len(data))
}

// Simple adds a Simple Packet Block, which has neither time nor interface.
func (b *PCAPNG) Simple(data []byte, length int) {
	b.Block(BlockSimple, append(order(b.BigEndian).AppendUint32(nil, uint32(length)), data...))
}

// Packet adds an obsolete Packet Block; drops 0xffff means unknown.
func (b *PCAPNG) Packet(iface, drops uint16, ticks uint64, data []byte, length int, options ...Option) {
	o := order(b.BigEndian)
	body := o.AppendUint16(nil, iface)
	body = o.AppendUint16(body, drops)
	body = o.AppendUint32(body, uint32(ticks>>32))
	body = o.AppendUint32(body, uint32(ticks))
	body = o.AppendUint32(body, uint32(len(data)))
	body = o.AppendUint32(body, uint32(length))
	b.Block(BlockPacket, b.options(pad(append(body, data...)), options))
}

// Statistics adds an Interface Statistics Block.
func (b *PCAPNG) Statistics(iface int, ticks uint64, options ...Option) {
	o := order(b.BigEndian)
	body := o.AppendUint32(nil, uint32(iface))
	body = o.AppendUint32(body, uint32(ticks>>32))
	body = o.AppendUint32(body, uint32(ticks))
	b.Block(BlockStatistics, b.options(body, options))
}

// Secrets adds a Decryption Secrets Block; the type of a TLS key log is 0x544c534b.
func (b *PCAPNG) Secrets(kind uint32, data []byte) {
	o := order(b.BigEndian)
	body := o.AppendUint32(nil, kind)
	body = o.AppendUint32(body, uint32(len(data)))
	b.Block(BlockSecrets, append(body, data...))
}

// Block adds any block: type, length, padded body, length again.
func (b *PCAPNG) Block(kind uint32, body []byte) {
	o := order(b.BigEndian)
	body = pad(body)
	total := uint32(12 + len(body))
	b.file = o.AppendUint32(b.file, kind)
	b.file = o.AppendUint32(b.file, total)
	b.file = append(b.file, body...)
	b.file = o.AppendUint32(b.file, total)
}

// Raw adds bytes as they are: damage.
func (b *PCAPNG) Raw(data []byte) { b.file = append(b.file, data...) }

// Uint64 makes an option of eight bytes in the present byte order.
func (b *PCAPNG) Uint64(code uint16, v uint64) Option {
	return Option{code, order(b.BigEndian).AppendUint64(nil, v)}
}

// options adds the options and their end mark, if there are any.
func (b *PCAPNG) options(body []byte, options []Option) []byte {
	if len(options) == 0 {
		return body
	}
	o := order(b.BigEndian)
	for _, opt := range options {
		body = o.AppendUint16(body, opt.Code)
		body = o.AppendUint16(body, uint16(len(opt.Value)))
		body = pad(append(body, opt.Value...))
	}
	return append(body, 0, 0, 0, 0)
}

// pad fills up to a multiple of four bytes.
func pad(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}
