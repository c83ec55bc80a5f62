package pcaptest

import "encoding/binary"

// PCAP describes a file in the older capture format. The zero value is what tcpdump writes on a small machine:
// little-endian, microseconds, snapshot length 262144.
type PCAP struct {
	BigEndian bool
	Nano      bool   // nanosecond magic
	Modified  bool   // Kuznetzov's format: record headers of 24 bytes; excludes Nano
	SnapLen   uint32 // 0 stands for 262144
	LinkField uint32 // whole link-type field, FCS bits included; 0 stands for the link type of the first packet, else Ethernet
}

// PCAPHeaderLen is the length of the file header, the offset of the first record.
const PCAPHeaderLen = 24

// Encode returns a whole file.
func (c PCAP) Encode(packets ...Packet) []byte {
	file := c.Header(packets...)
	for _, p := range packets {
		file = append(file, c.Record(p)...)
	}
	return file
}

// Header returns the file header. The packets only give the link type.
func (c PCAP) Header(packets ...Packet) []byte {
	magic := uint32(0xa1b2c3d4)
	switch {
	case c.Nano:
		magic = 0xa1b23c4d
	case c.Modified:
		magic = 0xa1b2cd34
	}
	snapLen, link := c.SnapLen, c.LinkField
	if snapLen == 0 {
		snapLen = 262144
	}
	if link == 0 {
		link = 1
		if len(packets) > 0 {
			link = uint32(packets[0].LinkType)
		}
	}
	o := order(c.BigEndian)
	h := o.AppendUint32(nil, magic)
	h = o.AppendUint16(h, 2)
	h = o.AppendUint16(h, 4)
	h = append(h, make([]byte, 8)...) // time zone and accuracy, always zero
	h = o.AppendUint32(h, snapLen)
	return o.AppendUint32(h, link)
}

// Record returns one packet with its record header.
func (c PCAP) Record(p Packet) []byte {
	fraction := uint32(p.Time.Nanosecond())
	if !c.Nano {
		fraction /= 1000
	}
	o := order(c.BigEndian)
	r := o.AppendUint32(nil, uint32(p.Time.Unix()))
	r = o.AppendUint32(r, fraction)
	r = o.AppendUint32(r, uint32(len(p.Data)))
	r = o.AppendUint32(r, uint32(p.wireLength()))
	if c.Modified {
		r = o.AppendUint32(r, 2)      // interface index
		r = o.AppendUint16(r, 0x0800) // protocol
		r = append(r, 0 /* packet type */, 0 /*pad*/)
	}
	return append(r, p.Data...)
}

// byteOrder is what both encoding/binary orders offer.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

func order(bigEndian bool) byteOrder {
	if bigEndian {
		return binary.BigEndian
	}
	return binary.LittleEndian
}
