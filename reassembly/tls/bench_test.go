package tls

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// BenchmarkDecrypt measures one direction of TLS 1.3 in records of 16 KiB that come in segments: of 64 KiB, as captures on
// the host with offloading have them, and of 1448 bytes.
func BenchmarkDecrypt(b *testing.B) {
	for _, c := range []struct {
		name    string
		suite   uint16
		segment int
	}{{"AES-128-GCM/64KiB", 0x1301, 64 << 10}, {"AES-128-GCM/1448", 0x1301, 1448}, {"AES-256-GCM/64KiB", 0x1302, 64 << 10}, {"ChaCha20/64KiB", 0x1303, 64 << 10}, {"AES-128-CCM/64KiB", 0x1304, 64 << 10}} {
		b.Run(c.name, func(b *testing.B) {
			const records = 64
			s := suites[c.suite]
			secret := make([]byte, s.hash.Size())
			stream := seal(b, &s, secret, records)
			d := NewDecrypter(NewKeys(nil), DefaultLimits(), func(*reassembly.Event) {}, func(pcap.Note) {})
			tcp := &reassembly.Conn{A: netip.MustParseAddrPort("10.0.0.1:1"), B: netip.MustParseAddrPort("10.0.0.2:2")}
			b.SetBytes(records << 14)
			b.ReportAllocs()
			for b.Loop() {
				keys, err := newChain13(&s, nil, secret)
				if err != nil {
					b.Fatal(err)
				}
				keys.advance()
				conn := &conn{d: d, g: &guard{}, tcp: tcp, opened: true, halves: new([2]half)}
				conn.halves[0] = half{c: conn, keys: keys, tries: maxTries, opened: true}
				e := reassembly.Event{Kind: reassembly.Data, Conn: tcp, At: pcap.Ref{Number: 1}}
				for rest := stream; len(rest) > 0; {
					e.Data = rest[:min(len(rest), c.segment)]
					rest = rest[len(e.Data):]
					conn.halves[0].data(&e)
					e.Offset += reassembly.StreamOffset(len(e.Data))
				}
				if n := conn.halves[0].plain; n != records<<14 {
					b.Fatalf("%d bytes decrypted", n)
				}
			}
		})
	}
}

// seal makes records of full size under a traffic secret.
func seal(b *testing.B, s *suite, secret []byte, records int) (stream []byte) {
	opener, err := newOpener13(s, secret)
	if err != nil {
		b.Fatal(err)
	}
	o := opener.(*aeadOpener)
	plain := make([]byte, 1<<14+1)
	plain[1<<14] = typeApplicationData
	for seq := range uint64(records) {
		nonce := o.iv
		binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(o.iv[4:])^seq)
		h := []byte{typeApplicationData, 3, 3, 0, 0}
		binary.BigEndian.PutUint16(h[3:], uint16(len(plain)+o.aead.Overhead()))
		stream = append(stream, o.aead.Seal(h, nonce[:], plain, h)...)
	}
	return stream
}
