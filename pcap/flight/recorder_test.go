package flight

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
)

var start = pcap.Timestamp(time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC).UnixNano())

// frame returns a packet at a time after start.
func frame(at time.Duration, size int) *pcap.Frame {
	return &pcap.Frame{Ref: pcap.Ref{Time: start + pcap.Timestamp(at)}, LinkType: pcap.LinkTypeEthernet, OriginalLength: size,
		Data: bytes.Repeat([]byte{byte(at / time.Millisecond)}, size)}
}

// ring returns the ring's files in dir, by name, and their size.
func ring(t *testing.T, dir string) (names []string, size int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.pcapng"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return names, size
}

// times returns the times of all packets in files, and fails where one is damaged unless a damage is expected.
func times(t *testing.T, damage bool, names ...string) (all []pcap.Timestamp) {
	t.Helper()
	for _, name := range names {
		content, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		source, err := pcap.NewReader(content, name)
		if err != nil {
			t.Fatal(err)
		}
		var f pcap.Frame
		for err = source.Next(&f); err == nil; err = source.Next(&f) {
			all = append(all, f.Time)
		}
		if !errors.Is(err, io.EOF) || !damage && source.Captures()[0].Damage != nil {
			t.Errorf("%s: %v %v", filepath.Base(name), err, source.Captures()[0].Damage)
		}
	}
	return all
}

func write(t *testing.T, r *Recorder, f *pcap.Frame) {
	t.Helper()
	if err := r.Write(f); err != nil {
		t.Fatal(err)
	}
}

