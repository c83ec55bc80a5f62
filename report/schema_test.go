package report

import (
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kdupscan/kdupscan/analysis"
)

var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(Schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("schema.json", document); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
})

// validate checks a JSON report against the schema.
func validate(t *testing.T, text string) {
	t.Helper()
	s, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	report, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(report); err != nil {
		t.Error(err)
	}
}

func TestReportsFollowTheSchema(t *testing.T) {
	for _, r := range []*analysis.Result{seedIncident(), manyFaults(), {}} {
		for _, payloads := range []bool{false, true} {
			validate(t, write(t, "json", r, Options{Payloads: payloads}))
		}
	}
}

// TestSchemaIsStrict: what is not promised does not pass.
func TestSchemaIsStrict(t *testing.T) {
	s, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	good := write(t, "json", seedIncident(), Options{})
	for _, change := range [][2]string{
		{`"kdupscan/report/v1"`, `"kdupscan/report/v2"`},
		{`"verdict": "confirmed"`, `"verdict": "certain"`},
		{`"id": "F1"`, `"id": 1`},
		{`"crc": "0xe97ffa59"`, `"crc": "e97ffa59"`},
		{`"base_offset": 71229`, `"base_offset": -1`},
		{`"topic": "my-topic-0188",`, ``},
		{`"what": "produce-request"`, `"what": "produce"`},
		{`"frame": 11`, `"frame": 0`},
		{`"time": "2024-11-20T15:37:11.655000000Z"`, `"time": "2024-11-20 15:37:11"`},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		report, err := jsonschema.UnmarshalJSON(strings.NewReader(bad))
		if err != nil || bad == good {
			t.Errorf("%s: nothing to change, or no JSON any more (%v)", change[0], err)
			continue
		}
		if s.Validate(report) == nil {
			t.Errorf("%s instead of %s passes", change[1], change[0])
		}
	}
}

// TestSchemaNamesEveryField: the schema promises what the contract says.
func TestSchemaNamesEveryField(t *testing.T) {
	for path, fields := range contract {
		for _, field := range strings.Fields(fields) {
			if !strings.Contains(Schema, `"`+field+`"`) {
				t.Errorf("%s: no field %s", path, field)
			}
		}
	}
}
