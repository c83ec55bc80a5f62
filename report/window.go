package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
)

// Moment is an end of a span of capture time: a time, or a time of day whose day the captures give. The zero value is no end.
type Moment struct {
	time  time.Time
	clock bool // a time of day, on the first day of year 0
}

// ParseMoment reads "2025-01-24T15:37:10Z", with an offset or a fraction of a second where wanted, or a time of day in UTC:
// "15:37", "15:37:10.5".
func ParseMoment(s string) (Moment, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return Moment{time: t.UTC()}, nil
	}
	for _, layout := range []string{"15:04", "15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return Moment{time: t, clock: true}, nil
		}
	}
	return Moment{}, fmt.Errorf("want a time such as 2025-01-24T15:37:10Z, or a time of day in UTC such as 15:37:10")
}

// String is the moment as it may be given.
func (m Moment) String() string {
	if m.clock {
		return m.time.Format("15:04:05.999999999")
	}
	return m.time.Format(time.RFC3339Nano)
}

// After reports whether m comes after o whatever day the captures are of: false where one is a time of day.
func (m Moment) After(o Moment) bool { return !m.clock && !o.clock && m.time.After(o.time) }

// on returns the moment; a time of day is that of the given day.
func (m Moment) on(day time.Time) time.Time {
	if !m.clock {
		return m.time
	}
	midnight := time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, time.UTC)
	return midnight.Add(m.time.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)))
}

// window is a span of capture time; a zero end is open.
type window struct{ since, until time.Time }

// window gives the ends of the options their day: that of the first packet, and for an until that would come before the
// since the day after.
func (o *Options) window(captures []pcap.Capture) window {
	var first time.Time
	for i := range captures {
		if c := &captures[i]; c.Packets > 0 && (first.IsZero() || c.First.Time().Before(first)) {
			first = c.First.Time()
		}
	}
	first = first.UTC()
	var w window
	if o.Since != (Moment{}) {
		w.since = o.Since.on(first)
	}
	if o.Until != (Moment{}) {
		if w.until = o.Until.on(first); o.Until.clock && w.until.Before(w.since) {
			w.until = o.Until.on(w.since)
			if w.until.Before(w.since) {
				w.until = w.until.AddDate(0, 0, 1)
			}
		}
	}
	return w
}

// misses reports whether all packets of the captures were seen outside the window.
func (w window) misses(captures []pcap.Capture) bool {
	return w != (window{}) && !slices.ContainsFunc(captures, func(c pcap.Capture) bool {
		return c.Packets > 0 && !c.Last.Time().Before(w.since) && (w.until.IsZero() || !c.First.Time().After(w.until))
	})
}

// holds reports whether the later copy of f was first sent or seen within the window, its ends included.
func (w window) holds(f *analysis.Finding) bool {
	t := f.LaterAt.Time()
	return !t.Before(w.since) && (w.until.IsZero() || !t.After(w.until))
}
