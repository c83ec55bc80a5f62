package analysis_test

import (
	"bytes"
	"testing"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/kafka/kafkatest/traffic"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// BenchmarkCorrelator judges the observations of captures of 32 MB; bytes are those of the capture, allocations those of a
// whole run.
func BenchmarkCorrelator(b *testing.B) {
	for _, name := range []string{"plain-500m", "fetch-1g", "small-1g", "many-2g"} {
		c := traffic.Presets[name]
		c.Size = 32e6
		c.Producers = min(c.Producers, 100) // each has connections, which cost bytes of capture before they write
		var capture bytes.Buffer
		if _, err := traffic.Write(&capture, c); err != nil {
			b.Fatal(err)
		}
		size := int64(capture.Len())
		all := observe(b, &capture)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				correlator := analysis.New(analysis.Options{Memory: 192 << 20, Note: func(pcap.Note) {}})
				for _, o := range all {
					correlator.Observe(o)
				}
				correlator.Finish()
			}
			b.ReportMetric(float64(len(all))*float64(b.N)/b.Elapsed().Seconds(), "observations/s")
		})
	}
}

// observe returns what the layers below see in a capture.
func observe(b *testing.B, capture *bytes.Buffer) []kafka.Observation {
	b.Helper()
	source, err := pcap.NewReader(capture, "capture")
	if err != nil {
		b.Fatal(err)
	}
	var all []kafka.Observation
	ignore := func(pcap.Note) {}
	messages := kafka.NewDecoder(kafka.Options{Limits: kafka.DefaultLimits()}, func(o kafka.Observation) { all = append(all, o) }, ignore)
	streams := reassembly.NewAssembler(reassembly.DefaultLimits(), messages.Handle, ignore)
	packets := reassembly.NewDecoder(reassembly.DefaultLimits(), ignore)
	var f pcap.Frame
	for source.Next(&f) == nil {
		packets.Decode(&f, streams.Push)
	}
	streams.Finish()
	return all
}
