package reassembly

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
)

// Invariants: no panic; every segment's payload is part of the frame or of a reassembled datagram, and no longer than
// its length on the wire; fragments stay within their bound.
func FuzzDecoder(f *testing.F) {
	links := []pcap.LinkType{pcap.LinkTypeEthernet, pcap.LinkTypeLinuxSLL, pcap.LinkTypeLinuxSLL2, pcap.LinkTypeRaw, pcap.LinkTypeNull,
		pcap.LinkTypePPP, pcap.LinkTypePPPoE, pcap.LinkTypeCiscoHDLC, pcap.LinkTypeNFLog, pcap.LinkTypePktap, linkTypeMPLS, pcap.LinkTypeWiFi}
	eth, packet := unhex("020000000001 020000000002 0800"), ip4Packet("payload of a packet")
	f.Add(uint8(0), append(bytes.Clone(eth), packet...), uint16(0))
	f.Add(uint8(3), packet, uint16(40))
	f.Add(uint8(3), ip6Packet("payload of a packet"), uint16(0))
	f.Add(uint8(3), fragment4(packet, 8, 16, 1), uint16(0))
	f.Add(uint8(3), fragment6(ip6Packet("payload of a packet"), 8, 24, 1), uint16(0))
	for _, header := range []string{
		"45000000 00000000 402f0000 c0a80001 c0a80002 b000 0800 00000000 00000001 00000002",
		"45000000 00000000 402f0000 c0a80001 c0a80002 1000 22eb 00000001 2001000a 00000000 0000 0001 0000000000000000 020000000001 020000000002 0800",
		"45000000 00000000 40110000 c0a80001 c0a80002 c000 12b5 0000 0000 0c000004 00000100 0002 01 03 00000000 020000000001 020000000002 0800",
		"45000000 00000000 40110000 c0a80001 c0a80002 c000 17c1 0000 0000 0200 0800 00000100 0000000000000000",
		"45000000 00000000 40110000 c0a80001 c0a80002 c000 0868 0000 0000 34 ff 0000 00000001 0000 00 85 01 0000 00",
		"45000000 00000000 40330000 c0a80001 c0a80002 04 04 0000 00000001 00000001 000000000000000000000000",
		"60000000 0000 00 40 20010db8000000000000000000000009 20010db8000000000000000000000008 2b00000000000000 3c00000000000000 0400c20400100000",
	} {
		f.Add(uint8(3), append(unhex(header), packet...), uint16(7))
	}
	f.Add(uint8(8), append(unhex("02000000 0800 0100 00000000 ffff 0900"), packet...), uint16(0))
	f.Fuzz(func(t *testing.T, link uint8, data []byte, more uint16) {
		limits := DefaultLimits()
		limits.FragmentBytes = 4096
		d := NewDecoder(limits, func(pcap.Note) {})
		// Twice, and with the end cut off, so that fragments meet each other.
		for i, data := range [][]byte{data, data[:len(data)/2], data} {
			frame := pcap.Frame{Ref: pcap.Ref{Number: pcap.FrameNumber(i + 1)}, LinkType: links[int(link)%len(links)], Data: data, OriginalLength: len(data) + int(more)}
			d.Decode(&frame, func(s *Segment) {
				if len(s.Payload) > s.Length {
					t.Fatalf("%d bytes of payload, length %d", len(s.Payload), s.Length)
				}
				s.Hash()
			})
			if d.fragments.bytes > limits.FragmentBytes || d.fragments.bytes < 0 {
				t.Fatalf("fragments hold %d bytes", d.fragments.bytes)
			}
		}
	})
}

