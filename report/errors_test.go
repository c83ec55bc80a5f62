package report

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
)

// TestErrorNames compares with an independent table. It still has the old name of one error, which Kafka renamed (KIP-392).
func TestErrorNames(t *testing.T) {
	for code := int16(-2); code < 200; code++ {
		want := ""
		switch err := kerr.TypedErrorForCode(code); {
		case code == 0:
			want = "NONE"
		case code == 6:
			want = "NOT_LEADER_OR_FOLLOWER"
		case err != nil && err.Code == code:
			want = err.Message
		}
		if have := errorName(code); have != want {
			t.Errorf("%d: have %q, want %q", code, have, want)
		}
	}
}
