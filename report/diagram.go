package report

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"github.com/kdupscan/kdupscan/analysis"
)

// diagram is a sequence diagram as shapes of an SVG image, in its user units: time runs down, a row for each step, so that
// no two texts can meet however close the steps are in time. Each text has a box of its own that shows nothing of it
// outside, whatever the fonts of the reader make of it.
type diagram struct {
	Label         string
	Width, Height int
	Inner         int // width of a row
	Foot          int // where the lifelines end
	Lanes         []drawnLane
	Rows          []drawnRow
}

type drawnLane struct {
	X, BoxX, BoxW int
	Kind          string // class
	Full          string // title and name
	Labels        []drawnLabel
}

// drawnLabel is a line of text and the box that it is cut to.
type drawnLabel struct {
	X, Y, Width, Height int // of the box; Y from the middle of the row until the row is placed
	TextX, Base         int // of the text in its box: its middle, for a time its beginning, and its baseline
	Class, Text         string
}

// centred returns the label of a text in the middle of a box between heights top and bottom.
func centred(class, text string, middle, width, top, bottom, baseline int) drawnLabel {
	return drawnLabel{X: middle - width/2, Y: top, Width: width, Height: bottom - top, TextX: width / 2, Base: baseline - top, Class: class, Text: text}
}

// drawnRow is one step: an arrow with two lines of text, a band across all lanes, or that steps are left out.
type drawnRow struct {
	Top, Height  int
	Y            int    // of its middle
	Link, Full   string // anchor of the row in the table, and its sentence; "" where steps are left out
	Class        string // tone
	CopyClass    string
	Band         bool
	BandX, BandY int
	BandW, BandH int
	FromX, ToX   int
	PointX       int    // where the line ends and its tip begins
	Tip, Cross   string // paths
	Lost         bool
	Marks        []drawnMark
	Labels       []drawnLabel
}

type drawnMark struct {
	X, Y, Width int // of the left upper corner
	MidY        int
	Class       string
	FromX       int // where the dotted line to it begins; 0 for none
}

// Sizes, in the units of the image: a line of 32 columns in the widest of the usual fonts fits between client and broker.
const (
	gutterWidth = 92
	laneWidth   = 160
	talkWidth   = 262 // between the last client and the first broker
	readWidth   = 224 // between the log and its readers
	headHeight  = 62
	rowHeight   = 48
	bandHeight  = 38
	markHeight  = 24
	tipLength   = 8
	nameSize    = 10.5
	headSize    = 11.5
	tailSize    = 10
	markSize    = 11
)

var laneClasses = [...]string{laneClient: "client", laneBroker: "broker", laneLog: "log", laneReader: "reader"}

// copyClasses are the classes of the colours of copies; further ones share the last.
var copyClasses = [...]string{"c0", "c1", "c2", "c3"}

func copyClass(n int) string { return copyClasses[min(n, len(copyClasses)-1)] }

// draw lays the scene out.
func (s *scene) draw(id string, v *view, f *analysis.Finding) *diagram {
	d := &diagram{Label: fmt.Sprintf("Timeline of finding %s", id)}
	xs := s.columns()
	for i, l := range s.lanes {
		d.Lanes = append(d.Lanes, drawnLane{X: xs[i], BoxX: xs[i] - laneWidth/2, BoxW: laneWidth, Kind: laneClasses[l.kind], Full: l.title() + " " + l.label(),
			Labels: []drawnLabel{centred("kind", l.title(), xs[i], laneWidth-4, 12, 33, 29), centred("name", l.short(), xs[i], laneWidth-4, 33, 56, 46)}})
	}
	d.Width = xs[len(xs)-1] + laneWidth/2 + 4
	d.Inner = d.Width - 4
	y := headHeight + 10
	for i := range s.acts {
		if i == s.cut && s.left > 0 {
			row := drawnRow{Height: bandHeight, Labels: []drawnLabel{d.across("omitted", count(s.left, "step")+" left out")}}
			row.place(y)
			d.Rows = append(d.Rows, row)
			y += row.Height
		}
		row := s.row(d, xs, i)
		row.Link, row.Full = fmt.Sprintf("#%s-%d", id, i+1), fmt.Sprintf("%s, %s: %s%s", clock(s.acts[i].At.Time), v.frame(s.acts[i].At.Ref), s.acts[i].label(), v.sentence(f, &s.acts[i].Event))
		row.place(y)
		d.Rows = append(d.Rows, row)
		y += row.Height
	}
	d.Foot = y + 4
	d.Height = y + 12
	return d
}

