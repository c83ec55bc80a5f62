package pcap_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

var start = time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.UTC)

// at is the capture time of start plus so many nanoseconds.
func at(ns int64) pcap.Timestamp { return pcap.Timestamp(start.UnixNano() + ns) }

// readAll returns all frames, their bytes copied, and the capture.
func readAll(t *testing.T, file []byte) ([]pcap.Frame, pcap.Capture) {
	t.Helper()
	r, err := pcap.NewReader(bytes.NewReader(file), "test")
	if err != nil {
		t.Fatal(err)
	}
	return drain(t, r), r.Captures()[0]
}

func drain(t *testing.T, s pcap.Source) []pcap.Frame {
	t.Helper()
	var frames []pcap.Frame
	for {
		var f pcap.Frame
		switch err := s.Next(&f); err {
		case nil:
			f.Data, f.Block = bytes.Clone(f.Data), nil
			frames = append(frames, f)
		case io.EOF:
			if err := s.Next(&f); err != io.EOF {
				t.Errorf("after the end: %v", err)
			}
			return frames
		default:
			t.Fatal(err)
		}
	}
}

// frame is what a test expects of one frame of a single capture.
func frame(number int, offset int, time pcap.Timestamp, link pcap.LinkType, data string, length int) pcap.Frame {
	return pcap.Frame{
		Ref:    pcap.Ref{Number: pcap.FrameNumber(number), Time: time},
		Offset: pcap.FileOffset(offset), LinkType: link, OriginalLength: length, Data: []byte(data),
	}
}

