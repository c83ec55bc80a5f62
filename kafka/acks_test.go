package kafka

import (
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// An answer that is read late was acknowledged when the first acknowledgement of it came, not when the latest did.
func TestFirstAcknowledgementCounts(t *testing.T) {
	var l acks
	for i := range 5 {
		l.add(reassembly.StreamOffset(10*i), pcap.Ref{Number: pcap.FrameNumber(i)})
	}
	l.add(15, pcap.Ref{Number: 99}) // late, and of nothing new
	for end, want := range []int{0: 0, 5: 1, 10: 1, 25: 3, 40: 4} {
		if want == 0 && end > 0 {
			continue
		}
		if a, ok := l.of(reassembly.StreamOffset(end)); !ok || int(a.at.Number) != want {
			t.Errorf("up to %d: %v in %d, want %d", end, ok, a.at.Number, want)
		}
	}
	if a, ok := l.of(41); ok {
		t.Errorf("nothing acknowledges 41, have %v", a)
	}
	for i := range 100 {
		l.add(reassembly.StreamOffset(100+i), pcap.Ref{Number: pcap.FrameNumber(i)})
	}
	if len(l) != maxAcks {
		t.Errorf("%d are kept, want %d", len(l), maxAcks)
	}
	if a, ok := l.of(199); !ok || a.at.Number != maxAcks-1 {
		t.Errorf("the last one stands for all that follow: %v, %v", a, ok)
	}
}
