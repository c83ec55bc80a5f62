package pcap_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

const recordLen = 16 + 100 // of a packet of fivePackets in a pcap file

// fivePackets returns packets "1…" to "5…" of 100 bytes each, a second apart.
func fivePackets() []pcaptest.Packet {
	var packets []pcaptest.Packet
	for i := range 5 {
		packets = append(packets, pcaptest.Packet{
			Time: start.Add(time.Duration(i) * time.Second), LinkType: 1, Data: bytes.Repeat([]byte{byte('1' + i)}, 100),
		})
	}
	return packets
}

// damageCase damages a file of fivePackets; frames are the first bytes of the packets that must be read all the same.
type damageCase struct {
	damage func(file []byte) []byte
	frames string
	want   []pcap.Damage
}

func (tt damageCase) run(t *testing.T, file []byte) {
	frames, c := readAll(t, tt.damage(file))
	var got strings.Builder
	for _, f := range frames {
		got.WriteByte(f.Data[0])
	}
	if got.String() != tt.frames {
		t.Errorf("frames %q, want %q", got.String(), tt.frames)
	}
	if diff := cmp.Diff(tt.want, c.Damage); diff != "" {
		t.Error(diff)
	}
}

func TestPCAPDamage(t *testing.T) {
	record := func(n int) int { return 24 + (n-1)*recordLen } // n from 1
	le := binary.LittleEndian
	set := func(offset int, v uint32) func([]byte) []byte {
		return func(f []byte) []byte { le.PutUint32(f[offset:], v); return f }
	}
	insert := func(offset int, data []byte) func([]byte) []byte {
		return func(f []byte) []byte { return slices.Insert(f, offset, data...) }
	}
	cut := func(n int) func([]byte) []byte { return func(f []byte) []byte { return f[:n] } }
	damage := func(offset int, frame pcap.FrameNumber, what string, lost int64) []pcap.Damage {
		return []pcap.Damage{{Offset: pcap.FileOffset(offset), Frame: frame, What: what, Lost: lost}}
	}
	const insidePacket, insideHeader = "the file ends inside a packet", "the file ends inside a record header"
	zeros := make([]byte, 5000)
	noise := bytes.Repeat([]byte{0xe7, 0x31, 0x99, 0x05, 0xfe, 0xc8, 0x17}, 700)

	for name, tt := range map[string]damageCase{
		"none":                         {func(f []byte) []byte { return f }, "12345", nil},
		"cut after the header":         {cut(24), "", nil},
		"cut between packets":          {cut(record(3)), "12", nil},
		"cut in a record header":       {cut(record(3) + 5), "12", damage(record(3), 2, insideHeader, -1)},
		"cut behind a record header":   {cut(record(3) + 16), "12", damage(record(3), 2, insidePacket, -1)},
		"cut in a packet":              {cut(record(5) + 50), "1234", damage(record(5), 4, insidePacket, -1)},
		"cut in the first packet":      {cut(record(1) + 50), "", damage(record(1), 0, insidePacket, -1)},
		"captured length absurd":       {set(record(3)+8, 0xffffffff), "1245", damage(record(3), 2, "not a packet record (captured length 4294967295)", recordLen)},
		"captured length above bound":  {set(record(3)+8, 4<<20+1), "1245", damage(record(3), 2, "not a packet record (captured length 4194305)", recordLen)},
		"captured length too long":     {set(record(3)+8, 3<<20), "1245", damage(record(3), 2, "not a packet record (captured length 3145728)", recordLen)},
		"captured length beyond file":  {set(record(3)+8, 100_000), "1245", damage(record(3), 2, insidePacket, recordLen)},
		"first packet's length absurd": {set(record(1)+8, 1<<31), "2345", damage(record(1), 0, "not a packet record (captured length 2147483648)", recordLen)},
		"last packet's length absurd":  {set(record(5)+8, 1<<31), "1234", damage(record(5), 4, "not a packet record (captured length 2147483648)", -1)},
		"zeros between packets":        {insert(record(3), zeros), "12345", damage(record(3), 2, "not a packet record (captured length 0)", 5000)},
		"zeros at the end":             {insert(record(6), zeros), "12345", damage(record(6), 5, "not a packet record (captured length 0)", -1)},
		"noise between packets":        {insert(record(3), noise), "12345", damage(record(3), 2, "not a packet record (captured length 4261779761)", int64(len(noise)))},
		"bytes missing in a header": {func(f []byte) []byte { return slices.Delete(f, record(3), record(3)+6) }, "1245",
			damage(record(3), 2, "not a packet record (captured length 858980352)", recordLen-6)},
		"second file appended": {func(f []byte) []byte {
			return append(f, pcaptest.PCAP{BigEndian: true, Nano: true}.Encode(fivePackets()...)...)
		}, "1234512345", nil},
		"no packets before the second header": {func(f []byte) []byte { return append(pcaptest.PCAP{}.Header(), f...) }, "12345", nil},
		"second header at the end":            {func(f []byte) []byte { return append(f, pcaptest.PCAP{}.Header()...) }, "12345", nil},
	} {
		t.Run(name, func(t *testing.T) { tt.run(t, pcaptest.PCAP{}.Encode(fivePackets()...)) })
	}
}

