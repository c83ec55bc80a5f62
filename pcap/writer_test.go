package pcap_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// written are frames of two captures, three interfaces and two link types, the comments beside them.
func written() (frames []pcap.Frame, comments []string) {
	add := func(capture, number int, link pcap.LinkType, data, comment string) {
		frames = append(frames, pcap.Frame{
			Ref:      pcap.Ref{Capture: capture, Number: pcap.FrameNumber(len(frames) + 1), Time: pcap.Timestamp(start.UnixNano() + int64(len(frames)))},
			LinkType: link, Interface: number, Data: []byte(data), OriginalLength: len(data) + len(frames),
		})
		comments = append(comments, comment)
	}
	add(0, 0, 1, "first", "")
	add(0, 1, 1, "second", "a.pcap frame 2: the first copy")
	add(1, 0, 1, "", "ünïcode")
	add(0, 0, 1, "fourth..", "")
	add(0, 0, 101, "fifth", "")
	return frames, comments
}

func write(t *testing.T, w *pcap.Writer, frames []pcap.Frame, comments []string) {
	t.Helper()
	for i := range frames {
		if err := w.Write(&frames[i], comments[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWriter compares a file with what the builder of the tests makes of it.
func TestWriter(t *testing.T) {
	frames, comments := written()
	var file bytes.Buffer
	w := pcap.NewWriter(&file, pcap.WriterOptions{
		Application: "kdupscan", Snaplen: 1000,
		InterfaceName: func(f *pcap.Frame) string { return [2][2]string{{"eth0", "lo"}, {""}}[f.Capture][f.Interface] },
	})
	write(t, w, frames, comments)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	var want pcaptest.PCAPNG
	option := func(code uint16, value string) pcaptest.Option {
		return pcaptest.Option{Code: code, Value: []byte(value)}
	}
	packet := func(number, i int, options ...pcaptest.Option) {
		want.Enhanced(number, uint64(start.UnixNano())+uint64(i), frames[i].Data, frames[i].OriginalLength, options...)
	}
	statistics := func(number int, options ...pcaptest.Option) {
		want.Statistics(number, uint64(start.UnixNano())+4, options...)
	}
	nano := option(9, "\x09")
	want.Section(option(4, "kdupscan"))
	want.Interface(1, 1000, option(2, "eth0"), nano)
	packet(0, 0)
	want.Interface(1, 1000, option(2, "lo"), nano)
	packet(1, 1, option(1, "a.pcap frame 2: the first copy"))
	want.Interface(1, 1000, nano)
	packet(2, 2, option(1, "ünïcode"))
	packet(0, 3)
	want.Interface(101, 1000, option(2, "eth0"), nano)
	packet(3, 4)
	statistics(0, want.Uint64(4, 2))
	statistics(1, want.Uint64(4, 1))
	statistics(2, want.Uint64(4, 1))
	statistics(3, want.Uint64(4, 1))
	if diff := cmp.Diff(want.Bytes(), file.Bytes()); diff != "" {
		t.Error(diff)
	}
	if w.Written() != int64(file.Len()) {
		t.Errorf("%d bytes written, %d in the file", w.Written(), file.Len())
	}
	if err := w.Write(&frames[0], ""); err == nil {
		t.Error("a closed file takes packets")
	}
}

// TestWriterCutOff cuts a file off at each byte: what was written whole is read, and no more than the rest is damage.
func TestWriterCutOff(t *testing.T) {
	frames, comments := written()
	var file bytes.Buffer
	w := pcap.NewWriter(&file, pcap.WriterOptions{})
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	head := file.Len()
	var ends []int // of each packet
	for i := range frames {
		size := w.Size(&frames[i], comments[i])
		if err := errors.Join(w.Write(&frames[i], comments[i]), w.Flush()); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, file.Len())
		var twin bytes.Buffer
		again := pcap.NewWriter(&twin, pcap.WriterOptions{})
		write(t, again, frames[:i+1], comments)
		if err := again.Close(); err != nil || int64(twin.Len()) != size {
			t.Errorf("packet %d: %d bytes when closed, foretold %d (%v)", i, twin.Len(), size, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for n := head; n <= file.Len(); n++ {
		got, c := readAll(t, file.Bytes()[:n])
		want := 0
		for want < len(ends) && ends[want] <= n {
			want++
		}
		if len(got) != want || len(c.Damage) > 1 {
			t.Fatalf("cut at %d: %d packets, want %d; %+v", n, len(got), want, c.Damage)
		}
		for i, f := range got {
			if !bytes.Equal(f.Data, frames[i].Data) || f.Time != frames[i].Time || f.LinkType != frames[i].LinkType || f.OriginalLength != frames[i].OriginalLength {
				t.Fatalf("cut at %d: packet %d is %+v", n, i, f)
			}
		}
	}
}

// TestWriterLong writes packets and comments at the bounds.
func TestWriterLong(t *testing.T) {
	var file bytes.Buffer
	w := pcap.NewWriter(&file, pcap.WriterOptions{})
	f := pcap.Frame{Ref: pcap.Ref{Time: -5}, LinkType: 1, Data: bytes.Repeat([]byte{7}, 1<<20+1)}
	for _, comment := range []string{"", strings.Repeat("ü", 40000), "bad \xff text"} {
		if err := w.Write(&f, comment); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	got, c := readAll(t, file.Bytes())
	if len(got) != 3 || c.Damage != nil || got[2].Time != 0 || !bytes.Equal(got[2].Data, f.Data) || got[2].OriginalLength != len(f.Data) {
		t.Errorf("%d packets, %+v", len(got), c)
	}
	if !bytes.Contains(file.Bytes(), []byte("bad \ufffd text")) || bytes.Count(file.Bytes(), []byte("ü")) != 32767 {
		t.Error("comments are not as they should be")
	}
}

// limited is a file on a full disk.
type limited struct {
	bytes.Buffer
	room  int
	syncs int
}

var errFull = errors.New("no space left")

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.room)
	l.room -= n
	l.Buffer.Write(p[:n])
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func (l *limited) Sync() error { l.syncs++; return nil }

func TestWriterFullDisk(t *testing.T) {
	frames, comments := written()
	disk := limited{room: 200}
	w := pcap.NewWriter(&disk, pcap.WriterOptions{})
	write(t, w, frames[:1], comments)
	if err := w.Sync(); err != nil || disk.syncs != 1 {
		t.Fatal(err, disk.syncs)
	}
	big := frames[1]
	big.Data = make([]byte, 1000)
	write(t, w, []pcap.Frame{big}, comments)
	if err := w.Flush(); !errors.Is(err, errFull) {
		t.Fatal(err)
	}
	disk.room = 1 << 20 // there is room again, but behind half a packet
	for _, err := range []error{w.Write(&frames[0], ""), w.Flush(), w.Sync(), w.Close()} {
		if !errors.Is(err, errFull) {
			t.Error(err)
		}
	}
	if got, c := readAll(t, disk.Bytes()); len(got) != 1 || len(c.Damage) != 1 || disk.Len() != 200 || w.Written() != 200 {
		t.Errorf("%d packets in %d bytes, %+v", len(got), disk.Len(), c.Damage)
	}
}

// TestWriterCopies writes the shared captures anew: the packets stay the same.
func TestWriterCopies(t *testing.T) {
	dir := filepath.Join(shared(t, "captures"), "seed")
	for _, name := range captureFiles(t, dir) {
		original, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		frames, before := readAll(t, original)
		var file bytes.Buffer
		w := pcap.NewWriter(&file, pcap.WriterOptions{})
		write(t, w, frames, make([]string, len(frames)))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, after := readAll(t, file.Bytes()); after.Fingerprint != before.Fingerprint || after.Packets != before.Packets || after.Damage != nil {
			t.Errorf("%s: %+v, was %+v", filepath.Base(name), after, before)
		}
	}
}

func BenchmarkWriter(b *testing.B) {
	w := pcap.NewWriter(io.Discard, pcap.WriterOptions{})
	f := pcap.Frame{Ref: pcap.Ref{Time: pcap.Timestamp(time.Now().UnixNano())}, LinkType: 1, Data: make([]byte, 1500)}
	b.SetBytes(1500)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Write(&f, ""); err != nil {
			b.Fatal(err)
		}
	}
}
