package report

import (
	"bytes"
	"context"
	"encoding/json"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
)

// measure shows each page in a frame of its own width, unfolds all findings and writes what it measures into an element.
// What a text shows is its box within that of the label around it. Two texts of a diagram meet when what they show does,
// with a pixel of tolerance; a text is cut when it is wider than its label; a page is too wide when it has to be scrolled
// sideways. Without its encoding the browser would guess, and names could be measured as other names. Em is the width of a
// digit in the font of the diagrams.
const measure = `<!doctype html><meta charset="utf-8"><body><script>
function label(text) {
  const svg = text.parentNode, m = svg.parentNode.getScreenCTM(), n = e => e.baseVal.value;
  return {left: m.e + m.a * n(svg.x), right: m.e + m.a * (n(svg.x) + n(svg.width)), top: m.f + m.d * n(svg.y), bottom: m.f + m.d * (n(svg.y) + n(svg.height))};
}
function shown(text) {
  const all = text.getBoundingClientRect(), box = label(text);
  const a = {left: Math.max(all.left, box.left), right: Math.min(all.right, box.right), top: Math.max(all.top, box.top), bottom: Math.min(all.bottom, box.bottom)};
  return {...a, s: text.textContent, cut: all.left < box.left - 1 || all.right > box.right + 1, clips: getComputedStyle(text.parentNode).overflow == "hidden"};
}
function look(frame) {
  const doc = frame.contentDocument, root = doc.documentElement;
  const out = {overlaps: [], outside: [], cut: [], texts: 0, diagrams: 0, wide: 0, links: 0, ran: typeof frame.contentWindow.pwned != "undefined"};
  doc.querySelectorAll("details").forEach(d => d.open = true);
  out.wide = root.scrollWidth - root.clientWidth;
  for (const svg of doc.querySelectorAll(".figure > svg")) {
    out.diagrams++;
    const edge = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll("text")].map(shown);
    out.texts += texts.length;
    out.links += svg.querySelectorAll("a[href]").length;
    for (let i = 0; i < texts.length; i++) {
      const a = texts[i];
      if (a.left < edge.left - 1 || a.right > edge.right + 1 || a.top < edge.top - 1 || a.bottom > edge.bottom + 1 || !a.clips) out.outside.push(a.s);
      if (a.cut) out.cut.push(a.s);
      for (let j = i + 1; j < texts.length && out.overlaps.length < 20; j++) {
        const b = texts[j];
        if (a.left + 1 < b.right && b.left + 1 < a.right && a.top + 1 < b.bottom && b.top + 1 < a.bottom) out.overlaps.push(a.s + " / " + b.s);
      }
    }
    out.em = digit(doc, svg);
  }
  return out;
}
function digit(doc, svg) {
  const pen = doc.createElement("canvas").getContext("2d"), style = getComputedStyle(svg);
  pen.font = "bold 100px " + style.fontFamily;
  return pen.measureText("0123456789").width / 1000;
}
async function main() {
  const all = [];
  for (const page of PAGES) {
    const frame = document.createElement("iframe");
    frame.style = "border: 0; height: 900px; width: " + page.Width + "px";
    const loaded = new Promise(resolve => frame.onload = resolve);
    frame.srcdoc = page.HTML;
    document.body.append(frame);
    await loaded;
    all.push(look(frame));
    frame.remove();
  }
  document.body.innerHTML = '<output id="measured"></output>';
  document.getElementById("measured").textContent = JSON.stringify(all);
}
addEventListener("load", main);
</script>`

var measured = regexp.MustCompile(`<output id="measured">(.+?)</output>`)

// oversize is the page with the widest characters of Unicode.
const oversize = "oversize"

// chromium returns a browser, or skips the test.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium here")
	return ""
}

// browse shows a page in the browser and returns its document, with what the browser complained about.
func browse(t *testing.T, browser, page string) (document, complaints string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "report.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // a browser that hangs is no reason to hang
	defer stop()
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+filepath.Join(dir, "profile"), "--enable-logging=stderr", "--force-device-scale-factor=1",
		"--window-size=1400,1000", "--virtual-time-budget=30000", "--dump-dom", (&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String())
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Skipf("Chromium does not run here: %v\n%.500s", err, errs.String())
	}
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, ":CONSOLE") {
			complaints += line
		}
	}
	return out.String(), complaints
}

