package pcap_test

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// benchmarkFile returns packets of 1 KiB, as a broker sees them with small batches.
func benchmarkFile(packets int) []pcaptest.Packet {
	data := bytes.Repeat([]byte("kdupscan"), 128)
	all := make([]pcaptest.Packet, packets)
	for i := range all {
		all[i] = pcaptest.Packet{Time: start.Add(time.Duration(i) * time.Microsecond), LinkType: pcap.LinkTypeEthernet, Data: data}
	}
	return all
}

// BenchmarkReader reads 10,000 packets of 1 KiB an operation from memory.
func BenchmarkReader(b *testing.B) {
	packets := benchmarkFile(10_000)
	files := []struct {
		name string
		data []byte
	}{
		{"pcap", pcaptest.PCAP{}.Encode(packets...)},
		{"pcap-big-endian", pcaptest.PCAP{BigEndian: true}.Encode(packets...)},
		{"pcapng", pcaptest.EncodePCAPNG(packets...)},
	}
	for _, file := range files {
		b.Run(file.name, func(b *testing.B) {
			benchmark(b, len(file.data), len(packets), func() (pcap.Source, error) {
				return pcap.NewReader(bytes.NewReader(file.data), file.name)
			})
		})
	}
	half := len(packets) / 2
	first, second := pcaptest.PCAP{}.Encode(packets[:half]...), pcaptest.PCAP{}.Encode(packets[:half]...)
	b.Run("merged", func(b *testing.B) {
		benchmark(b, len(first)+len(second), len(packets), func() (pcap.Source, error) {
			x, err := pcap.NewReader(bytes.NewReader(first), "first")
			if err != nil {
				return nil, err
			}
			y, err := pcap.NewReader(bytes.NewReader(second), "second")
			return pcap.Merge(x, y), err
		})
	})
}

func benchmark(b *testing.B, size, packets int, open func() (pcap.Source, error)) {
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		source, err := open()
		if err != nil {
			b.Fatal(err)
		}
		var f pcap.Frame
		n := 0
		for source.Next(&f) != io.EOF {
			n++
		}
		if n != packets {
			b.Fatalf("%d packets, want %d", n, packets)
		}
	}
	b.ReportMetric(float64(packets)*float64(b.N)/b.Elapsed().Seconds(), "packets/s")
}