// short is what of a lane's name fits: of an address the end, which tells brokers of one host apart.
func (l lane) short() string {
	const room = laneWidth - 10
	if l.kind == laneLog {
		return fit(l.label(), room, nameSize)
	}
	return backwards(fit(backwards(l.label()), room, nameSize))
}

func backwards(s string) string {
	runes := []rune(s)
	slices.Reverse(runes)
	return string(runes)
}

// columns returns the middle of each lane.
func (s *scene) columns() []int {
	x := gutterWidth + laneWidth/2
	xs := []int{x}
	for i := 1; i < len(s.lanes); i++ {
		switch before, here := s.lanes[i-1].kind, s.lanes[i].kind; {
		case before == laneClient && here == laneBroker:
			x += talkWidth
		case here == laneReader:
			x += readWidth
		default:
			x += laneWidth + 8
		}
		xs = append(xs, x)
	}
	return xs
}

// row lays out one act from left to right.
func (s *scene) row(d *diagram, xs []int, i int) drawnRow {
	a := &s.acts[i]
	r := drawnRow{Class: string(a.tone), Height: rowHeight, CopyClass: copyClass(0)}
	if len(a.copies) > 0 {
		r.CopyClass = copyClass(a.copies[0])
	}
	since := ""
	if i > 0 && i != s.cut {
		since = sinceText(a.At.Time.Time().Sub(s.acts[i-1].At.Time.Time()))
	}
	if across(a.Kind) {
		r.Height, r.Band = bandHeight, true
		r.BandX, r.BandW, r.BandH = gutterWidth, d.Width-gutterWidth-4, bandHeight-8
		r.Labels = append(times(clock(a.At.Time), since, bandHeight/2), d.across("bandtext", fit(a.head, float64(r.BandW-12), headSize)))
		return r
	}
	r.Labels = times(clock(a.At.Time), since, rowHeight/2)
	r.FromX, r.ToX = xs[a.from], xs[a.to]
	for _, m := range a.marks {
		drawn, text := drawMark(m, xs[m.lane])
		r.Marks, r.Labels = append(r.Marks, drawn), append(r.Labels, text)
	}
	middle, room := s.talk(xs), talkWidth-12
	switch n := len(r.Marks); {
	case a.tone == toneRead && n > 0:
		r.FromX = r.Marks[n-1].X + r.Marks[n-1].Width
		fallthrough
	case a.tone == toneRead:
		middle, room = (r.FromX+r.ToX)/2, r.ToX-r.FromX-12
	case n > 0:
		r.Marks[0].FromX = max(r.FromX, r.ToX)
	}
	r.Labels = append(r.Labels, centred("head", fit(a.head, float64(room), headSize), middle, room+8, -rowHeight/2, 0, -6))
	if a.tail != "" {
		r.Labels = append(r.Labels, centred("tail", fit(a.tail, float64(room), tailSize), middle, room+8, 0, rowHeight/2, 15))
	}
	if r.PointX = r.ToX - tipLength; r.ToX < r.FromX {
		r.PointX = r.ToX + tipLength
	}
	r.Lost = a.tone == toneLost
	return r
}

