package pcap_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// TestPCAPNGBlocks has every kind of block, with comments, in both byte orders.
func TestPCAPNGBlocks(t *testing.T) {
	for name, big := range map[string]bool{"little-endian": false, "big-endian": true} {
		t.Run(name, func(t *testing.T) {
			b := pcaptest.PCAPNG{BigEndian: big}
			comment := pcaptest.Option{Code: 1, Value: []byte("hello")}
			micros := uint64(start.UnixMicro())
			b.Section(comment, comment)
			b.Interface(1, 3, comment)
			b.Interface(113, 0, pcaptest.Option{Code: 2, Value: []byte("eth0")}, pcaptest.Option{Code: 9, Value: []byte{9}})
			enhanced := b.Len()
			b.Enhanced(1, uint64(start.UnixNano())+7, []byte("abcde"), 9, comment)
			b.Block(pcaptest.BlockNames, []byte("names"))
			simple := b.Len()
			b.Simple([]byte("xyz"), 60)
			b.Block(0x12345678, []byte("unknown"))
			old := b.Len()
			b.Packet(0, 0xffff, micros+1, []byte("old"), 3, comment)
			b.Block(pcaptest.BlockCustom, []byte("\x00\x00\x00\x01custom"))
			b.Secrets(0x544c534b, []byte("CLIENT_RANDOM"))
			b.Statistics(0, micros, comment)
			last := b.Len()
			b.Micro(0, start, nil)

			frames, c := readAll(t, b.Bytes())
			want := []pcap.Frame{
				frame(1, enhanced, at(7), 113, "abcde", 9),
				frame(2, simple, at(7), 1, "xyz", 60),
				frame(3, old, at(1000), 1, "old", 3),
				frame(4, last, at(0), 1, "", 0),
			}
			want[0].Interface = 1
			if diff := cmp.Diff(want, frames); diff != "" {
				t.Error(diff)
			}
			wantCapture := pcap.Capture{
				Name: "test", Format: "pcapng", LinkTypes: []pcap.LinkType{1, 113}, Packets: 4, Bytes: 11, CutShort: 2,
				First: at(0), Last: at(1000), Fingerprint: c.Fingerprint,
				Secrets: []pcap.Secret{{Type: 0x544c534b, Data: []byte("CLIENT_RANDOM")}},
			}
			if diff := cmp.Diff(wantCapture, c); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSections: each section has its own byte order and interfaces, Frame.Interface counts over all of them.
func TestSections(t *testing.T) {
	var b pcaptest.PCAPNG
	b.Section()
	b.Interface(1, 0)
	b.Interface(101, 0)
	b.Micro(1, start, []byte("a"))
	b.BigEndian = true
	b.Section()
	b.Interface(276, 0)
	b.Micro(0, start, []byte("b"))
	b.BigEndian = false
	b.SectionVersion(1, 2)
	b.Interface(0, 0)
	b.Micro(0, start, []byte("c"))
	frames, c := readAll(t, b.Bytes())
	if len(frames) != 3 || len(c.Damage) > 0 {
		t.Fatalf("%d packets, damage %v", len(frames), c.Damage)
	}
	for i, want := range []struct {
		iface int
		link  pcap.LinkType
	}{{1, 101}, {2, 276}, {3, 0}} {
		if f := frames[i]; f.Interface != want.iface || f.LinkType != want.link || f.Time != at(0) {
			t.Errorf("frame %d: %+v, want %+v", i+1, f, want)
		}
	}
}

// TestUnknownSection: only the lengths of its blocks are used, up to the next section.
func TestUnknownSection(t *testing.T) {
	var b pcaptest.PCAPNG
	b.Section()
	b.Interface(1, 0)
	b.Micro(0, start, []byte("a"))
	unknown := b.Len()
	b.SectionVersion(7, 1)
	b.Interface(1, 0)
	b.Micro(0, start, []byte("?"))
	known := b.Len()
	b.Section()
	b.Interface(1, 0)
	b.Micro(0, start, []byte("b"))
	frames, c := readAll(t, b.Bytes())
	if len(frames) != 2 || string(frames[1].Data) != "b" {
		t.Errorf("frames %v", frames)
	}
	want := []pcap.Damage{{Offset: pcap.FileOffset(unknown), Frame: 1, What: "a section of unknown version 7.1", Lost: int64(known - unknown)}}
	if diff := cmp.Diff(want, c.Damage); diff != "" {
		t.Error(diff)
	}
}

func TestResolution(t *testing.T) {
	for name, tt := range map[string]struct {
		resolution int // -1: none
		offset     int64
		ticks      uint64
		want       pcap.Timestamp
	}{
		"default is micro":      {-1, 0, 1_700_000_000_123_456, 1_700_000_000_123_456_000},
		"seconds":               {0, 0, 1_700_000_000, 1_700_000_000_000_000_000},
		"milli":                 {3, 0, 1_700_000_000_123, 1_700_000_000_123_000_000},
		"nano":                  {9, 0, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789},
		"tenths of nano":        {10, 0, 17_000_000_001_234_567_899, 1_700_000_000_123_456_789},
		"10^-28":                {28, 0, math.MaxUint64, 1},
		"10^-29 is below nano":  {29, 0, math.MaxUint64, 0},
		"10^-127":               {127, 0, math.MaxUint64, 0},
		"2^0":                   {0x80, 0, 1_700_000_000, 1_700_000_000_000_000_000},
		"2^-10":                 {0x80 | 10, 0, 1536, 1_500_000_000},
		"2^-32, as NTP":         {0x80 | 32, 0, 1_700_000_000<<32 | 1<<31, 1_700_000_000_500_000_000},
		"2^-63":                 {0x80 | 63, 0, 1 << 63, 1_000_000_000},
		"2^-64":                 {0x80 | 64, 0, 1 << 63, 500_000_000},
		"2^-127":                {0xff, 0, math.MaxUint64, 0},
		"offset":                {6, 1_700_000_000, 5, 1_700_000_000_000_005_000},
		"negative offset":       {6, -10, 15_000_000, 5_000_000_000},
		"before 1970":           {6, -10, 5_000_000, -5_000_000_000},
		"ticks beyond range":    {0, 0, math.MaxUint64, math.MaxInt64},
		"sum beyond range":      {0, math.MaxInt64, 9_000_000_000, math.MaxInt64},
		"offset beyond range":   {6, math.MinInt64, 0, -9_223_372_036_000_000_000},
		"micro in 32 bits only": {6, 0, math.MaxUint32, 4_294_967_295_000},
	} {
		t.Run(name, func(t *testing.T) {
			var b pcaptest.PCAPNG
			b.Section()
			var options []pcaptest.Option
			if tt.resolution >= 0 {
				options = append(options, pcaptest.Option{Code: 9, Value: []byte{byte(tt.resolution)}})
			}
			if tt.offset != 0 {
				options = append(options, b.Uint64(14, uint64(tt.offset)))
			}
			b.Interface(1, 0, options...)
			b.Enhanced(0, tt.ticks, nil, 0)
			frames, _ := readAll(t, b.Bytes())
			if frames[0].Time != tt.want {
				t.Errorf("time %d, want %d", frames[0].Time, tt.want)
			}
		})
	}
}

func TestDropped(t *testing.T) {
	const ifDrop, osDrop, packetDrop = 5, 7, 4
	for name, tt := range map[string]struct {
		build func(b *pcaptest.PCAPNG)
		want  any
	}{
		"not said": {func(b *pcaptest.PCAPNG) { b.Statistics(0, 0, b.Uint64(4, 99)) }, nil},
		"zero":     {func(b *pcaptest.PCAPNG) { b.Statistics(0, 0, b.Uint64(ifDrop, 0)) }, uint64(0)},
		"both counters": {func(b *pcaptest.PCAPNG) {
			b.Statistics(0, 0, b.Uint64(ifDrop, 3), b.Uint64(osDrop, 4))
		}, uint64(7)},
		"counters run on, interfaces add up": {func(b *pcaptest.PCAPNG) {
			b.Statistics(0, 0, b.Uint64(ifDrop, 3))
			b.Statistics(1, 0, b.Uint64(ifDrop, 10))
			b.Statistics(0, 0, b.Uint64(ifDrop, 5))
			b.Statistics(0, 0, b.Uint64(ifDrop, 5))
		}, uint64(15)},
		"packets": {func(b *pcaptest.PCAPNG) {
			b.Enhanced(0, 0, []byte("abc"), 3, b.Uint64(packetDrop, 2))
			b.Packet(1, 3, 0, nil, 0)
			b.Packet(1, 0xffff, 0, nil, 0)
		}, uint64(5)},
		"packets and counter tell of the same": {func(b *pcaptest.PCAPNG) {
			b.Enhanced(0, 0, nil, 0, b.Uint64(packetDrop, 2))
			b.Statistics(0, 0, b.Uint64(osDrop, 6))
			b.Enhanced(0, 0, nil, 0, b.Uint64(packetDrop, 2))
		}, uint64(6)},
		"sections add up": {func(b *pcaptest.PCAPNG) {
			b.Statistics(0, 0, b.Uint64(osDrop, 6))
			b.Section()
			b.Interface(1, 0)
			b.Statistics(0, 0, b.Uint64(osDrop, 6))
		}, uint64(12)},
		"beyond range": {func(b *pcaptest.PCAPNG) {
			b.Statistics(0, 0, b.Uint64(ifDrop, math.MaxUint64), b.Uint64(osDrop, 4))
			b.Statistics(1, 0, b.Uint64(ifDrop, 4))
		}, uint64(math.MaxUint64)},
	} {
		t.Run(name, func(t *testing.T) {
			var b pcaptest.PCAPNG
			b.Section()
			b.Interface(1, 0)
			b.Interface(1, 0)
			tt.build(&b)
			_, c := readAll(t, b.Bytes())
			switch {
			case c.Dropped == nil && tt.want != nil, c.Dropped != nil && *c.Dropped != tt.want:
				t.Errorf("dropped %v, want %v", c.Dropped, tt.want)
			case len(c.Damage) > 0:
				t.Errorf("damage %v", c.Damage)
			}
		})
	}
}

// TestFaultyBlocks: a block whose frame is right and whose content is not costs only itself.
func TestFaultyBlocks(t *testing.T) {
	le := binary.LittleEndian
	packet := func(iface, captured uint32) []byte {
		b := le.AppendUint32(nil, iface)
		b = append(b, make([]byte, 8)...)
		b = le.AppendUint32(b, captured)
		return append(b, "\x05\x00\x00\x00data"...)
	}
	for name, tt := range map[string]struct {
		kind uint32
		body []byte
		what string
	}{
		"no room for a packet":       {pcaptest.BlockEnhanced, nil, "a packet block without room for its header"},
		"half a packet header":       {pcaptest.BlockEnhanced, make([]byte, 12), "a packet block without room for its header"},
		"no room, obsolete":          {pcaptest.BlockPacket, make([]byte, 16), "a packet block without room for its header"},
		"no room, simple":            {pcaptest.BlockSimple, nil, "a packet block without room for its header"},
		"unknown interface":          {pcaptest.BlockEnhanced, packet(1, 4), "a packet of an interface that is not described"},
		"interface 2^32-1":           {pcaptest.BlockEnhanced, packet(math.MaxUint32, 4), "a packet of an interface that is not described"},
		"captured beyond the block":  {pcaptest.BlockEnhanced, packet(0, 5), "a packet longer than its block"},
		"captured 2^32-1":            {pcaptest.BlockEnhanced, packet(0, math.MaxUint32), "a packet longer than its block"},
		"no room for an interface":   {pcaptest.BlockInterface, make([]byte, 4), "an interface block without room for its header"},
		"no room for statistics":     {pcaptest.BlockStatistics, make([]byte, 8), "a statistics block without room for its header"},
		"statistics of nobody":       {pcaptest.BlockStatistics, packet(7, 0), "statistics of an interface that is not described"},
		"no room for secrets":        {pcaptest.BlockSecrets, make([]byte, 4), "a secrets block without room for its header"},
		"secrets beyond their block": {pcaptest.BlockSecrets, packet(0, 0)[:8:8], ""},
		"secrets 2^32-1":             {pcaptest.BlockSecrets, packet(math.MaxUint32, 0)[:4:4], "a secrets block without room for its header"},
	} {
		t.Run(name, func(t *testing.T) {
			var b pcaptest.PCAPNG
			b.Section()
			b.Interface(1, 0)
			at := b.Len()
			b.Block(tt.kind, tt.body)
			end := b.Len()
			b.Micro(0, start, []byte("good"))
			frames, c := readAll(t, b.Bytes())
			if len(frames) != 1 || string(frames[0].Data) != "good" {
				t.Errorf("frames %v", frames)
			}
			var want []pcap.Damage
			if tt.what != "" {
				want = []pcap.Damage{{Offset: pcap.FileOffset(at), What: tt.what, Lost: int64(end - at)}}
			}
			if diff := cmp.Diff(want, c.Damage); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFaultyOptions: options that do not fit end the list; the packet is whole.
func TestFaultyOptions(t *testing.T) {
	for name, options := range map[string]string{
		"too long": "\x01\x00\xff\xffabcd", "cut": "\x01\x00", "padding missing": "\x01\x00\x01\x00a",
	} {
		var b pcaptest.PCAPNG
		b.Section()
		b.Interface(1, 0)
		body := append(make([]byte, 20), options...)
		b.Block(pcaptest.BlockEnhanced, body)
		b.Block(pcaptest.BlockInterface, append(make([]byte, 8), options...))
		if frames, c := readAll(t, b.Bytes()); len(frames) != 1 || len(c.Damage) > 0 {
			t.Errorf("%s: %d packets, damage %v", name, len(frames), c.Damage)
		}
	}
}

// TestSimpleLength: the captured length of a simple packet follows from the original length, the snapshot length and the
// block.
func TestSimpleLength(t *testing.T) {
	for name, tt := range map[string]struct {
		snapLen  uint32
		data     string
		original int
		want     string
	}{
		"whole":                                  {0, "abcde", 5, "abcde"},
		"cut":                                    {3, "abc", 9, "abc"},
		"below snap":                             {9, "abc", 3, "abc"},
		"cut by the writer, its padding unknown": {0, "abcd", 9, "abcd"},
	} {
		var b pcaptest.PCAPNG
		b.Section()
		b.Interface(1, tt.snapLen)
		b.Simple([]byte(tt.data), tt.original)
		frames, _ := readAll(t, b.Bytes())
		if len(frames) != 1 || string(frames[0].Data) != tt.want || frames[0].OriginalLength != tt.original {
			t.Errorf("%s: %v", name, frames)
		}
	}
}

// TestSecretsBound: secrets beyond the bound are not kept, and that is said.
func TestSecretsBound(t *testing.T) {
	var b pcaptest.PCAPNG
	b.Section()
	for range 18 {
		b.Secrets(1, bytes.Repeat([]byte("s"), 1_000_000))
	}
	_, c := readAll(t, b.Bytes())
	if len(c.Secrets) != 16 || len(c.Damage) != 2 || !strings.Contains(c.Damage[0].What, "beyond 16 MiB") {
		t.Errorf("%d secrets, damage %v", len(c.Secrets), c.Damage)
	}
}
