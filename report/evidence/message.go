package evidence

import (
	"encoding/binary"
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/kafka"
)

// redactor writes messages anew without what is secret in them.
type redactor struct {
	*Pseudonyms
	limits  kafka.Limits
	batches *kafka.Rewriter
	skipped map[*kafka.Request]bool // requests that were not written
}

func newRedactor(p *Pseudonyms, l kafka.Limits) *redactor {
	return &redactor{Pseudonyms: p, limits: l, batches: kafka.NewRewriter(l, p.piece, p.crc), skipped: make(map[*kafka.Request]bool)}
}

// written is a message as it is to be written.
type written struct {
	data    []byte // length prefix, header, body, as far as it is known
	missing int    // bytes of it that the capture lacks behind data
}

// body is a request or answer of kmsg.
type body interface {
	SetVersion(int16)
	MaxVersion() int16
	IsFlexible() bool
	ReadFrom([]byte) error
	AppendTo([]byte) []byte
}

// maxStructure bounds what is decoded beside records: kmsg makes of a byte as much as thirty.
const maxStructure = 8 << 20

const prefixSize = 4

// redact returns what stands for a message, false if nothing does.
func (r *redactor) redact(m *kafka.Message) (written, bool) {
	if m.FromClient {
		w, ok := r.request(m)
		if !ok {
			r.skipped[m.Request] = true
		}
		return w, ok
	}
	if m.Request != nil && r.skipped[m.Request] {
		delete(r.skipped, m.Request)
		return written{}, false
	}
	if !redactable[m.APIKey] {
		return written{}, false
	}
	if w, ok := r.answer(m); ok {
		return w, true
	}
	return r.unreadable(m)
}

func (r *redactor) request(m *kafka.Message) (written, bool) {
	q := kmsg.RequestForKey(m.APIKey)
	if !redactable[m.APIKey] || q == nil || m.Header < 0 || m.APIVersion > q.MaxVersion() {
		return written{}, false
	}
	q.SetVersion(m.APIVersion)
	header := binary.BigEndian.AppendUint16(make([]byte, prefixSize), uint16(m.APIKey))
	header = binary.BigEndian.AppendUint16(header, uint16(m.APIVersion))
	header = binary.BigEndian.AppendUint32(header, uint32(m.CorrelationID))
	if id := m.Request; id.HasClientID {
		name := r.text("c", id.ClientID)
		header = binary.BigEndian.AppendUint16(header, uint16(len(name)))
		header = append(header, name...)
	} else {
		header = append(header, 0xff, 0xff)
	}
	if q.IsFlexible() {
		header = append(header, 0)
	}
	return r.encode(header, q, m)
}

func (r *redactor) answer(m *kafka.Message) (written, bool) {
	a := kmsg.ResponseForKey(m.APIKey)
	if a == nil || m.Header < 0 || m.APIVersion > a.MaxVersion() {
		return written{}, false
	}
	a.SetVersion(m.APIVersion)
	header := binary.BigEndian.AppendUint32(make([]byte, prefixSize), uint32(m.CorrelationID))
	if m.APIKey == apiVersions {
		return r.answerVersions(header, m)
	}
	if a.IsFlexible() {
		header = append(header, 0)
	}
	return r.encode(header, a, m)
}

// answerVersions knows that a broker answers a version that it does not know in version 0 (KIP-511). The header is never
// flexible.
func (r *redactor) answerVersions(header []byte, m *kafka.Message) (written, bool) {
	const unsupportedVersion = 35
	var old kmsg.ApiVersionsResponse
	if len(m.Data) == m.Size && m.Size <= maxStructure && old.ReadFrom(m.Data[m.Header:]) == nil && old.ErrorCode == unsupportedVersion {
		return r.encode(header, &old, m)
	}
	a := kmsg.NewPtrApiVersionsResponse()
	a.SetVersion(m.APIVersion)
	return r.encode(header, a, m)
}

// unreadable tells of an answer that it came and how long it is, and no more: its request must not look unanswered.
func (r *redactor) unreadable(m *kafka.Message) (written, bool) {
	const correlationID = 4
	if m.Request == nil || m.Size <= correlationID {
		return written{}, false
	}
	data := binary.BigEndian.AppendUint32(nil, uint32(m.Size))
	data = binary.BigEndian.AppendUint32(data, uint32(m.CorrelationID))
	return written{data, m.Size - correlationID}, true
}

