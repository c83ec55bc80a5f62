package report

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// contract lists the fields of the report as its interface promises them: a path per object, with the fields it has at least.
var contract = map[string]string{
	"":                               "schema tool verdict captures coverage counts findings producers oddities",
	"tool":                           "name version",
	"captures[]":                     "name format compression link_types packets bytes first_time last_time cut_short_packets dropped_packets damage",
	"coverage":                       "connections gaps requests responses unanswered apis produced_batches fetched_batches records records_not_compared limits",
	"coverage.connections":           "total kafka tls other",
	"coverage.gaps":                  "count bytes",
	"coverage.apis[]":                "key name version requests responses undecoded",
	"coverage.limits[]":              "code title count effect",
	"counts":                         "appended deduplicated rejected unacknowledged application_repeats epoch_bumps leader_changes",
	"findings[]":                     "id code kind verdict cause topic topic_id partition record_count records copies bump timeline display_filter explanation",
	"findings[].records[]":           "offsets timestamp key value",
	"findings[].copies[]":            "topic partition base_offset last_offset offset_source leader_epoch batches evidence",
	"findings[].timeline[]":          "what text at correlation_id error_code error offset",
	"producers[]":                    "producer_id epochs client_id software transactional_id addresses",
	"oddities[]":                     "code title count first",
	"oddities[].first":               "capture frame time connection",
	"findings[].bump":                "producer_id from_epoch to_epoch new_producer_id local first_seen trigger",
	"findings[].records[].value":     "size hash",
	"findings[].copies[].batches[]":  "producer_id producer_epoch base_sequence last_sequence crc base_offset last_offset",
	"findings[].copies[].evidence[]": "what text at correlation_id error_code error offset",
	"findings[].timeline[].at":       "capture frame time connection",
}

func TestJSONHasEveryField(t *testing.T) {
	for _, r := range []string{write(t, "json", seedIncident(), Options{}), write(t, "json", manyFaults(), Options{})} {
		var tree any
		if err := json.Unmarshal([]byte(r), &tree); err != nil {
			t.Fatal(err)
		}
		for path, fields := range contract {
			for _, object := range find(tree, path) {
				for _, field := range strings.Fields(fields) {
					if _, ok := object[field]; !ok {
						t.Errorf("%s has no field %s", path, field)
					}
				}
			}
		}
		if !strings.HasSuffix(r, "}\n") {
			t.Error("the report does not end with a line end")
		}
	}
}

// find returns the objects at a path such as findings[].copies[]; a null on the way has none.
func find(tree any, path string) []map[string]any {
	if tree == nil {
		return nil
	}
	object, _ := tree.(map[string]any)
	if path == "" {
		return []map[string]any{object}
	}
	step, rest, _ := strings.Cut(path, ".")
	name, isList := strings.CutSuffix(step, "[]")
	if !isList {
		return find(object[name], rest)
	}
	var all []map[string]any
	list, _ := object[name].([]any)
	for _, element := range list {
		all = append(all, find(element, rest)...)
	}
	return all
}

func TestUnknownIsNull(t *testing.T) {
	var r struct {
		Captures []map[string]any
		Coverage struct{ APIs []map[string]any }
		Findings []struct {
			Records []struct {
				Offsets    []any
				Timestamp  any
				Key, Value map[string]any
			}
			Copies []map[string]any
			Bump   any
		}
	}
	if err := json.Unmarshal([]byte(write(t, "json", manyFaults(), Options{})), &r); err != nil {
		t.Fatal(err)
	}
	empty := r.Captures[1]
	for _, field := range []string{"compression", "first_time", "last_time", "dropped_packets", "damage"} {
		if empty[field] != nil {
			t.Errorf("capture without packets: %s is %v", field, empty[field])
		}
	}
	if have := r.Captures[0]["damage"]; have != "the file ends inside a packet at byte 4711, after frame 12345: the rest of the file is lost" {
		t.Errorf("damage %v", have)
	}
	if last := r.Coverage.APIs[1]; last["key"] != 9999.0 || last["name"] != nil {
		t.Errorf("unknown API %v", last)
	}
	blind, stray := r.Findings[0], r.Findings[1]
	if o := blind.Records[0].Offsets; o[0] != nil || o[1] != 56.0 {
		t.Errorf("offsets %v", o)
	}
	if o := stray.Records[0].Offsets; o[1] != "absent" {
		t.Errorf("offsets %v", o)
	}
	if blind.Records[0].Timestamp != nil || stray.Records[0].Timestamp != nil {
		t.Error("a missing timestamp, and one beyond the year 9999, are null")
	}
	if blind.Records[0].Key == nil || blind.Records[0].Key["size"] != 0.0 {
		t.Error("an empty key is no null key")
	}
	first := blind.Copies[0]
	for _, field := range []string{"base_offset", "last_offset", "offset_source", "leader_epoch"} {
		if first[field] != nil {
			t.Errorf("copy at unknown offsets: %s is %v", field, first[field])
		}
	}
	if stray.Copies[0]["topic"] != nil || blind.Bump != nil {
		t.Error("an unnamed topic and a missing bump are null")
	}
}

func TestPayloadHash(t *testing.T) {
	key := hashKey([]pcap.Capture{{Fingerprint: 1}, {Fingerprint: 2}})
	p := kafka.Payload{Size: 4, Hash: 99}
	if have := payloadHash(key, p); len(have) != 16 || have != payloadHash(key, p) {
		t.Errorf("hash %s", have)
	}
	others := []string{
		payloadHash(key, kafka.Payload{Size: 5, Hash: 99}),
		payloadHash(key, kafka.Payload{Size: 4, Hash: 98}),
		payloadHash(hashKey([]pcap.Capture{{Fingerprint: 2}, {Fingerprint: 1}}), p),
	}
	if slices.Contains(others, payloadHash(key, p)) {
		t.Error("size, content and captures all count")
	}
}

func TestCaptureNamesAreDistinct(t *testing.T) {
	have := captureNames([]pcap.Capture{{Name: "a.pcap"}, {Name: "b.pcap"}, {Name: "a.pcap"}, {Name: "a.pcap (2)"}, {Name: "a.pcap"}})
	want := []string{"a.pcap", "b.pcap", "a.pcap (2)", "a.pcap (2) (2)", "a.pcap (3)"}
	if !slices.Equal(have, want) {
		t.Errorf("have %q", have)
	}
}
