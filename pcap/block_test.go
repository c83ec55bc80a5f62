package pcap_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// distinct returns packets that all differ, of more bytes than a few blocks hold. Their times are every n-th nanosecond.
func distinct(first, n int) []pcaptest.Packet {
	var all []pcaptest.Packet
	for i := range 2000 {
		data := bytes.Repeat(fmt.Appendf(nil, "%d/%d ", first, i), 10+i%200)
		all = append(all, pcaptest.Packet{Time: start.Add(time.Duration(first + n*i)), LinkType: 1, Data: data})
	}
	return all
}

// TestHeldBlocks: packets stay as they were for as long as their blocks are held, in files that are read in turns as well.
func TestHeldBlocks(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for i, encode := range []func(...pcaptest.Packet) []byte{pcaptest.PCAP{Nano: true}.Encode, pcaptest.PCAP{Nano: true}.Encode} {
		paths = append(paths, filepath.Join(dir, fmt.Sprint(i)))
		if err := os.WriteFile(paths[i], encode(distinct(i, 2)...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source, err := pcap.Open(paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	const window = 300 // packets that are held at a time
	var held []pcap.Frame
	var copies [][]byte
	check := func() {
		if f := held[0]; !bytes.Equal(f.Data, copies[0]) {
			t.Fatalf("capture %d, packet %d is no longer what it was", f.Capture, f.Number)
		}
		held[0].Block.Release()
		held, copies = held[1:], copies[1:]
	}
	blocks := map[*pcap.Block]bool{}
	for {
		var f pcap.Frame
		if err := source.Next(&f); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		f.Block.Hold()
		blocks[f.Block] = true
		held, copies = append(held, f), append(copies, bytes.Clone(f.Data))
		if len(held) > window {
			check()
		}
	}
	for len(held) > 0 {
		check()
	}
	if len(blocks) < 3 || len(blocks) > 12 {
		t.Errorf("%d blocks: they should be used again once they are released", len(blocks))
	}
}
