package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
)

// dump tells how to see the copies in the files of a broker.
type dump struct {
	command string   // of a shell; "" where no offset is known
	lines   []string // what to look for in its output
}

// legalTopic is what Kafka allows in the name of a topic, and so in the name of a folder and on a command line. The length is checked beside
// it: counted in the expression it takes half a millisecond of every start of the program.
var legalTopic = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

const maxTopic = 249

// maxDumped is how many batches of a copy the check by hand names.
const maxDumped = 8

// dumpLog makes the check with kafka-dump-log, which prints a line for each batch: its offsets, producer and CRC, and no
// payload. The CRC is in decimal there. Which segment file holds an offset only the broker knows.
func dumpLog(f *analysis.Finding) dump {
	var d dump
	var folders []string
	offsets := make(map[string][]string) // by folder
	for i := range f.Copies {
		c := &f.Copies[i]
		folder := folderOf(c)
		for j, b := range c.Batches {
			if j == maxDumped {
				d.lines = append(d.lines, "… and "+count(len(c.Batches)-j, "more batch"))
				break
			}
			base := b.BaseOffset
			if base < 0 && len(c.Batches) == 1 {
				base = c.BaseOffset
			}
			if base < 0 {
				continue
			}
			if offsets[folder] == nil {
				folders = append(folders, folder)
			}
			if s := fmt.Sprint(base); !slices.Contains(offsets[folder], s) {
				offsets[folder] = append(offsets[folder], s)
			}
			d.lines = append(d.lines, dumpLine(i, base, &b))
		}
	}
	var commands []string
	for _, folder := range folders {
		commands = append(commands, fmt.Sprintf("kafka-dump-log.sh --files LOG_DIR/%s/SEGMENT.log | grep -E '^baseOffset: (%s) '", folder, strings.Join(offsets[folder], "|")))
	}
	d.command = strings.Join(commands, "\n")
	return d
}

// dumpLine is what kafka-dump-log prints of a batch, as far as the capture shows it.
func dumpLine(i int, base int64, b *analysis.CopyBatch) string {
	who := fmt.Sprintf("producerId: %d", b.ProducerID)
	if b.ProducerID >= 0 {
		who = fmt.Sprintf("baseSequence: %d lastSequence: %d %s producerEpoch: %d", b.BaseSequence, b.LastSequence, who, b.ProducerEpoch)
	}
	return fmt.Sprintf("copy %d: baseOffset: %d … %s … crc: %d", i+1, base, who, b.CRC)
}

// folderOf is the name of the partition's folder in the broker's log directory. A name that Kafka does not allow has no
// place on a command line.
func folderOf(c *analysis.Copy) string {
	name := c.Topic.Name
	if len(name) > maxTopic || !legalTopic.MatchString(name) {
		name = "TOPIC"
	}
	return fmt.Sprintf("%s-%d", name, c.Partition)
}

// setting is one thing that the traffic shows of how a producer is configured, or of the other end.
type setting struct{ name, value string }