// across is the label of a text in the middle of all lanes.
func (d *diagram) across(class, text string) drawnLabel {
	return centred(class, text, (gutterWidth+d.Width)/2, d.Width-gutterWidth-4, -bandHeight/2, bandHeight/2, 4)
}

// times are the labels of a row's time and of what has passed since the row above, left of the lanes; half is half the
// height of the row.
func times(at, since string, half int) []drawnLabel {
	const left, width = 6, gutterWidth - 6
	if since == "" {
		return []drawnLabel{{X: left, Y: -half, Width: width, Height: 2 * half, Base: half + 4, Class: "time", Text: at}}
	}
	const line = 4 // below the middle: where one ends and the other begins
	return []drawnLabel{
		{X: left, Y: -half, Width: width, Height: half + line, Base: half, Class: "time", Text: at},
		{X: left, Y: line, Width: width, Height: half - line, Base: 15 - line, Class: "since", Text: since},
	}
}

// talk is the middle between the last client and the first broker, where the texts of requests and answers stand.
func (s *scene) talk(xs []int) int {
	for i, l := range s.lanes {
		if l.kind == laneBroker {
			return xs[i] - talkWidth/2
		}
	}
	return xs[0]
}

func drawMark(m mark, x int) (drawnMark, drawnLabel) {
	text := fit(m.offsets, laneWidth-14, markSize)
	width := 16.0
	for _, r := range text {
		width += advance(r) * markSize
	}
	class := copyClass(m.copy)
	switch {
	case m.inferred:
		class += " inferred"
	case m.again:
		class += " again"
	}
	w := max(56, int(width))
	return drawnMark{X: x - w/2, Width: w, Class: class}, centred("offset "+class, text, x, w, -markHeight/2, markHeight/2, 4)
}

// place sets what depends on where the row begins.
func (r *drawnRow) place(y int) {
	r.Top, r.Y = y, y+r.Height/2
	r.BandY = r.Y - r.BandH/2
	r.Tip = fmt.Sprintf("M%d %dL%d %dL%d %dZ", r.ToX, r.Y, r.PointX, r.Y-4, r.PointX, r.Y+4)
	middle := (r.FromX + r.ToX) / 2
	r.Cross = fmt.Sprintf("M%d %dl10 10m0 -10l-10 10", middle-5, r.Y-5)
	for i := range r.Marks {
		r.Marks[i].Y, r.Marks[i].MidY = r.Y-markHeight/2, r.Y
	}
	for i := range r.Labels {
		r.Labels[i].Y += r.Y
	}
}

// sinceText is "+12 ms", "+1.3 s" or "+2 min", "" for less than a millisecond.
func sinceText(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return ""
	case d < time.Second:
		return fmt.Sprintf("+%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("+%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("+%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("+%d h", int(d.Hours()))
}

// fit cuts clean text to a width, at a font size.
func fit(s string, width, size float64) string {
	left := width / size
	for i, r := range s {
		if left -= advance(r); left >= 0 {
			continue
		}
		for left < 1 && i > 0 { // room for the ellipsis
			last, n := utf8.DecodeLastRuneInString(s[:i])
			left += advance(last)
			i -= n
		}
		return s[:i] + "…"
	}
	return s
}

// advance is about how wide a rune is, in the font size, in the widest of the usual fonts, in bold. Real widths are the
// browser's; this errs to the wide side, so that a text is cut here, with an ellipsis, rather than by its box.
func advance(r rune) float64 {
	switch {
	case displaywidth.Rune(r) > 1:
		return 1.3 // one for ideographs, the rest for pictures
	case r >= 0x0800 && !unicode.IsPunct(r):
		return 1.6 // Indic and other scripts, symbols
	case strings.ContainsRune("WMmw@%—", r):
		return 1.15
	case strings.ContainsRune(" .,:;'|()[]ijlIfrt-/", r):
		return 0.5
	case unicode.IsLower(r) || unicode.IsDigit(r):
		return 0.72
	}
	return 0.85
}