// TestOddButReal: what looks odd in real files is no damage.
func TestOddButReal(t *testing.T) {
	packet := func(t time.Time, length int) pcaptest.Packet {
		return pcaptest.Packet{Time: t, LinkType: 1, Data: make([]byte, length)}
	}
	for name, packets := range map[string][]pcaptest.Packet{
		"times of different years":  {packet(start, 60), packet(start.AddDate(-9, 0, 0), 60), packet(start.AddDate(2, 0, 0), 60), packet(time.Unix(0, 0), 60)},
		"one packet without time":   {packet(start, 60), packet(time.Unix(0, 0), 60), packet(start, 60)},
		"large packets":             {packet(start, 300_000), packet(start, 500_000), packet(start, 524_288), packet(start, 400_000)},
		"a large packet at the end": {packet(start, 60), packet(start, 500_000)},
		"packets without bytes":     {packet(start, 0), packet(start, 0), packet(start, 0), packet(start, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			frames, c := readAll(t, pcaptest.PCAP{}.Encode(packets...))
			if len(frames) != len(packets) || len(c.Damage) > 0 {
				t.Errorf("%d packets of %d, damage %v", len(frames), len(packets), c.Damage)
			}
		})
	}
	t.Run("nanoseconds under the microsecond magic", func(t *testing.T) {
		file := pcaptest.PCAP{Nano: true}.Encode(fivePackets()...)
		copy(file, pcaptest.PCAP{}.Header()[:4])
		if frames, c := readAll(t, file); len(frames) != 5 || len(c.Damage) > 0 {
			t.Errorf("%d packets, damage %v", len(frames), c.Damage)
		}
	})
	t.Run("original length below captured", func(t *testing.T) {
		file := pcaptest.PCAP{}.Encode(fivePackets()...)
		binary.LittleEndian.PutUint32(file[24+12:], 0)
		frames, c := readAll(t, file)
		if len(frames) != 5 || frames[0].OriginalLength != 100 || c.CutShort != 0 {
			t.Errorf("%d packets, the first of %d bytes", len(frames), frames[0].OriginalLength)
		}
	})
	t.Run("original length absurd", func(t *testing.T) {
		file := pcaptest.PCAP{}.Encode(fivePackets()...)
		binary.LittleEndian.PutUint32(file[24+12:], 0xffffffff)
		frames, _ := readAll(t, file)
		if len(frames) != 5 || frames[0].OriginalLength != 1<<31-1 {
			t.Errorf("%d packets, the first of %d bytes", len(frames), frames[0].OriginalLength)
		}
	})
}