// TestSizeIsKept: at no time are the files larger, the newest packets are there without a hole, and the ring is used well.
func TestSizeIsKept(t *testing.T) {
	dir := t.TempDir()
	r := New(Options{Dir: dir, Size: MinSize, Age: time.Hour})
	random := rand.New(rand.NewPCG(1, 2))
	var written []pcap.Timestamp
	for i := range 3000 {
		f := frame(time.Duration(i)*time.Millisecond, 1+random.IntN(64<<10))
		write(t, r, f)
		written = append(written, f.Time)
		if i%100 == 0 {
			if err := r.Flush(); err != nil {
				t.Fatal(err)
			}
			if _, size := ring(t, dir); size > MinSize || size != r.Size() {
				t.Fatalf("%d bytes, counted %d, of at most %d", size, r.Size(), MinSize)
			}
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	names, size := ring(t, dir)
	if size > MinSize || size < MinSize*3/4 {
		t.Errorf("%d bytes in the end", size)
	}
	have := times(t, false, names...)
	for i, at := range written[len(written)-len(have):] {
		if have[i] != at {
			t.Fatalf("packet %d of the ring is not that of the end of what was written", i)
		}
	}
}

func TestAge(t *testing.T) {
	dir := t.TempDir()
	r := New(Options{Dir: dir, Size: MinSize, Age: time.Minute})
	for i := range 600 {
		write(t, r, frame(time.Duration(i)*time.Second, 100))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	names, _ := ring(t, dir)
	if have := times(t, false, names...); have[0] < start+pcap.Timestamp(535*time.Second) || have[0] > start+pcap.Timestamp(540*time.Second) {
		t.Errorf("oldest packet of %v", have[0].Time())
	}
}

// TestCrash: what was flushed can be read when nothing was closed, and the next run takes the files into its ring.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	crashed := New(Options{Dir: dir, Size: MinSize, Age: time.Hour})
	for i := range 100 {
		write(t, crashed, frame(time.Duration(i)*time.Second, 60<<10))
	}
	if err := crashed.Flush(); err != nil {
		t.Fatal(err)
	}
	names, _ := ring(t, dir)
	last := names[len(names)-1]
	if info, err := os.Stat(last); err != nil || os.Truncate(last, info.Size()-1000) != nil {
		t.Fatal("cannot cut the last file")
	}
	if have := times(t, true, names...); len(have) != 99 {
		t.Errorf("%d packets before the cut, want 99", len(have))
	}

	r := New(Options{Dir: dir, Size: MinSize, Age: time.Hour})
	write(t, r, frame(100*time.Second, 60<<10)) // the clock has gone on less than the file is long
	if all, size := ring(t, dir); len(all) != len(names)+1 || r.Files() != len(all) || size > r.Size() {
		t.Errorf("%d files, counted %d", len(all), r.Files())
	}
	for i := range 1000 {
		write(t, r, frame(time.Duration(101+i)*time.Second, 60<<10))
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	if all, size := ring(t, dir); size > MinSize || all[0] == names[0] {
		t.Errorf("%d bytes, the oldest file is %s", size, all[0])
	}
}

func TestClockSetBack(t *testing.T) {
	dir := t.TempDir()
	r := New(Options{Dir: dir, Size: MinSize, Age: time.Hour})
	for _, at := range []time.Duration{time.Hour, 3 * time.Hour, 0, 2 * time.Hour, 4 * time.Hour} {
		write(t, r, frame(at, 100))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	names, _ := ring(t, dir)
	if have := times(t, false, names...); have[len(have)-1] != start+pcap.Timestamp(4*time.Hour) {
		t.Errorf("times %v", have)
	}
}

// TestKeep: what lies around a moment is kept while the ring goes on, with its documents, within its size.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	r := New(Options{Dir: dir, Size: MinSize, KeepSize: 8 << 20, Age: time.Hour})
	second := func(n int) pcap.Timestamp { return start + pcap.Timestamp(n)*pcap.Timestamp(time.Second) }
	var errs []error
	for i := range 2000 {
		write(t, r, frame(time.Duration(i)*time.Second, 60<<10))
		switch i {
		case 300:
			if err := r.Keep("F1", second(270), second(340), map[string][]byte{"report.txt": []byte("possible")}); err != nil {
				t.Fatal(err)
			}
		case 310: // it has risen
			if err := r.Keep("F1", second(270), second(350), map[string][]byte{"report.txt": []byte("confirmed")}); err != nil {
				t.Fatal(err)
			}
		case 1000:
			errs = append(errs, r.Keep("F2", second(900), second(900), map[string][]byte{"report.txt": []byte("too much")}))
		case 1010:
			errs = append(errs, r.Keep("F3", second(0), second(2000), map[string][]byte{"report.txt": []byte("too much")}))
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if errs[0] != nil || !errors.Is(errs[1], ErrKeepFull) {
		t.Errorf("errors %v", errs)
	}
	if text, err := os.ReadFile(filepath.Join(dir, findings, "F1", "report.txt")); string(text) != "confirmed" || err != nil {
		t.Errorf("document %q %v", text, err)
	}
	names, _ := ring(t, filepath.Join(dir, findings, "F1"))
	have := times(t, false, names...)
	if have[0] > second(270) || have[0] < second(250) || have[len(have)-1] < second(350) || have[len(have)-1] > second(380) {
		t.Errorf("kept from %v to %v", have[0].Time(), have[len(have)-1].Time())
	}
	for i := 1; i < len(have); i++ {
		if have[i]-have[i-1] != pcap.Timestamp(time.Second) {
			t.Fatalf("a hole behind %v", have[i-1].Time())
		}
	}
	kept := map[string]int64{}
	for _, finding := range []string{"F1", "F2", "F3"} {
		names, _ := ring(t, filepath.Join(dir, findings, finding))
		for _, name := range names {
			info, err := os.Stat(name)
			if err != nil {
				t.Fatal(err)
			}
			kept[filepath.Base(name)] = info.Size()
		}
	}
	size := int64(len("confirmed") + 2*len("too much"))
	for _, n := range kept {
		size += n
	}
	if size != r.KeptSize() || size > 8<<20 {
		t.Errorf("kept %d bytes, counted %d", size, r.KeptSize())
	}
	again := New(Options{Dir: dir, Size: MinSize, KeepSize: 8 << 20, Age: time.Hour})
	if err := again.survey(); err != nil || again.KeptSize() != size {
		t.Errorf("the next run counts %d bytes, want %d (%v)", again.KeptSize(), size, err)
	}
}

// TestErrors: a folder that cannot be made is an error, and the recorder goes on once it can.
func TestErrors(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file", "ring")
	if err := os.WriteFile(filepath.Dir(dir), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := New(Options{Dir: dir, Size: MinSize, Age: time.Hour})
	for range 2 {
		if err := r.Write(frame(0, 100)); err == nil {
			t.Error("no error")
		}
	}
	if err := errors.Join(r.Flush(), r.Close()); err != nil || r.Free() || r.Size() != 0 {
		t.Errorf("%v, %d bytes", err, r.Size())
	}
	if err := os.Remove(filepath.Dir(dir)); err != nil {
		t.Fatal(err)
	}
	write(t, r, frame(0, 100))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if names, _ := ring(t, dir); len(times(t, false, names...)) != 1 {
		t.Errorf("files %v", names)
	}
}
