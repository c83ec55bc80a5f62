package reassembly

import (
	"encoding/binary"

	"github.com/kdupscan/kdupscan/pcap"
)

// pktap decodes LINKTYPE_PKTAP of macOS: a header that states its own length and the link type of what follows, both
// little-endian. Only what macOS has inside is decoded: Ethernet, loopback and raw IP.
func (d *Decoder) pktap(p packet) {
	if !d.has(p, 12) {
		return
	}
	size := binary.LittleEndian.Uint32(p.data)
	if size < 12 || uint64(size) > uint64(len(p.data)) {
		d.report(CodeMalformed, "PKTAP header length")
		return
	}
	inner := p.after(int(size))
	switch link := binary.LittleEndian.Uint32(p.data[8:]); pcap.LinkType(min(link, 0xffff)) {
	case pcap.LinkTypeEthernet:
		d.ethernet(inner)
	case pcap.LinkTypeNull, pcap.LinkTypeLoop:
		d.loopback(inner)
	case pcap.LinkTypeRawBSD, pcap.LinkTypeRaw:
		d.ip(inner)
	}
}
