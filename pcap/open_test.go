package pcap_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// packetsAt returns one packet for each time in microseconds after start, its bytes being its name and time.
func packetsAt(name string, micros ...int) []pcaptest.Packet {
	var packets []pcaptest.Packet
	for _, us := range micros {
		packets = append(packets, pcaptest.Packet{
			Time: start.Add(time.Duration(us) * time.Microsecond), LinkType: 1, Data: fmt.Appendf(nil, "%s%d", name, us),
		})
	}
	return packets
}

func writeFiles(t *testing.T, dir string, files map[string][]byte) {
	t.Helper()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// order writes down what was read: capture, number and bytes of each frame.
func order(frames []pcap.Frame) string {
	var words []string
	for _, f := range frames {
		words = append(words, fmt.Sprintf("%d.%d=%s", f.Capture, f.Number, f.Data))
	}
	return strings.Join(words, " ")
}

func TestMerge(t *testing.T) {
	for name, tt := range map[string]struct {
		sources [][]pcaptest.Packet
		want    string
	}{
		"none":                      {nil, ""},
		"one":                       {[][]pcaptest.Packet{packetsAt("a", 1, 2)}, "0.1=a1 0.2=a2"},
		"alternating":               {[][]pcaptest.Packet{packetsAt("a", 1, 3), packetsAt("b", 2, 4)}, "0.1=a1 1.1=b2 0.2=a3 1.2=b4"},
		"later first":               {[][]pcaptest.Packet{packetsAt("a", 3), packetsAt("b", 1, 2)}, "1.1=b1 1.2=b2 0.1=a3"},
		"equal times":               {[][]pcaptest.Packet{packetsAt("a", 1, 1), packetsAt("b", 1), packetsAt("c", 1, 1)}, "0.1=a1 0.2=a1 1.1=b1 2.1=c1 2.2=c1"},
		"times go back in a source": {[][]pcaptest.Packet{packetsAt("a", 5, 2, 7), packetsAt("b", 1, 6)}, "1.1=b1 0.1=a5 0.2=a2 1.2=b6 0.3=a7"},
		"an empty one":              {[][]pcaptest.Packet{packetsAt("a"), packetsAt("b", 1)}, "1.1=b1"},
	} {
		t.Run(name, func(t *testing.T) {
			var sources []pcap.Source
			for _, packets := range tt.sources {
				r, err := pcap.NewReader(bytes.NewReader(pcaptest.PCAP{}.Encode(packets...)), "x")
				if err != nil {
					t.Fatal(err)
				}
				sources = append(sources, r)
			}
			merged := pcap.Merge(sources...)
			if got := order(drain(t, merged)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if n := len(merged.Captures()); n != len(tt.sources) {
				t.Errorf("%d captures, want %d", n, len(tt.sources))
			}
		})
	}
	t.Run("of merged ones", func(t *testing.T) {
		reader := func(name string, us ...int) pcap.Source {
			r, err := pcap.NewReader(bytes.NewReader(pcaptest.PCAP{}.Encode(packetsAt(name, us...)...)), name)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		s := pcap.Merge(pcap.Merge(reader("a", 1), reader("b", 3)), reader("c", 2))
		if got, want := order(drain(t, s)), "0.1=a1 2.1=c2 1.1=b3"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		var names []string
		for _, c := range s.Captures() {
			names = append(names, c.Name)
		}
		if diff := cmp.Diff([]string{"a", "b", "c"}, names); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	file := func(packets []pcaptest.Packet) []byte { return pcaptest.PCAP{}.Encode(packets...) }
	writeFiles(t, dir, map[string][]byte{
		"late.pcap":  file(packetsAt("l", 30, 40)),
		"early.pcap": pcaptest.EncodePCAPNG(packetsAt("e", 10, 20)...),
		"none.pcap":  file(nil),
	})
	folder := filepath.Join(dir, "folder")
	inner := filepath.Join(folder, "inner")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, folder, map[string][]byte{
		"b":         gzipped(file(packetsAt("b", 1))),
		"a.pcap":    file(packetsAt("a", 2, 50)),
		"notes.txt": []byte("not a capture"),
		"empty":     nil,
	})
	writeFiles(t, inner, map[string][]byte{"c.pcap": file(packetsAt("c", 3))})
	path := func(name string) string { return filepath.Join(dir, name) }
	stdin := string(file(packetsAt("s", 15)))

	for name, tt := range map[string]struct {
		paths []string
		want  string
		names []string
	}{
		"one":    {[]string{path("early.pcap")}, "0.1=e10 0.2=e20", []string{"early.pcap"}},
		"two":    {[]string{path("late.pcap"), path("early.pcap")}, "1.1=e10 1.2=e20 0.1=l30 0.2=l40", []string{"late.pcap", "early.pcap"}},
		"folder": {[]string{folder}, "1.1=b1 0.1=a2 0.2=a50", []string{"a.pcap", "b"}},
		"all": {[]string{path("none.pcap"), "-", folder, path("early.pcap")}, "3.1=b1 2.1=a2 4.1=e10 1.1=s15 4.2=e20 2.2=a50",
			[]string{"none.pcap", "stdin", "a.pcap", "b", "early.pcap"}},
		"the same twice": {[]string{path("early.pcap"), path("early.pcap")}, "0.1=e10 1.1=e10 0.2=e20 1.2=e20", []string{"early.pcap", "early.pcap"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := pcap.Open(tt.paths, strings.NewReader(stdin))
			if err != nil {
				t.Fatal(err)
			}
			if got := order(drain(t, s)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			read, total := s.Progress()
			if piped := strings.Contains(tt.want, "=s"); !piped && read != total || piped && total != -1 {
				t.Errorf("progress %d of %d", read, total)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			var names []string
			var packets uint64
			for _, c := range s.Captures() {
				names = append(names, c.Name)
				packets += c.Packets
			}
			if diff := cmp.Diff(tt.names, names); diff != "" {
				t.Error(diff)
			}
			if want := strings.Count(tt.want, "="); packets != uint64(want) {
				t.Errorf("captures count %d packets, want %d", packets, want)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string][]byte{"notes.txt": []byte("hello world"), "empty.pcap": nil})
	folder := filepath.Join(dir, "logs")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	good := pcaptest.PCAP{}.Encode(packetsAt("a", 1)...)
	for name, tt := range map[string]struct {
		paths []string
		is    error
		text  string
	}{
		"nothing":     {nil, pcap.ErrNoCaptures, "no captures"},
		"missing":     {[]string{filepath.Join(dir, "gone.pcap")}, fs.ErrNotExist, "gone.pcap: "},
		"text":        {[]string{filepath.Join(dir, "notes.txt")}, pcap.ErrNotCapture, "notes.txt: not a pcap or pcapng file (it begins with 68656c6c)"},
		"empty":       {[]string{filepath.Join(dir, "empty.pcap")}, pcap.ErrEmpty, "empty.pcap: empty file"},
		"folder":      {[]string{folder}, pcap.ErrNoCaptures, "logs: no captures in this folder"},
		"stdin twice": {[]string{"-", "-"}, nil, "stdin: can be read only once"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pcap.Open(tt.paths, bytes.NewReader(good))
			if err == nil || !strings.HasPrefix(err.Error(), tt.text) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v, want %q", err, tt.text)
			}
		})
	}
}

// TestOpenPipe reads a pipe by its path, as a shell's process substitution names it.
func TestOpenPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := fmt.Sprintf("/dev/fd/%d", r.Fd())
	if info, err := os.Stat(path); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Skip("pipes have no path here")
	}
	// Few enough bytes to fit into the pipe at once.
	if _, err := w.Write(pcaptest.PCAP{}.Encode(packetsAt("p", 1, 2)...)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	s, err := pcap.Open([]string{path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got, want := order(drain(t, s)), "0.1=p1 0.2=p2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestOpenDamage: damaged files in a folder are read as far as they go. One of which nothing can be read is not known to be
// a capture.
func TestOpenDamage(t *testing.T) {
	dir := t.TempDir()
	whole := pcaptest.PCAP{}.Encode(packetsAt("a", 1, 2)...)
	writeFiles(t, dir, map[string][]byte{
		"cut.pcap":    whole[:len(whole)-1],
		"cut.gz":      gzipped(pcaptest.PCAP{}.Encode(noisy(100)...))[:50_000],
		"hopeless.gz": gzipped(whole)[:12],
	})
	s, err := pcap.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	drain(t, s)
	var got []string
	for _, c := range s.Captures() {
		for _, d := range c.Damage {
			got = append(got, c.Name+": "+d.What)
		}
	}
	want := []string{"cut.gz: the gzip data is cut off", "cut.pcap: the file ends inside a packet"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRotatedSet has more files than a process may have open, one of which vanishes while the others are read.
func TestRotatedSet(t *testing.T) {
	const files = 1500
	dir := t.TempDir()
	for i := range files {
		writeFiles(t, dir, map[string][]byte{fmt.Sprintf("%04d.pcap", i): pcaptest.PCAP{}.Encode(packetsAt("", 10*i, 10*i+5)...)})
	}
	s, err := pcap.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var f pcap.Frame
	for n := range 3 {
		if err := s.Next(&f); err != nil || f.Capture != n/2 {
			t.Fatalf("frame %d: capture %d, %v", n, f.Capture, err)
		}
		if open := openFiles(t, dir); open > 1 {
			t.Errorf("%d files open", open)
		}
	}
	if err := os.Remove(filepath.Join(dir, "0700.pcap")); err != nil {
		t.Fatal(err)
	}
	n := 3
	for ; s.Next(&f) != io.EOF; n++ {
	}
	if n != 2*files-2 {
		t.Errorf("%d packets, want %d", n, 2*files-2)
	}
	damage := s.Captures()[700].Damage
	if len(damage) != 1 || damage[0].Lost != -1 || !strings.HasPrefix(damage[0].What, "the file could not be opened again (0700.pcap: ") || strings.Contains(damage[0].What, dir) {
		t.Errorf("damage of the vanished file: %v", damage)
	}
}

// openFiles counts this process's open files in dir, where the system tells.
func openFiles(t *testing.T, dir string) int {
	t.Helper()
	const fds = "/proc/self/fd"
	entries, err := os.ReadDir(fds)
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(fds, e.Name())); err == nil && strings.HasPrefix(target, dir) {
			n++
		}
	}
	return n
}