// encode decodes the body of m into b and encodes it again behind header, which begins with room for the length.
func (r *redactor) encode(header []byte, b body, m *kafka.Message) (written, bool) {
	data, size := m.Data[m.Header:], m.Size-m.Header
	carries := m.APIKey == apiProduce && m.FromClient || (m.APIKey == apiFetch || m.APIKey == apiShareFetch) && !m.FromClient
	var fields []kafka.RecordsField
	if carries {
		var ok bool
		if fields, ok = kafka.RecordsFields(m.APIKey, m.APIVersion, data, size); !ok {
			return written{}, false
		}
	}
	if !r.decode(b, data, size, fields) {
		return written{}, false
	}
	cut := -1 // the last records field that the capture has, whole or not, if it lacks a part of the message
	var there []int
	if carries {
		if len(data) < size {
			cut = len(fields) - 1
		}
		there = r.records(b, fields, cut)
	}
	r.scrub(reflect.ValueOf(b).Elem(), "")
	out := b.AppendTo(header)
	if len(out)-prefixSize > r.limits.MaxMessage {
		return written{}, false
	}
	binary.BigEndian.PutUint32(out, uint32(len(out)-prefixSize))
	if cut < 0 {
		return written{data: out}, true
	}
	now, ok := kafka.RecordsFields(m.APIKey, m.APIVersion, out[len(header):], len(out)-len(header))
	if !ok || cut >= len(now) {
		return written{}, false
	}
	end := len(header) + now[cut].At + there[cut]
	return written{out[:end], len(out) - end}, true
}

// decode reads a body into b. What the capture lacks of it is taken as zeros, which nobody gets to see.
func (r *redactor) decode(b body, data []byte, size int, fields []kafka.RecordsField) bool {
	structure := size
	for _, f := range fields {
		structure -= max(f.Size, 0)
	}
	if structure > maxStructure || size > r.limits.MaxMessage {
		return false
	}
	if len(data) < size {
		if len(fields) == 0 {
			return false
		}
		padded := make([]byte, size)
		copy(padded, data)
		data = padded
	}
	return b.ReadFrom(data) == nil
}

// records replaces the records of all partitions. fields says where they stood; behind the one at cut nothing is known, unless cut
// is -1. It returns how much of each new records field is there; zeros follow.
func (r *redactor) records(b body, fields []kafka.RecordsField, cut int) (there []int) {
	replace := func(records []byte) []byte {
		i := len(there)
		if i >= len(fields) || cut >= 0 && i > cut || records == nil {
			there = append(there, 0)
			return nil
		}
		have := min(fields[i].Have, len(records))
		out, missing := r.batches.Records([]byte{}, records[:have], len(records))
		there = append(there, len(out))
		if i == cut && missing == 0 {
			missing = len(records) - have // what was there was no front of a batch
		}
		return append(out, make([]byte, missing)...)
	}
	switch b := b.(type) {
	case *kmsg.ProduceRequest:
		for i := range b.Topics {
			for j := range b.Topics[i].Partitions {
				p := &b.Topics[i].Partitions[j]
				p.Records = replace(p.Records)
			}
		}
	case *kmsg.FetchResponse:
		for i := range b.Topics {
			for j := range b.Topics[i].Partitions {
				p := &b.Topics[i].Partitions[j]
				p.RecordBatches = replace(p.RecordBatches)
			}
		}
	case *kmsg.ShareFetchResponse:
		for i := range b.Topics {
			for j := range b.Topics[i].Partitions {
				p := &b.Topics[i].Partitions[j]
				p.Records = replace(p.Records)
			}
		}
	}
	return there
}

var (
	typeTags = reflect.TypeFor[kmsg.Tags]()
	typeID   = reflect.TypeFor[[16]byte]()
)

// scrub replaces the names in a message, and takes out what may say anything: texts of errors, metadata of commits,
// configuration, and tagged fields that are not known. field is the name of the field that holds v.
func (r *redactor) scrub(v reflect.Value, field string) {
	switch {
	case v.Type() == typeTags || field == "ErrorMessage" || field == "AcknowledgeErrorMessage" || field == "Configs" || field == "Metadata" && v.Kind() == reflect.Pointer:
		v.SetZero()
		return
	case v.Type() == typeID:
		v.Set(reflect.ValueOf(r.id(v.Interface().([16]byte))))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			r.scrub(v.Field(i), v.Type().Field(i).Name)
		}
	case reflect.Slice:
		if field == "Records" || field == "RecordBatches" {
			return // done by the Rewriter
		}
		for i := range v.Len() {
			r.scrub(v.Index(i), field)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			r.scrub(v.Elem(), field)
		}
	case reflect.String:
		v.SetString(r.name(field, v.String()))
	}
}

// name returns what stands for the text of a field.
func (r *redactor) name(field, text string) string {
	switch field {
	case "Topic", "TopicNames":
		return r.topicName(text)
	case "Host":
		return r.host(text)
	case "ClientSoftwareName", "ClientSoftwareVersion", "Name": // of features
		return text
	}
	return r.text("n", text)
}
