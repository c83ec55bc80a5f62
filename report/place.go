package report

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// captureNames returns the base names of the captures, made distinct where files of several folders share one.
func captureNames(captures []pcap.Capture) []string {
	var names []string
	for _, c := range captures {
		name := valid(c.Name)
		for n := 2; slices.Contains(names, name); n++ {
			name = fmt.Sprintf("%s (%d)", valid(c.Name), n)
		}
		names = append(names, name)
	}
	return names
}

// captureName returns the name of the capture that r is in, "" for none.
func (v *view) captureName(r pcap.Ref) string {
	if r.Capture < 0 || r.Capture >= len(v.captures) {
		return ""
	}
	return v.captures[r.Capture]
}

// frame names a frame for a sentence: "frame 14", and with several captures "frame 14 of a.pcap".
func (v *view) frame(r pcap.Ref) string {
	if len(v.captures) < 2 {
		return fmt.Sprintf("frame %d", r.Number)
	}
	return fmt.Sprintf("frame %d of %s", r.Number, name(v.captureName(r)))
}

// topicID returns the id in hexadecimal groups of 8-4-4-4-12 digits, "" for none.
func topicID(t kafka.Topic) string {
	if t.ID == ([16]byte{}) {
		return ""
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", t.ID[0:4], t.ID[4:6], t.ID[6:8], t.ID[8:10], t.ID[10:16])
}

// place names a topic-partition: "orders/3", by id where the name is unknown. Partition -1 is left out.
func place(t kafka.Topic, partition int32) string {
	topic := name(t.Name)
	if topic == "" {
		topic = topicID(t)
	}
	if topic == "" {
		topic = "(unnamed topic)"
	}
	if partition < 0 {
		return topic
	}
	return fmt.Sprintf("%s/%d", topic, partition)
}

// address is "ip:port", "[ip6]:port", or "?" where unknown.
func address(a netip.AddrPort) string {
	if !a.IsValid() {
		return "?"
	}
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()).String()
}

// connection is "client → server", "" where unknown.
func connection(p analysis.Position) string {
	if !p.Client.IsValid() && !p.Server.IsValid() {
		return ""
	}
	return address(p.Client) + " → " + address(p.Server)
}

// span is "7" or "7–9".
func span(first, last int64) string {
	if last == first {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d–%d", first, last)
}

// spanOf is "offset 7" or "offsets 7–9".
func spanOf(one string, first, last int64) string {
	if last != first {
		one += "s"
	}
	return one + " " + span(first, last)
}

// clock is the time of day, in milliseconds and UTC.
func clock(t pcap.Timestamp) string { return t.Time().Format("15:04:05.000") }

// rfc3339 is a time with nanoseconds in UTC, "" where RFC 3339 has no way to write it.
func rfc3339(t time.Time) string {
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return ""
	}
	return t.Format("2006-01-02T15:04:05.000000000Z")
}

// count is "1 record", "2 records", "3 batches".
func count[T int | int32 | int64 | uint64](n T, one string) string {
	switch {
	case n == 1:
		return "1 " + one
	case strings.HasSuffix(one, "ch"):
		one += "es"
	case strings.HasSuffix(one, "y"):
		one = strings.TrimSuffix(one, "y") + "ies"
	default:
		one += "s"
	}
	return fmt.Sprintf("%s %s", grouped(int64(n)), one)
}

// grouped writes n with a comma between thousands, from 10,000 on.
func grouped(n int64) string {
	s := fmt.Sprint(n)
	if n < 10000 {
		return s
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// frames returns every frame that f rests on, by capture, sorted and each once.
func frames(f *analysis.Finding) map[int][]pcap.FrameNumber {
	all := make(map[int][]pcap.FrameNumber)
	for at := range f.Positions() {
		all[at.Capture] = append(all[at.Capture], at.Number)
	}
	for _, e := range f.Timeline {
		for _, number := range e.RepeatedIn {
			if number > 0 {
				all[e.At.Capture] = append(all[e.At.Capture], number)
			}
		}
	}
	for capture, numbers := range all {
		slices.Sort(numbers)
		all[capture] = slices.Compact(numbers)
	}
	return all
}

// displayFilter is a Wireshark filter for the given sorted frame numbers; runs of three and more are written as ranges.
func displayFilter(numbers []pcap.FrameNumber) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if j-i >= 2 {
			parts = append(parts, fmt.Sprintf("%d..%d", numbers[i], numbers[j]))
		} else {
			for ; i <= j; i++ {
				parts = append(parts, fmt.Sprint(numbers[i]))
			}
		}
		i = j + 1
	}
	return "frame.number in {" + strings.Join(parts, ",") + "}"
}

// filters returns the display filter of f for each capture, by name.
func (v *view) filters(f *analysis.Finding) map[string]string {
	filters := make(map[string]string)
	for capture, numbers := range frames(f) {
		filters[v.captureName(pcap.Ref{Capture: capture})] = displayFilter(numbers)
	}
	return filters
}
