package report

import (
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/analysis"
)

// What tells a resend from a retry is only said where it is so; of batches without a producer id nothing can be said by their sequences.
func TestResendsAreExplainedByWhatTheyCarry(t *testing.T) {
	type id struct {
		producer int64
		epoch    int16
	}
	const application, anyone = "The application produced", "Without a producer id on both"
	for _, tc := range []struct {
		first, later     id
		follows, ruledBy string
	}{
		{id{7, 0}, id{7, 0}, application, "a retry by the client (the sequences are fresh)"},
		{id{7, 0}, id{7, 1}, application, "a retry by the client (the timestamps are new)"},
		{id{7, 0}, id{9, 0}, application, "a retry by the client (another producer sent them)"},
		{id{-1, -1}, id{-1, -1}, anyone, "a TCP retransmission"},
		{id{-1, -1}, id{7, 0}, anyone, "a TCP retransmission"},
		{id{7, 0}, id{-1, -1}, anyone, "a TCP retransmission"},
	} {
		f := analysis.Finding{Cause: analysis.ApplicationResend}
		for _, of := range []id{tc.first, tc.later} {
			f.Copies = append(f.Copies, analysis.Copy{Batches: []analysis.CopyBatch{{ProducerID: of.producer, ProducerEpoch: of.epoch}}})
		}
		if said := follows(&f); !strings.HasPrefix(said, tc.follows) {
			t.Errorf("%v and %v: %s", tc.first, tc.later, said)
		}
		if said := ruledOut(&f); !strings.HasPrefix(said, "Ruled out: "+tc.ruledBy) {
			t.Errorf("%v and %v: %s", tc.first, tc.later, said)
		}
	}
}

// Before KIP-360 a client whose producer id the broker had forgotten counted its sequences anew within the epoch.
func TestResendByAClientThatCountsAnew(t *testing.T) {
	finding := func(first, later int32, code int16) *analysis.Finding {
		return &analysis.Finding{
			Cause: analysis.ApplicationResend,
			Copies: []analysis.Copy{
				{Batches: []analysis.CopyBatch{{ProducerID: 5, BaseSequence: first}}}, {Batches: []analysis.CopyBatch{{ProducerID: 5, BaseSequence: later}}},
			},
			Timeline: []analysis.Event{{Kind: analysis.EventProduceResponse, Copy: 1, HasError: true, ErrorCode: code}},
		}
	}
	if f := finding(2, 0, 59); !strings.HasPrefix(causeText(f), "the client sent") || strings.Contains(ruledOut(f), "retry by the client") {
		t.Errorf("%s; %s", causeText(f), ruledOut(f))
	}
	for _, f := range []*analysis.Finding{finding(2, 3, 59), finding(2, 0, 45)} {
		if !strings.HasPrefix(causeText(f), "the application sent") {
			t.Error(causeText(f))
		}
	}
}
