package reassembly

import "encoding/binary"

// Address families of the BSDs, Windows and Linux; IPv6 has a number of its own on each.
const (
	familyIPv4        = 2
	familyIPv6Linux   = 10
	familyIPv6Windows = 23
	familyIPv6NetBSD  = 24
	familyIPv6FreeBSD = 28
	familyIPv6Darwin  = 30
)

// loopback decodes LINKTYPE_NULL and LINKTYPE_LOOP: four bytes of address family, in the byte order of the capturing
// host or of the network. Families are small, so the order shows.
func (d *Decoder) loopback(p packet) {
	if !d.has(p, 4) {
		return
	}
	family := binary.LittleEndian.Uint32(p.data)
	if family > 0xffff {
		family = binary.BigEndian.Uint32(p.data)
	}
	switch family {
	case familyIPv4, familyIPv6Linux, familyIPv6Windows, familyIPv6NetBSD, familyIPv6FreeBSD, familyIPv6Darwin:
		d.ip(p.after(4))
	}
}
