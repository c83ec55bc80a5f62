package reassembly

import (
	"bytes"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
)

var shared = filepath.Join("..", "..", "shared")

// replay pushes a capture through Decoder and Assembler under the checker.
func replay(t testing.TB, path string) (*checker, map[pcap.Code]int) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Skip(err)
	}
	defer file.Close()
	check, notes := &checker{t: t}, map[pcap.Code]int{}
	reader, err := pcap.NewReader(file, path)
	if err != nil {
		return check, notes // empty, or no capture at all
	}
	note := func(n pcap.Note) { notes[n.Code]++ }
	a := NewAssembler(DefaultLimits(), check.event, note)
	d := NewDecoder(DefaultLimits(), note)
	for f := (pcap.Frame{}); ; {
		if err := reader.Next(&f); err != nil {
			if err != io.EOF {
				t.Logf("%s: %v", path, err)
			}
			break
		}
		d.Decode(&f, func(s *Segment) {
			check.push(s)
			a.Push(s)
		})
	}
	a.Finish()
	check.finish()
	return check, notes
}

// Every capture goes through, and every stream is covered once, by bytes that the frames named really hold.
func TestCorpus(t *testing.T) {
	files, connections, streams := 0, 0, 0
	err := filepath.WalkDir(shared, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() || !strings.Contains(name, ".pcap") || strings.HasSuffix(name, ".json") {
			return nil
		}
		check, _ := replay(t, path)
		files++
		connections += len(check.conns)
		for _, k := range check.conns {
			for _, next := range k.next {
				if next > 0 {
					streams++
				}
			}
		}
		return nil
	})
	if err != nil || files == 0 {
		t.Skip("no captures: ", err)
	}
	t.Logf("%d captures, %d connections, %d streams with bytes", files, connections, streams)
	if files > 500 && connections < 1000 {
		t.Error("most captures gave nothing")
	}
}

// The Fetch responses that the authors of kafka-go extracted from their own captures.
func TestKafkaGo(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(shared, "corpus", "kafka", "kafka-go", "*.hex"))
	if len(paths) == 0 {
		t.Skip("no captures")
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
		if err != nil {
			t.Fatal(err)
		}
		check, notes := replay(t, strings.TrimSuffix(path, ".hex")+".pcapng")
		found := 0
		for id, k := range check.conns {
			if bytes.Contains(k.data[FromB], want) {
				found++
				if id != 3 {
					t.Errorf("%s: found in connection %d, want 3", path, id)
				}
			}
		}
		if found != 1 || notes[CodeGap] != 0 {
			t.Errorf("%s: found %d times, notes %v", path, found, notes)
		}
	}
}
