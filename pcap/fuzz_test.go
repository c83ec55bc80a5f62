package pcap_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// seeds are small files of every format, whole and damaged.
func seeds() [][]byte {
	packets := fivePackets()[:3]
	var ng pcaptest.PCAPNG
	ng.Section()
	ng.Interface(1, 4, pcaptest.Option{Code: 9, Value: []byte{0x8a}}, ng.Uint64(14, math.MaxUint64))
	ng.Enhanced(0, 1<<60, []byte("enhanced"), 8, ng.Uint64(4, 3))
	ng.Simple([]byte("simple"), 6)
	ng.Packet(0, 5, 7, []byte("old"), 3)
	ng.Statistics(0, 0, ng.Uint64(5, 1), ng.Uint64(7, math.MaxUint64))
	ng.Secrets(0x544c534b, []byte("secret"))
	ng.Raw([]byte("noise"))
	ng.BigEndian = true
	ng.SectionVersion(2, 0)
	ng.Section()
	ng.Interface(113, 0)
	ng.Micro(0, start, []byte("micro"))

	all := [][]byte{
		nil,
		pcaptest.PCAP{}.Encode(packets...),
		pcaptest.PCAP{BigEndian: true, Nano: true}.Encode(packets...),
		pcaptest.PCAP{Modified: true}.Encode(packets...),
		append(pcaptest.PCAP{}.Encode(packets...), pcaptest.PCAP{BigEndian: true}.Encode(packets...)...),
		pcaptest.EncodePCAPNG(packets...),
		ng.Bytes(),
	}
	for _, file := range all[1:] {
		hole := bytes.Clone(file)
		copy(hole[len(hole)/3:], "\xff\xff\xff\xff\xff\xff\xff\xff")
		all = append(all, hole, file[:2*len(file)/3])
	}
	return all
}

// check reads a file and holds it to what every source promises, whatever the bytes:
//
//   - Next returns nil or io.EOF, and io.EOF for ever;
//   - a packet is no longer than the bound and lies inside the file, with its original length not below the captured one;
//   - frames are numbered from 1 without a gap, and their offsets rise;
//   - counts agree with the frames, and lost bytes with the length of the file;
//   - reading again gives the same.
func check(t *testing.T, file []byte, compressed bool) {
	r, err := pcap.NewReader(bytes.NewReader(file), "fuzz")
	if err != nil {
		return
	}
	defer r.Close()
	const bound = 4 << 20
	var f pcap.Frame
	var number pcap.FrameNumber
	var total, cut uint64
	offset := pcap.FileOffset(-1)
	for err = r.Next(&f); err == nil; err = r.Next(&f) {
		number++
		total += uint64(len(f.Data))
		if len(f.Data) < f.OriginalLength {
			cut++
		}
		switch {
		case f.Number != number, f.Capture != 0, f.IsZero():
			t.Fatalf("frame %d of capture %d, want %d of 0", f.Number, f.Capture, number)
		case f.Offset <= offset:
			t.Fatalf("frame %d: offset %d after %d", number, f.Offset, offset)
		case len(f.Data) > bound, f.OriginalLength < len(f.Data), f.Interface < 0:
			t.Fatalf("frame %d: %d of %d bytes, interface %d", number, len(f.Data), f.OriginalLength, f.Interface)
		case !compressed && int(f.Offset)+len(f.Data) > len(file):
			t.Fatalf("frame %d: %d bytes at %d of %d", number, len(f.Data), f.Offset, len(file))
		}
		_, _ = f.Time.Time().String(), f.LinkType.String()
		offset = f.Offset
	}
	if err != io.EOF || r.Next(&f) != io.EOF {
		t.Fatalf("end: %v", err)
	}
	c := r.Captures()[0]
	if c.Packets != uint64(number) || c.Bytes != total || c.CutShort != cut || c.First > c.Last {
		t.Fatalf("capture %+v after %d packets of %d bytes, %d cut", c, number, total, cut)
	}
	var lost int64
	for _, d := range c.Damage {
		if d.What == "" || d.Frame > number || d.Lost < -1 {
			t.Fatalf("damage %+v", d)
		}
		lost += max(d.Lost, 0)
	}
	if !compressed && lost+int64(total) > int64(len(file)) {
		t.Fatalf("%d bytes lost and %d read of %d", lost, total, len(file))
	}
	again, err := pcap.NewReader(bytes.NewReader(file), "fuzz")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for again.Next(&f) == nil {
	}
	if got := again.Captures()[0]; got.Fingerprint != c.Fingerprint || got.Packets != c.Packets || len(got.Damage) != len(c.Damage) {
		t.Fatalf("read again: %+v, want %+v", got, c)
	}
}

// FuzzReader feeds any bytes behind a valid beginning, or none.
func FuzzReader(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		compressed := len(file) > 3 && (file[0] == 0x1f || file[0] == 0x28 || file[0] == 0x04 || file[0]>>4 == 5)
		check(t, file, compressed)
		check(t, append(pcaptest.PCAP{}.Header(), file...), false)
		var ng pcaptest.PCAPNG
		ng.Section()
		ng.Interface(1, 0)
		ng.Raw(file)
		check(t, ng.Bytes(), false)
	})
}

// FuzzCompressed damages compressed files: one byte changed, the end cut off.
func FuzzCompressed(f *testing.F) {
	plain := pcaptest.PCAP{}.Encode(fivePackets()...)
	for _, compress := range compressors {
		f.Add(compress(plain), uint16(0), byte(0))
		f.Add(compress(gzipped(plain)), uint16(40), byte(0xff))
	}
	f.Fuzz(func(t *testing.T, file []byte, at uint16, flip byte) {
		// A header may ask the decompressor for its largest window at each try; that is bounded, but slow.
		if len(file) > 64<<10 {
			return
		}
		file = bytes.Clone(file)
		if int(at) < len(file) {
			file[at] ^= flip
		}
		check(t, file, true)
		check(t, file[:len(file)/2], true)
	})
}

// TestHoles damages each place of each seed in turn with values that lengths are likely to be mistaken for.
func TestHoles(t *testing.T) {
	for _, seed := range seeds() {
		for at := 0; at+4 <= len(seed); at++ {
			for _, v := range []uint32{0, 1, 16, 1 << 16, 1 << 22, math.MaxInt32, math.MaxUint32} {
				file := bytes.Clone(seed)
				binary.LittleEndian.PutUint32(file[at:], v)
				check(t, file, false)
			}
		}
	}
}
