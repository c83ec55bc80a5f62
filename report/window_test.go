package report

import (
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
)

func TestWindow(t *testing.T) {
	first := time.Date(2024, 11, 20, 22, 30, 0, 0, time.UTC)
	captures := []pcap.Capture{
		{Packets: 0},
		{Packets: 9, First: pcap.Timestamp(first.Add(time.Hour).UnixNano())},
		{Packets: 9, First: pcap.Timestamp(first.UnixNano())},
	}
	for _, test := range []struct {
		since, until, later string
		want                bool
	}{
		{"", "", "2024-11-20T22:31:00Z", true},
		{"22:31", "", "2024-11-20T22:31:00Z", true},
		{"22:31", "", "2024-11-20T22:30:59.999999999Z", false},
		{"22:31:00.5", "", "2024-11-20T22:31:00.5Z", true},
		{"", "22:31", "2024-11-20T22:31:00Z", true},
		{"", "22:31", "2024-11-20T22:31:00.000000001Z", false},
		{"23:00", "01:00", "2024-11-21T00:59:00Z", true}, // until the next day
		{"23:00", "01:00", "2024-11-21T01:01:00Z", false},
		{"23:00", "01:00", "2024-11-20T22:45:00Z", false},
		{"2024-11-21T23:00:00Z", "23:30", "2024-11-21T23:10:00Z", true}, // the day of since
		{"2024-11-21T23:00:00Z", "01:00", "2024-11-22T00:10:00Z", true},
		{"2024-11-21T00:00:00+02:00", "", "2024-11-20T22:00:00Z", true},
		{"2024-11-21T00:00:00+02:00", "", "2024-11-20T21:59:59Z", false},
		{"2024-11-21T00:00:00Z", "2024-11-20T00:00:00Z", "2024-11-20T12:00:00Z", false}, // an empty span
	} {
		var o Options
		for end, s := range map[*Moment]string{&o.Since: test.since, &o.Until: test.until} {
			if s == "" {
				continue
			}
			m, err := ParseMoment(s)
			if err != nil {
				t.Fatal(err)
			}
			*end = m
		}
		later, err := time.Parse(time.RFC3339Nano, test.later)
		if err != nil {
			t.Fatal(err)
		}
		f := &analysis.Finding{LaterAt: pcap.Timestamp(later.UnixNano())}
		if have := o.window(captures).holds(f); have != test.want {
			t.Errorf("%s to %s holds %s: %v", test.since, test.until, test.later, have)
		}
	}
}

func TestParseMoment(t *testing.T) {
	for _, s := range []string{"", "now", "24:00", "15", "15:37:", "2024-11-20", "2024-11-20 15:37", "15:37Z", "-1:00"} {
		if m, err := ParseMoment(s); err == nil {
			t.Errorf("%q is %v", s, m)
		}
	}
}