func TestPCAPNGDamage(t *testing.T) {
	const head, block = 28 + 32, 32 + 100 // section and interface; one packet
	packet := func(n int) int { return head + (n-1)*block }
	le := binary.LittleEndian
	set := func(offset int, v uint32) func([]byte) []byte {
		return func(f []byte) []byte { le.PutUint32(f[offset:], v); return f }
	}
	damage := func(offset int, frame pcap.FrameNumber, what string, lost int64) []pcap.Damage {
		return []pcap.Damage{{Offset: pcap.FileOffset(offset), Frame: frame, What: what, Lost: lost}}
	}
	cut := func(n int) func([]byte) []byte { return func(f []byte) []byte { return f[:n] } }
	noise := bytes.Repeat([]byte{0xe7, 0x31, 0x99, 0x05, 0xfe, 0xc8, 0x17}, 1500)
	var bigEndian pcaptest.PCAPNG
	bigEndian.BigEndian = true
	bigEndian.Section()
	bigEndian.Interface(1, 0)
	bigEndian.Micro(0, start, []byte("big"))

	for name, tt := range map[string]damageCase{
		"none":                   {func(f []byte) []byte { return f }, "12345", nil},
		"cut between blocks":     {cut(packet(3)), "12", nil},
		"cut in a block header":  {cut(packet(3) + 11), "12", damage(packet(3), 2, "the file ends inside a block header", -1)},
		"cut in a block":         {cut(packet(5) + 50), "1234", damage(packet(5), 4, "the file ends inside a block", -1)},
		"length 0":               {set(packet(3)+4, 0), "1245", damage(packet(3), 2, "not a block (length 0)", block)},
		"length 11":              {set(packet(3)+4, 11), "1245", damage(packet(3), 2, "not a block (length 11)", block)},
		"length absurd":          {set(packet(3)+4, 0xffffffff), "1245", damage(packet(3), 2, "not a block (length 4294967295)", block)},
		"length beyond file":     {set(packet(3)+4, 100_000), "1245", damage(packet(3), 2, "the file ends inside a block", block)},
		"lengths differ":         {set(packet(4)-4, 64), "1245", damage(packet(3), 2, "a block whose two lengths differ", block)},
		"last length 0":          {set(packet(5)+4, 0), "1234", damage(packet(5), 4, "not a block (length 0)", -1)},
		"noise between blocks":   {func(f []byte) []byte { return slices.Insert(f, packet(3), noise...) }, "12345", damage(packet(3), 2, "not a block (length 3877095678)", int64(len(noise)))},
		"bytes missing":          {func(f []byte) []byte { return slices.Delete(f, packet(3), packet(3)+6) }, "1245", damage(packet(3), 2, "not a block (length 3566469120)", block-6)},
		"section behind noise":   {func(f []byte) []byte { return append(append(f, noise...), bigEndian.Bytes()...) }, "12345b", damage(packet(6), 5, "not a block (length 3877095678)", int64(len(noise)))},
		"zeros at the end":       {func(f []byte) []byte { return append(f, make([]byte, 5000)...) }, "12345", damage(packet(6), 5, "not a block (length 0)", -1)},
		"section without order":  {func(f []byte) []byte { return append(f, "\x0a\x0d\x0d\x0a\x1c\x00\x00\x00########################"...) }, "12345", damage(packet(6), 5, "a section header without byte order", -1)},
		"interface block broken": {set(28+4, 0), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			file := pcaptest.EncodePCAPNG(fivePackets()...)
			if tt.want == nil && tt.frames == "" {
				tt.want = damage(28, 0, "not a block (length 0)", head-28)
				for n := range 5 {
					tt.want = append(tt.want, damage(packet(n+1), 0, "a packet of an interface that is not described", block)...)
				}
			}
			tt.run(t, file)
		})
	}
}

// TestReadError: a source that fails midway is a file that is damaged from there on.
func TestReadError(t *testing.T) {
	for name, file := range map[string][]byte{
		"pcap": pcaptest.PCAP{}.Encode(fivePackets()...), "pcapng": pcaptest.EncodePCAPNG(fivePackets()...),
	} {
		failing := io.MultiReader(bytes.NewReader(file[:len(file)-10]), iotest.ErrReader(&fs.PathError{Op: "read", Path: "/secret/x", Err: errors.New("disk on fire")}))
		r, err := pcap.NewReader(failing, name)
		if err != nil {
			t.Fatal(err)
		}
		frames := drain(t, r)
		damage := r.Captures()[0].Damage
		if len(frames) != 4 || len(damage) != 1 || damage[0].What != "reading failed: disk on fire" || damage[0].Lost != -1 {
			t.Errorf("%s: %d packets, damage %v", name, len(frames), damage)
		}
	}
}

// TestDamageBound: a file that is damaged all over is described by a bounded list, and no lost byte is forgotten.
func TestDamageBound(t *testing.T) {
	var b pcaptest.PCAPNG
	b.Section()
	for range 1000 {
		b.Micro(0, start, nil)
	}
	_, c := readAll(t, b.Bytes())
	var lost int64
	for _, d := range c.Damage {
		lost += d.Lost
	}
	last := c.Damage[len(c.Damage)-1]
	if len(c.Damage) != 100 || lost != 32*1000 || last.What != "this and 900 later places could not be read" {
		t.Errorf("%d damages, %d bytes lost, at last %q", len(c.Damage), lost, last.What)
	}
}

// TestHostileResync has false starts at every step, each of which claims a megabyte: the search must not read it all anew
// for each of them. Without that it would take minutes.
func TestHostileResync(t *testing.T) {
	blocks := bytes.Repeat([]byte("\x06\x00\x00\x00\xf4\xff\x0f\x00"), 1<<20)
	var b pcaptest.PCAPNG
	b.Section()
	b.Raw(blocks)
	if frames, c := readAll(t, b.Bytes()); len(frames) != 0 || len(c.Damage) != 1 {
		t.Errorf("pcapng: %d packets, damage %v", len(frames), c.Damage)
	}

	le := binary.LittleEndian
	record := le.AppendUint32(nil, uint32(start.Unix()))
	record = le.AppendUint32(record, 0)
	record = le.AppendUint32(record, 250_000)
	record = le.AppendUint32(record, 250_000)
	file := append(pcaptest.PCAP{}.Header(), bytes.Repeat([]byte{0xff}, 16)...)
	file = append(file, bytes.Repeat(append(record, 0xff), 1<<18)...)
	readAll(t, file)
}