// Each step of the script is 12 bytes: flags and side, connection, offset (as a sequence number near one of a few places),
// length, captured length, acknowledgement, time.
func fuzzSegments(script []byte) []Segment {
	places := []uint32{0, 0xfffffff0, 1 << 30, 1<<31 - 8, 1 << 31, 3 << 30}
	var now pcap.Timestamp
	var segments []Segment
	for ; len(script) >= 12 && len(segments) < 1000; script = script[12:] {
		b := script
		s := Segment{Src: endpointA, Dst: endpointB, Flags: b[0] & 0x1f}
		if b[0]&0x20 != 0 {
			s.Src, s.Dst = s.Dst, s.Src
		}
		s.Seq = places[int(b[1]&7)%len(places)] + uint32(binary.BigEndian.Uint16(b[2:]))
		s.Ack = places[int(b[1]>>3&7)%len(places)] + uint32(binary.BigEndian.Uint16(b[4:]))
		s.Length = int(binary.BigEndian.Uint16(b[6:])) >> (b[1] >> 6 * 4)
		s.Payload = bytes.Repeat([]byte{b[11]}, s.Length)[:min(s.Length, s.Length*(1+int(b[8]&3))/2)]
		now += pcap.Timestamp(b[9]) << (b[10] & 31)
		s.At = pcap.Ref{Number: pcap.FrameNumber(len(segments) + 1), Time: now}
		segments = append(segments, s)
	}
	return segments
}

// Invariants: no panic; events keep the promises of event.go (checker); what waits is within its bounds after each Push
// and nothing at the end; the same input gives the same events.
func FuzzAssembler(f *testing.F) {
	step := func(flags, place byte, seq, ack, length uint16, captured, time, shift byte) []byte {
		b := []byte{flags, place}
		b = binary.BigEndian.AppendUint16(b, seq)
		b = binary.BigEndian.AppendUint16(b, ack)
		b = binary.BigEndian.AppendUint16(b, length)
		return append(b, captured, time, shift, 'x')
	}
	const fromB = 0x20
	handshake := bytes.Join([][]byte{step(SYN, 0, 99, 0, 0, 3, 1, 20), step(SYN|ACK|fromB, 0, 199, 100, 0, 3, 1, 20), step(ACK, 0, 100, 200, 0, 3, 1, 20)}, nil)
	f.Add(handshake)
	f.Add(append(bytes.Clone(handshake), bytes.Join([][]byte{step(ACK, 0, 110, 200, 10, 3, 1, 20), step(ACK, 0, 100, 200, 15, 0, 1, 20),
		step(ACK|fromB, 0, 200, 130, 9, 3, 1, 31), step(FIN|ACK, 0, 120, 209, 0, 3, 1, 20), step(FIN|ACK|fromB, 0, 209, 121, 0, 3, 1, 20), step(RST, 0, 121, 0, 0, 3, 1, 20)}, nil)...))
	f.Add(bytes.Join([][]byte{step(ACK, 1, 5, 0, 30, 3, 1, 20), step(ACK, 0, 30, 0, 30, 3, 1, 20), step(ACK, 3, 0, 0, 5, 3, 1, 20), step(ACK, 3, 5, 0, 5, 3, 9, 31), step(SYN, 4, 5, 0, 5, 3, 9, 31)}, nil))
	limits := DefaultLimits()
	limits.StreamBytes, limits.StreamChunks, limits.BufferedBytes, limits.HistoryBytes, limits.Closed = 100_000, 20, 120_000, 2048, 3
	f.Fuzz(func(t *testing.T, script []byte) {
		segments := fuzzSegments(script)
		var first []string
		for round := range 2 {
			r := &transcript{checker: checker{t: t}}
			a := NewAssembler(limits, r.event, func(n pcap.Note) { _ = n.Code })
			for i := range segments {
				r.push(&segments[i])
				a.Push(&segments[i])
				if a.buffered > limits.BufferedBytes || a.buffered < 0 || len(a.open) > 1 || a.closed.size > 3 {
					t.Fatalf("%d bytes wait, %d connections, %d closed", a.buffered, len(a.open), a.closed.size)
				}
			}
			a.Finish()
			r.finish()
			if a.buffered != 0 || a.waiting.Len() != 0 {
				t.Fatalf("%d bytes wait at the end", a.buffered)
			}
			if round == 0 {
				first = r.lines
			} else if len(first) != len(r.lines) {
				t.Fatalf("%d events, then %d", len(first), len(r.lines))
			}
		}
	})
}