func TestPCAP(t *testing.T) {
	packets := []pcaptest.Packet{
		{Time: start.Add(789), LinkType: 113, Data: []byte("odd"), Length: 60},
		{Time: start.Add(time.Second), LinkType: 113, Data: []byte("even")},
		{Time: start.Add(time.Minute), LinkType: 113, Length: 5},
	}
	micro := at(0)
	for name, tt := range map[string]struct {
		file   pcaptest.PCAP
		first  pcap.Timestamp
		header int
	}{
		"little-endian":          {pcaptest.PCAP{}, micro, 16},
		"big-endian":             {pcaptest.PCAP{BigEndian: true}, micro, 16},
		"nano":                   {pcaptest.PCAP{Nano: true}, at(789), 16},
		"nano big-endian":        {pcaptest.PCAP{Nano: true, BigEndian: true}, at(789), 16},
		"modified":               {pcaptest.PCAP{Modified: true}, micro, 24},
		"modified big-endian":    {pcaptest.PCAP{Modified: true, BigEndian: true}, micro, 24},
		"FCS bits":               {pcaptest.PCAP{LinkField: 0x24000000 | 113}, micro, 16},
		"snaplen below captured": {pcaptest.PCAP{SnapLen: 2}, micro, 16},
	} {
		t.Run(name, func(t *testing.T) {
			frames, c := readAll(t, tt.file.Encode(packets...))
			h := tt.header
			want := []pcap.Frame{
				frame(1, 24, tt.first, 113, "odd", 60),
				frame(2, 24+h+3, at(1e9), 113, "even", 4),
				frame(3, 24+2*h+7, at(60e9), 113, "", 5),
			}
			if diff := cmp.Diff(want, frames); diff != "" {
				t.Error(diff)
			}
			wantCapture := pcap.Capture{
				Name: "test", Format: "pcap", LinkTypes: []pcap.LinkType{113}, Packets: 3, Bytes: 7, CutShort: 2,
				First: tt.first, Last: at(60e9), Fingerprint: c.Fingerprint,
			}
			if diff := cmp.Diff(wantCapture, c); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOldVersion: before version 2.4 the two lengths could be swapped.
func TestOldVersion(t *testing.T) {
	file := pcaptest.PCAP{}.Encode(pcaptest.Packet{Time: start, Data: []byte("abc"), Length: 9})
	file[6] = 2
	copy(file[24+8:], []byte{9, 0, 0, 0, 3, 0, 0, 0})
	frames, _ := readAll(t, file)
	if diff := cmp.Diff([]pcap.Frame{frame(1, 24, at(0), 0, "abc", 9)}, frames); diff != "" {
		t.Error(diff)
	}
}

// TestOneByteReads has the source return as little as it can, as a slow pipe does.
func TestOneByteReads(t *testing.T) {
	packets := []pcaptest.Packet{{Time: start, LinkType: 1, Data: []byte("abc")}, {Time: start, LinkType: 1, Data: []byte("de")}}
	for name, file := range map[string][]byte{"pcap": pcaptest.PCAP{}.Encode(packets...), "pcapng": pcaptest.EncodePCAPNG(packets...)} {
		r, err := pcap.NewReader(iotest.OneByteReader(bytes.NewReader(file)), name)
		if err != nil {
			t.Fatal(err)
		}
		if frames := drain(t, r); len(frames) != 2 || string(frames[1].Data) != "de" {
			t.Errorf("%s: %v", name, frames)
		}
	}
}

// TestSizes crosses the borders of the read buffer with packets up to the bound.
func TestSizes(t *testing.T) {
	var packets []pcaptest.Packet
	for i, size := range []int{1, 65_519, 65_536, 262_144, 10, 262_145, 524_288, 3, 1 << 20, 4 << 20, 7} {
		packets = append(packets, pcaptest.Packet{Time: start, LinkType: 1, Data: bytes.Repeat([]byte{byte(i + 1)}, size)})
	}
	for name, file := range map[string][]byte{"pcap": pcaptest.PCAP{}.Encode(packets...), "pcapng": pcaptest.EncodePCAPNG(packets...)} {
		frames, c := readAll(t, file)
		if len(frames) != len(packets) || len(c.Damage) > 0 {
			t.Fatalf("%s: %d packets, damage %v", name, len(frames), c.Damage)
		}
		for i, f := range frames {
			if !bytes.Equal(f.Data, packets[i].Data) {
				t.Errorf("%s: packet %d differs", name, i+1)
			}
		}
	}
}

func TestNotCapture(t *testing.T) {
	for name, tt := range map[string]struct {
		content string
		is      error
		text    string
	}{
		"empty":                {"", pcap.ErrEmpty, "x: empty file"},
		"short":                {"ab", pcap.ErrNotCapture, "x: not a pcap or pcapng file"},
		"text":                 {"hello world", pcap.ErrNotCapture, "x: not a pcap or pcapng file (it begins with 68656c6c)"},
		"pcap header cut":      {string(pcaptest.PCAP{}.Header()[:10]), pcap.ErrNotCapture, "x: not a pcap or pcapng file (its header is cut off at byte 10)"},
		"no byte order":        {"\x0a\x0d\x0d\x0a" + strings.Repeat("\x00", 40), pcap.ErrNotCapture, "x: not a pcap or pcapng file (its first block is no section header)"},
		"gzip of nothing":      {string(gzipped(nil)), pcap.ErrEmpty, "x: empty file"},
		"gzip header cut":      {string(gzipped(nil)[:5]), pcap.ErrNotCapture, "x: not a pcap or pcapng file (the gzip data is cut off)"},
		"compressed too often": {string(gzipped(gzipped(gzipped(nil)))), pcap.ErrNotCapture, "x: not a pcap or pcapng file (compressed more than 2 times)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pcap.NewReader(strings.NewReader(tt.content), "x")
			if !errors.Is(err, tt.is) {
				t.Fatalf("error %v, want %v", err, tt.is)
			}
			if err.Error() != tt.text {
				t.Errorf("message %q, want %q", err, tt.text)
			}
		})
	}
	if _, err := pcap.NewReader(iotest.ErrReader(errors.New("disk on fire")), "x"); err == nil || err.Error() != "x: reading failed: disk on fire" {
		t.Errorf("unreadable: %v", err)
	}
}

// TestFingerprint: the same packets have the same fingerprint in any format; any change of what is hashed changes it.
func TestFingerprint(t *testing.T) {
	packets := func() []pcaptest.Packet {
		return []pcaptest.Packet{{Time: start, LinkType: 1, Data: []byte("abc")}, {Time: start, LinkType: 1, Data: []byte("de")}}
	}
	_, want := readAll(t, pcaptest.PCAP{}.Encode(packets()...))
	if _, c := readAll(t, pcaptest.EncodePCAPNG(packets()...)); c.Fingerprint != want.Fingerprint {
		t.Error("pcap and pcapng differ")
	}
	for name, change := range map[string]func(p []pcaptest.Packet){
		"time":   func(p []pcaptest.Packet) { p[0].Time = p[0].Time.Add(time.Microsecond) },
		"length": func(p []pcaptest.Packet) { p[0].Length = 4 },
		"data":   func(p []pcaptest.Packet) { p[1].Data[0]++ },
		"order":  func(p []pcaptest.Packet) { p[0], p[1] = p[1], p[0] },
		"border": func(p []pcaptest.Packet) { p[0].Data, p[1].Data = []byte("ab"), []byte("cde") },
	} {
		p := packets()
		change(p)
		if _, c := readAll(t, pcaptest.PCAP{}.Encode(p...)); c.Fingerprint == want.Fingerprint {
			t.Errorf("%s does not matter", name)
		}
	}
}

// TestNoAllocation: reading a packet allocates nothing.
func TestNoAllocation(t *testing.T) {
	packets := benchmarkFile(3000)
	for name, file := range map[string][]byte{"pcap": pcaptest.PCAP{}.Encode(packets...), "pcapng": pcaptest.EncodePCAPNG(packets...)} {
		r, err := pcap.NewReader(bytes.NewReader(file), name)
		if err != nil {
			t.Fatal(err)
		}
		source := pcap.Merge(r)
		var f pcap.Frame
		for range 1000 { // the buffer has its full size by then
			source.Next(&f)
		}
		if n := testing.AllocsPerRun(1000, func() { source.Next(&f) }); n != 0 {
			t.Errorf("%s: %v allocations a packet", name, n)
		}
	}
}