// settings lists what the traffic shows of f's producer and brokers. The values are clean.
func (v *view) settings(f *analysis.Finding) []setting {
	i := &f.Inferred
	client := strings.Join(slices.DeleteFunc([]string{name(i.ClientID), name(i.Software)}, func(s string) bool { return s == "" }), ", ")
	if client == "" {
		client = "not seen"
	} else if i.Software == "" {
		client += " (client id; its software was not seen)"
	}
	out := []setting{{"client", client}}
	add := func(name, value string) { out = append(out, setting{name, value}) }
	if i.AcksKnown {
		add("acks", acksText(i.Acks))
		add("enable.idempotence", yesNo(i.Idempotent || i.TransactionalID))
		add("transactional.id", map[bool]string{true: "set", false: "not set"}[i.TransactionalID])
		add("compression.type", codecName(i.Codec))
	}
	if i.MaxInFlight > 0 {
		add("requests in flight", fmt.Sprintf("at most %d seen on one connection; the setting may be higher", i.MaxInFlight))
	}
	add("brokers", v.brokersText(f))
	if f.Cluster != "" {
		add("cluster id", name(f.Cluster))
	}
	return out
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// brokersText names the brokers of the story. The Kafka protocol does not say which version a broker has; the versions of
// the requests that it took bound it from below.
func (v *view) brokersText(f *analysis.Finding) string {
	var all []string
	for i := range f.Timeline {
		p := f.Timeline[i].At
		if p.Server.IsValid() && !slices.Contains(all, address(p.Server)) {
			all = append(all, address(p.Server))
		}
	}
	const most = 6
	if n := len(all); n > most {
		all = append(all[:most], fmt.Sprintf("and %d more", n-most))
	}
	text := strings.Join(all, ", ")
	var used []string
	for _, api := range []struct {
		key  int16
		name string
	}{{0, "Produce"}, {1, "Fetch"}, {22, "InitProducerId"}} {
		if version, ok := v.highest(api.key); ok {
			used = append(used, fmt.Sprintf("%s %d", api.name, version))
		}
	}
	if used != nil {
		text += "; the protocol does not name their version, the newest requests in the captures are " + strings.Join(used, ", ")
	}
	return strings.TrimPrefix(text, "; ")
}

// highest returns the highest version of an API that was answered.
func (v *view) highest(key int16) (version int16, ok bool) {
	for api, n := range v.Coverage.APIs {
		if api.Key == key && n.Responses > 0 && (!ok || api.Version > version) {
			version, ok = api.Version, true
		}
	}
	return version, ok
}

// gist tells a finding in a paragraph: what stands where, what forced it, and what follows.
func (v *view) gist(f *analysis.Finding) []string {
	var where []string
	for i := range f.Copies {
		c := &f.Copies[i]
		at := "at an offset that was not seen"
		if c.BaseOffset >= 0 {
			at = "at " + spanOf("offset", c.BaseOffset, c.LastOffset)
			if c.LeaderEpoch >= 0 {
				at += fmt.Sprintf(" (leader epoch %d)", c.LeaderEpoch)
			}
		}
		if astray(f) {
			at = "in " + place(c.Topic, c.Partition) + " " + at
		}
		where = append(where, at)
	}
	what := standTwice(f.RecordCount, f.Verdict)
	if !astray(f) {
		what += " in " + place(f.Topic, f.Partition)
	}
	out := []string{fmt.Sprintf("%s: %s.", what, strings.Join(where, " and "))}
	if b := v.bumpSentence(f.Bump); b != "" {
		out = append(out, b)
	} else {
		out = append(out, "Cause: "+causeText(f)+".")
	}
	return nonempty(append(out, follows(f)))
}

// astray reports whether a copy of f stands in another partition than f itself.
func astray(f *analysis.Finding) bool {
	return slices.ContainsFunc(f.Copies, func(c analysis.Copy) bool { return c.Partition != f.Partition || !sameTopic(c.Topic, f.Topic) })
}

// places names the partition of f, or those of its copies where they differ.
func places(f *analysis.Finding) string {
	if !astray(f) {
		return place(f.Topic, f.Partition)
	}
	var all []string
	for i := range f.Copies {
		if p := place(f.Copies[i].Topic, f.Copies[i].Partition); !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return strings.Join(all, " and ")
}

// certainty says how sure a finding is, and which innocent explanation was ruled out.
func (v *view) certainty(f *analysis.Finding) []string {
	return nonempty([]string{v.sure(f), ruledOut(f)})
}

func nonempty(s []string) []string {
	return slices.DeleteFunc(s, func(s string) bool { return s == "" })
}

// payloadLines are the payloads of the first records, with their offsets.
func (v *view) payloadLines(f *analysis.Finding) []string {
	var lines []string
	for i := range f.Records {
		r := &f.Records[i]
		if i == maxPayloads {
			return append(lines, "and "+count(f.RecordCount-i, "more record"))
		}
		if r.Preview == nil {
			continue
		}
		lines = append(lines, fmt.Sprintf("record %s: key %s, value %s", recordOffsets(r), payloadText(r.Key, r.Preview.Key), payloadText(r.Value, r.Preview.Value)))
	}
	return lines
}

// recordOffsets is "71229, 71231".
func recordOffsets(r *analysis.DuplicateRecord) string {
	return strings.Join(list(r.Offsets, func(o analysis.RecordOffset) string {
		switch {
		case o.Absent:
			return "absent"
		case o.Offset < 0:
			return "?"
		}
		return fmt.Sprint(o.Offset)
	}), ", ")
}

// payloadText is "null", `"order-17"` or "0x00ff…", with the size of what is longer than the preview.
func payloadText(p kafka.Payload, preview []byte) string {
	if p.Size < 0 {
		return "null"
	}
	preview = preview[:min(len(preview), kafka.PreviewSize)]
	shown, ok := printable(preview, int(p.Size))
	if ok {
		shown = `"` + clean(shown, 4*kafka.PreviewSize) + `"`
	} else {
		shown = fmt.Sprintf("0x%x", preview)
	}
	if len(preview) < int(p.Size) {
		shown += fmt.Sprintf("… (%s)", count(p.Size, "byte"))
	}
	return shown
}
