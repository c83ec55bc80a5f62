package analysis

import (
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
)

// The notation refuses what makes no sense, so that a slip in a test does not pass for a history.
func TestNotationIsStrict(t *testing.T) {
	for _, history := range []string{
		`p1`, `p > t/0 -:a`, `P1 > t/0 -:a`, `p0 > t/0 -:a`, `p1 says`, `@5 p1 gap client; @4 p1 gap client`, `@x p1 gap client`,
		`p1 >`, `p1 > t/0`, `p1 > t -:a`, `p1 > t/x -:a`, `p1 > t/0 -:`, `p1 > t/0 -:a-`, `p1 > t/0 7:a`, `p1 > t/0 7/0:a`, `p1 > t/0 7/0/x:a`,
		`p1 > t/0 -1/0/0:a`, `p1 > t/0 7/0/0/0:a`, `p1 > t/0 7/99999/0:a`, `p1 > t/0 7/0/2147483648:a`, `p1 > t/0 -:a%zip`, `p1 > t/0 -:a%crcx`,
		`p1 > t/0 7/0/0:a%m1`, `p1 > t/0 -:a~x`, `p1 > t/0 -:a^x`, `p1 > t/0 -:a acks=x`, `p1 > t/0 -:a nat=q1`, `p1 > t/0 -:a t/1`,
		`p1 > #0/0 -:a`, `p1 > #x/0 -:a`, `p1 > a=b/0 -:a`, `p1 < =1`, `p1 > t/0 -:a; p1 < =1; p1 < =2`, `p1 > t/0 -:a; p1 < =x`, `p1 > t/0 -:a; p1 < x`,
		`p1 > t/0 -:a; p1 < =1~x`, `p1 > t/0 -:a; p1 < =1 =2`, `p1 > t/0 -:a acks=0; p1 < =1`, `p1 > t/0 -:a torn; p1 < =1`, `p1 ack`,
		`p1 > t/0 -:a; p1 < =1; p1 ack`, `p1 rst; p1 > t/0 -:a`, `p1 rst now`, `p1 gap`, `p1 gap both`, `p1 gap client outside`,
		`p1 stray t/0`, `p1 stray t =1`, `p1 fetch`, `p1 fetch t`, `p1 fetch t/0 hw`, `p1 fetch t/0 hw=x`, `p1 fetch t/0 x=-:a`, `p1 fetch t/0 1=a`,
		`p1 fetch t/0 aborted=7`, `p1 fetch t/0 1=7/0/0:commit`, `p1 fetch t/0 1=-:abort`, `p1 leader t/0 1`, `p1 leader t/0 1 x`, `p1 ends t/0 7`, `p1 ends t/0 x 1`, `p1 ends t/0 7=x 1`, `p1 cluster`, `p1 cluster A b`,
		`p1 topic`, `p1 topic t/0`, `p1 topic t public`, `p1 delete`, `p1 init`, `p1 init 7`, `p1 init 7/0 from=7`, `p1 init 7/0 by=8/0`, `p1 init 7/0 err=x`,
		`p1 end 7/0`, `p1 end 7/0 maybe`, `p1 end x commit`, `p1 ended 7/1`, `p1 marker 7/0`, `p1 commits t/0`, `p1 commits t/0 x`, `p1 is librdkafka`,
	} {
		if _, err := parse(history); err == nil {
			t.Errorf("%q was read", history)
		}
	}
}

// The notation says what the observations are.
func TestNotation(t *testing.T) {
	all := observe(t, `p1 > t/0 7/1/5:ab; p1 < 6=100; r2 fetch #3/1 hw=9 follower=4 8=7/1/5:a.b%lz4~900^6`)
	var sent *kafka.BatchSent
	var answered *kafka.BatchAnswered
	var fetched *kafka.BatchFetched
	closed := 0
	for _, o := range all {
		switch o := o.(type) {
		case *kafka.BatchSent:
			sent = o
		case *kafka.BatchAnswered:
			answered = o
		case *kafka.BatchFetched:
			fetched = o
		case *kafka.LinkClosed:
			closed++
		}
	}
	if b := sent.Batch; b.ProducerID != 7 || b.ProducerEpoch != 1 || b.BaseSequence != 5 || b.LastSequence() != 6 || len(b.Records) != 2 || b.Records[0].Timestamp != epochMillis+10 {
		t.Errorf("sent %+v", b)
	}
	if answered.Request != sent.Request || answered.ErrorCode != 6 || answered.BaseOffset != 100 || answered.LogAppendTime != -1 {
		t.Errorf("answered %+v", answered)
	}
	b := fetched.Batch
	if fetched.ReplicaID != 4 || fetched.HighWatermark != 9 || fetched.Topic.ID[15] != 3 || b.BaseOffset != 8 || b.LastOffset() != 10 || b.Codec() != kafka.LZ4 ||
		!b.LogAppendTime() || b.MaxTimestamp != epochMillis+900 || b.PartitionLeaderEpoch != 6 || b.Records[1].Delta != 2 {
		t.Errorf("fetched %+v %+v", fetched.PartitionFetched, b)
	}
	if b.CRC == sent.Batch.CRC || closed != 2 {
		t.Errorf("CRC %d, %d connections closed", b.CRC, closed)
	}
}