// TestInBrowser shows reports in a real browser, wide and narrow: no complaint on the console, no text over another, none
// cut by its box or the edge of its diagram, no page that has to be scrolled sideways, nothing of a name that runs.
func TestInBrowser(t *testing.T) {
	browser := chromium(t)
	many := seedIncident()
	for i := range 150 {
		f := many.Findings[0]
		f.Partition = int32(i)
		many.Findings = append(many.Findings, f)
	}
	tests := []struct {
		name   string
		result *analysis.Result
		width  int
	}{
		{"seed", seedIncident(), 1280},
		{"seed, narrow", seedIncident(), 380},
		{"causes", manyFaults(), 1280},
		{"lanes", crowded(), 1280},
		{"hostile", trapped(`"><img src=x onerror="window.pwned=1"><script>window.pwned=1</script>`), 1280},
		{"long names", trapped(strings.Repeat("W", 10_000)), 1280},
		{"wide names, narrow", trapped(strings.Repeat("日本", 5_000)), 380},
		{"right to left", trapped("\u202eשלום עולם مرحبا"), 1280},
		{"pictures", trapped(strings.Repeat("😀🧪🇩🇪☺→", 100)), 1280},
		{"scripts", trapped(strings.Repeat("ഩകௌကஔက្", 100)), 380},
		{oversize, trapped(strings.Repeat("\ufdfd\u2e3b\U0001242b", 100)), 1280},
		{"many", many, 1280},
	}
	type page struct {
		HTML  string
		Width int
	}
	var pages []page
	for _, test := range tests {
		pages = append(pages, page{write(t, "html", test.result, Options{Version: "test", Payloads: true}), test.width})
	}
	list, err := json.Marshal(pages) // with < and > as escapes, as a script needs it
	if err != nil {
		t.Fatal(err)
	}
	document, complaints := browse(t, browser, strings.Replace(measure, "PAGES", string(list), 1))
	if complaints != "" {
		t.Errorf("the browser complains:\n%s", complaints)
	}
	var have []struct {
		Overlaps, Outside, Cut       []string
		Texts, Diagrams, Wide, Links int
		Ran                          bool
		Em                           float64
	}
	found := measured.FindStringSubmatch(document)
	if found == nil {
		t.Fatalf("nothing was measured in\n%.2000s", document)
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(found[1])), &have); err != nil || len(have) != len(tests) {
		t.Fatal(err, len(have))
	}
	for i, h := range have {
		// Boxes have room for text in any usual font. Characters of several times the usual width are for the boxes to cut,
		// and so is all text on a machine that has pictures but no letters.
		cut := len(h.Cut) > 0 && h.Em <= advance('0') && tests[i].name != oversize
		if len(h.Overlaps) > 0 || len(h.Outside) > 0 || cut || h.Wide > 0 || h.Ran {
			t.Errorf("%s: %+v", tests[i].name, h)
		}
		if h.Diagrams == 0 || h.Diagrams > maxDiagrams || h.Texts < 20 || h.Links < 2 {
			t.Errorf("%s: %d diagrams with %d texts and %d links", tests[i].name, h.Diagrams, h.Texts, h.Links)
		}
	}
}

// crowded is a finding with more clients, brokers and steps than a diagram has room for, and with the longest numbers.
func crowded() *analysis.Result {
	r := seedIncident()
	f := &r.Findings[0]
	servers := []string{"192.168.100.101:65501", "192.168.100.102:65502", "[2001:db8:1111:2222:3333:4444:5555:6666]:65503", "192.168.100.104:65504", "192.168.100.105:65505", "192.168.100.106:65506"}
	var story []analysis.Event
	for i := range 120 {
		for _, e := range f.Timeline {
			p := at("15:37:11.655", 1000+i, servers[i%len(servers)])
			p.Time += pcap.Timestamp(i) * 7e6
			p.Client = e.At.Client
			e.At = p
			if e.Offset >= 0 {
				e.Offset = 1<<62 + int64(e.Copy)
			}
			story = append(story, e)
		}
	}
	f.Timeline = story
	for i := range f.Copies {
		c := &f.Copies[i]
		c.BaseOffset, c.LastOffset = 1<<62, 1<<62+1000
		c.Batches[0].BaseOffset, c.Batches[0].LastOffset = c.BaseOffset, c.LastOffset
	}
	return r
}
