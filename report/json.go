package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// writeJSON writes the report as one indented JSON object.
func writeJSON(w io.Writer, v *view) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v.wire()); err != nil {
		return err
	}
	_, err := w.Write(escapeJSON(text.Bytes()))
	return err
}

// known returns a pointer to x, or nil where x is not known.
func known[T any](x T, ok bool) *T {
	if !ok {
		return nil
	}
	return &x
}

// text returns a pointer to s, or nil for "".
func text(s string) *string { return known(valid(s), s != "") }

// list maps s; the result is never nil, since an empty list of the report is [] and not null.
func list[S, T any](s []S, f func(S) T) []T {
	out := make([]T, 0, len(s))
	for _, x := range s {
		out = append(out, f(x))
	}
	return out
}

func (v *view) wire() *wireReport {
	limits, oddities := v.notes()
	return &wireReport{
		Schema:   schema,
		Tool:     wireTool{"kdupscan", v.Version},
		Verdict:  string(v.verdict),
		Captures: v.wireCaptures(),
		Coverage: v.wireCoverage(limits),
		Counts:   wireCounts(v.Counts),
		Findings: v.wireFindings(),
		Producers: list(v.producers(), func(p analysis.Producer) wireProducer {
			w := wireProducer{ProducerID: p.ProducerID, Epochs: append([]int16{}, p.Epochs...), ClientID: known(valid(p.ClientID), p.HasClientID),
				Software: text(p.Software), Addresses: list(p.Addresses, address)}
			if p.TransactionalID != nil {
				w.TransactionalID = known(valid(*p.TransactionalID), true)
			}
			return w
		}),
		Repeats: list(v.repeats(), func(r analysis.ApplicationRepeat) wireRepeat {
			return wireRepeat{text(r.Topic.Name), text(topicID(r.Topic)), r.Partition, r.Records}
		}),
		Oddities: list(oddities, func(n note) wireOddity {
			return wireOddity{string(n.Code), n.entry.Title, n.Count, v.wireNoteAt(n), text(n.First.Detail)}
		}),
	}
}

func (v *view) wireCaptures() []wireCapture {
	out := make([]wireCapture, 0, len(v.Captures))
	for i, c := range v.Captures {
		out = append(out, wireCapture{
			Name: v.captures[i], Format: c.Format, Compression: text(c.Compression), LinkTypes: list(c.LinkTypes, pcap.LinkType.String),
			Packets: c.Packets, Bytes: c.Bytes,
			FirstTime: known(rfc3339(c.First.Time()), c.Packets > 0), LastTime: known(rfc3339(c.Last.Time()), c.Packets > 0),
			CutShort: c.CutShort, Dropped: c.Dropped, Damage: text(damage(c.Damage)),
		})
	}
	return out
}

func (v *view) wireCoverage(limits []note) wireCoverage {
	c := &v.Coverage
	return wireCoverage{
		Connections: wireConnections{c.TCPConnections, c.Connections, c.TLS, c.Other},
		Gaps:        wireGaps{c.Gaps, c.GapBytes},
		Requests:    c.Requests, Responses: c.Responses, Unanswered: c.Unanswered,
		APIs:            wireAPIs(c.APIs),
		ProducedBatches: c.ProducedBatches, FetchedBatches: c.FetchedBatches,
		Records: c.Records, RecordsNotCompared: c.RecordsNotCompared,
		Limits: list(limits, func(n note) wireLimit {
			return wireLimit{string(n.Code), n.entry.Title, n.Count, n.entry.Effect, v.wireNoteAt(n), text(n.First.Detail)}
		}),
	}
}

func wireAPIs(apis map[kafka.API]*kafka.APIStats) []wireAPI {
	keys := slices.SortedFunc(maps.Keys(apis), func(a, b kafka.API) int {
		return (int(a.Key)-int(b.Key))<<16 + int(a.Version) - int(b.Version)
	})
	return list(keys, func(api kafka.API) wireAPI {
		name := kmsg.NameForKey(api.Key)
		n := apis[api]
		return wireAPI{api.Key, known(name, name != "Unknown"), api.Version, n.Requests, n.Responses, n.Undecoded}
	})
}

func (v *view) wireFindings() []wireFinding {
	out := make([]wireFinding, 0, len(v.findings))
	for i, f := range v.findings {
		out = append(out, wireFinding{
			ID: findingID(i), Code: string(f.Cause), Kind: "duplicate", Verdict: verdictName(f.Verdict), Cause: string(f.Cause),
			Cluster: text(f.Cluster), Topic: text(f.Topic.Name), TopicID: text(topicID(f.Topic)), Partition: f.Partition,
			RecordCount: f.RecordCount,
			Records:     list(f.Records, v.wireRecord),
			Copies:      list(f.Copies, func(c analysis.Copy) wireCopy { return v.wireCopy(f, &c) }),
			Bump:        v.wireBump(f.Bump),
			Timeline:    v.wireEvents(f, f.Timeline),
			Settings:    wireProducerSettings(&f.Inferred),
			Doubts: list(f.Doubts, func(c pcap.Code) wireDoubt {
				return wireDoubt{string(c), explain(c).Title}
			}),
			DisplayFilter: v.filters(f),
			Explanation:   v.explanation(f),
		})
	}
	return out
}

func wireProducerSettings(i *analysis.Inferred) wireSettings {
	return wireSettings{known(i.Acks, i.AcksKnown), i.Idempotent, i.TransactionalID, codecName(i.Codec),
		known(i.MaxInFlight, i.MaxInFlight > 0), text(i.ClientID), text(i.Software)}
}

func (v *view) wireCopy(f *analysis.Finding, c *analysis.Copy) wireCopy {
	return wireCopy{
		Topic: text(c.Topic.Name), Partition: c.Partition, BaseOffset: wireOffset(c.BaseOffset), LastOffset: wireOffset(c.LastOffset),
		OffsetSource: text(string(c.OffsetSource)), LeaderEpoch: known(c.LeaderEpoch, c.LeaderEpoch >= 0),
		Batches: list(c.Batches, func(b analysis.CopyBatch) wireBatch {
			return wireBatch{b.ProducerID, b.ProducerEpoch, b.BaseSequence, lastSequence(&b), crc(b.CRC), wireOffset(b.BaseOffset), wireOffset(b.LastOffset)}
		}),
		Evidence: v.wireEvents(f, c.Evidence),
	}
}

// lastSequence is -1 in a batch without sequences, whose first is -1.
func lastSequence(b *analysis.CopyBatch) int32 {
	if b.BaseSequence < 0 {
		return b.BaseSequence
	}
	return b.LastSequence
}

func (v *view) wireBump(b *analysis.Bump) *wireBump {
	if b == nil {
		return nil
	}
	w := &wireBump{ProducerID: b.ProducerID, FromEpoch: b.FromEpoch, ToEpoch: b.ToEpoch, NewProducerID: known(b.NewProducerID, b.NewProducerID >= 0),
		Local: b.Local, FirstSeen: v.wirePosition(b.FirstSeen)}
	if t := b.Trigger; t != nil {
		w.Trigger = &wireTrigger{Kind: string(t.Kind), ErrorCode: known(t.ErrorCode, t.HasError), Error: text(wireError(t.ErrorCode, t.HasError)),
			Topic: text(t.Topic.Name), Partition: known(t.Partition, t.Partition >= 0), At: v.wirePosition(t.At)}
	}
	return w
}

func (v *view) wireEvents(f *analysis.Finding, events []analysis.Event) []wireEvent {
	return list(events, func(e analysis.Event) wireEvent {
		return wireEvent{
			What: string(e.Kind), Text: v.sentence(f, &e), At: v.wirePosition(e.At), CorrelationID: known(e.CorrelationID, e.HasCorrelation),
			ErrorCode: known(e.ErrorCode, e.HasError), Error: text(wireError(e.ErrorCode, e.HasError)), Offset: wireOffset(e.Offset),
			Copy: known(e.Copy, e.Copy > 0), Repeats: e.Repeat,
		}
	})
}

// wireError is the name of an error code; "" where there is no error, or none with a name.
func wireError(code int16, has bool) string {
	if !has || code == 0 {
		return ""
	}
	return errorName(code)
}

func wireOffset(offset int64) *int64 { return known(offset, offset >= 0) }

func (v *view) wirePosition(p analysis.Position) *wirePosition {
	return v.wireRef(p.Ref, connection(p))
}

func (v *view) wireNoteAt(n note) *wirePosition { return v.wireRef(n.First.At, n.First.Connection) }

func (v *view) wireRef(r pcap.Ref, connection string) *wirePosition {
	if r.IsZero() {
		return nil
	}
	return &wirePosition{text(v.captureName(r)), uint64(r.Number), text(rfc3339(r.Time.Time())), text(connection)}
}

func (v *view) wireRecord(r analysis.DuplicateRecord) wireRecord {
	w := wireRecord{Offsets: list(r.Offsets, func(o analysis.RecordOffset) any {
		switch {
		case o.Absent:
			return "absent"
		case o.Offset < 0:
			return nil
		}
		return o.Offset
	})}
	if r.Timestamp >= 0 {
		w.Timestamp = text(rfc3339(time.UnixMilli(r.Timestamp)))
	}
	var preview kafka.Preview
	if r.Preview != nil && v.Payloads {
		preview = *r.Preview
	}
	w.Key, w.Value = v.wirePayload(r.Key, preview.Key), v.wirePayload(r.Value, preview.Value)
	return w
}

func (v *view) wirePayload(p kafka.Payload, preview []byte) *wirePayload {
	if p.Size < 0 {
		return nil
	}
	w := &wirePayload{Size: p.Size, Hash: payloadHash(v.hashKey, p)}
	if !v.Payloads || preview == nil {
		return w
	}
	preview = preview[:min(len(preview), kafka.PreviewSize)]
	if shown, ok := printable(preview, int(p.Size)); ok {
		w.Text = &shown
	} else {
		w.Hex = known(fmt.Sprintf("%x", preview), true)
	}
	return w
}
