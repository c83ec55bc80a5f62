package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
)

func findingID(index int) string { return fmt.Sprintf("F%d", index+1) }

func verdictName(v analysis.Verdict) string {
	return [...]string{"", "possible", "probable", "confirmed"}[v]
}

func crc(sum uint32) string { return fmt.Sprintf("0x%08x", sum) }

func codecName(c kafka.Codec) string {
	names := [...]string{"none", "gzip", "snappy", "lz4", "zstd"}
	if int(c) >= len(names) {
		return fmt.Sprintf("codec %d", c)
	}
	return names[c]
}

// sentence words one event of f's story in one line, without its time and frame. Topic and partition are named where they
// are not the finding's own.
func (v *view) sentence(f *analysis.Finding, e *analysis.Event) string {
	s := eventText(f, e)
	if e.Repeat > 0 {
		s += fmt.Sprintf(" (and %d more like it%s)", e.Repeat, repeatedIn(e))
	}
	return s
}

// repeatedIn names the frames of the events that e stands for: ": frames 16, 18, …".
func repeatedIn(e *analysis.Event) string {
	var frames []string
	for _, number := range e.RepeatedIn {
		if number > 0 {
			frames = append(frames, fmt.Sprint(number))
		}
	}
	switch {
	case len(frames) == 0:
		return ""
	case e.Repeat > len(frames):
		frames = append(frames, "…")
	case len(frames) == 1:
		return ": frame " + frames[0]
	}
	return ": frames " + strings.Join(frames, ", ")
}

// passedOn is "passed on by 203.0.113.1: " where the request comes from a host that the same copy was sent to before: a proxy.
func passedOn(f *analysis.Finding, e *analysis.Event) string {
	from := e.At.Client.Addr()
	for i := range f.Copies {
		received := false
		for j := range f.Copies[i].Evidence {
			of := &f.Copies[i].Evidence[j]
			if of.Kind != analysis.EventProduceRequest {
				continue
			}
			if received && of.At == e.At {
				return fmt.Sprintf("passed on by %s: ", from)
			}
			to := of.At.Server.Addr()
			received = received || of.At.Client.Addr() != from && (to == from || to.IsLoopback() && !from.IsLoopback())
		}
	}
	return ""
}

func eventText(f *analysis.Finding, e *analysis.Event) string {
	switch e.Kind {
	case analysis.EventProduceRequest:
		return fmt.Sprintf("%sProduce%s to %s%s: %s", passedOn(f, e), correlation(e), address(e.At.Server), elsewhere(f, e), batchText(e))
	case analysis.EventProduceResponse:
		return fmt.Sprintf("answer to Produce%s%s: %s%s", correlation(e), elsewhere(f, e), answerText(e), leaderHint(e))
	case analysis.EventFetchResponse:
		return fetchText(f, e)
	case analysis.EventMetadata:
		return fmt.Sprintf("Metadata: %s", leads(e))
	case analysis.EventLeaderChange:
		return "leader change: " + leads(e)
	case analysis.EventInitProducerID:
		return initText(e)
	case analysis.EventEpochBump:
		return fmt.Sprintf("producer %d uses epoch %d for the first time%s: no broker can recognise what it sent before", e.ProducerID, e.ProducerEpoch, elsewhere(f, e))
	case analysis.EventConnectionLost:
		s := fmt.Sprintf("the connection %s ends", connection(e.At))
		if e.Unheard {
			s += ", the answer unacknowledged as far as seen"
		}
		return s
	case analysis.EventNoAnswer:
		return fmt.Sprintf("Produce%s%s gets no answer", correlation(e), elsewhere(f, e))
	case analysis.EventTransactionEnd:
		return fmt.Sprintf("the commit of producer %d, epoch %d, stands at offset %d", e.ProducerID, e.ProducerEpoch, e.Offset)
	}
	return string(e.Kind)
}

func correlation(e *analysis.Event) string {
	if !e.HasCorrelation {
		return ""
	}
	return fmt.Sprintf(" %d", e.CorrelationID)
}

// elsewhere is " on orders/3" where e is about another partition than f.
func elsewhere(f *analysis.Finding, e *analysis.Event) string {
	if e.Partition < 0 || e.Topic == (kafka.Topic{}) || e.Partition == f.Partition && sameTopic(e.Topic, f.Topic) {
		return ""
	}
	return " on " + place(e.Topic, e.Partition)
}

// sameTopic compares by what both know.
func sameTopic(a, b kafka.Topic) bool {
	if a.Name != "" && b.Name != "" {
		return a.Name == b.Name
	}
	return a.ID == b.ID
}

func acksText(acks int16) string {
	if acks == -1 {
		return "all"
	}
	return fmt.Sprint(acks)
}

// batchText is "2 records, producer 7078 epoch 0, sequence 2704–2705".
func batchText(e *analysis.Event) string {
	if !e.HasBatch {
		return "a batch"
	}
	return count(e.RecordCount, "record") + ", " + identity(e.ProducerID, e.ProducerEpoch, e.BaseSequence, e.LastSequence, e.CRC)
}

// identity names a batch by what a broker could recognise it by, and by its CRC where that is nothing.
func identity(producer int64, epoch int16, first, last int32, sum uint32) string {
	if producer < 0 {
		return "no producer id, CRC " + crc(sum)
	}
	return fmt.Sprintf("producer %d epoch %d, sequence %s", producer, epoch, span(int64(first), int64(last)))
}

// Error codes that say something of what the leader did with a batch.
const (
	errUnknown         = -1 // UNKNOWN_SERVER_ERROR
	errTimedOut        = 7  // REQUEST_TIMED_OUT
	errTooFewReplicas  = 20 // NOT_ENOUGH_REPLICAS_AFTER_APPEND
	errDuplicate       = 46 // DUPLICATE_SEQUENCE_NUMBER
	errStorage         = 56 // KAFKA_STORAGE_ERROR
	errUnknownProducer = 59 // UNKNOWN_PRODUCER_ID
)

// answerText words what an answer says of the batch. A broker answers 6, 7 and 20 with an offset when the wait for the
// followers failed, that is after the append; without an offset the error was raised before it.
func answerText(e *analysis.Event) string {
	said := errorText(e.ErrorCode)
	switch {
	case e.Deduplicated:
		return fmt.Sprintf("%s, offset %d: recognised as a retry, not stored again", said, e.Offset)
	case e.ErrorCode == 0 && e.Offset < 0:
		return "OK, without an offset"
	case e.ErrorCode == 0:
		return fmt.Sprintf("OK, offset %d", e.Offset)
	case e.ErrorCode == errTooFewReplicas && e.Offset >= 0:
		return fmt.Sprintf("%s, yet offset %d: appended and committed", said, e.Offset)
	case e.Offset >= 0:
		return fmt.Sprintf("%s, yet offset %d: appended there", said, e.Offset)
	case saysNothing(e.ErrorCode):
		return said + ", no offset"
	}
	return said + ", no offset: not appended"
}

// saysNothing reports whether an error without an offset leaves open if the batch was appended: a duplicate stands in the
// log by another send, a timeout and a fault of the disk or of the broker may come after the append.
func saysNothing(code int16) bool {
	switch code {
	case errDuplicate, errTimedOut, errStorage, errUnknown:
		return true
	}
	return false
}

// leaderHint is what an answer says of the new leader (KIP-951).
func leaderHint(e *analysis.Event) string {
	switch {
	case e.LeaderID >= 0 && e.LeaderEpoch >= 0:
		return fmt.Sprintf("; it names broker %d, leader epoch %d", e.LeaderID, e.LeaderEpoch)
	case e.LeaderID >= 0:
		return fmt.Sprintf("; it names broker %d", e.LeaderID)
	}
	return ""
}

func leads(e *analysis.Event) string {
	s := "broker " + fmt.Sprint(e.LeaderID)
	if e.LeaderID < 0 {
		s = "a new leader"
	}
	s += " leads " + place(e.Topic, e.Partition)
	switch {
	case e.LeaderEpoch >= 0 && e.PreviousEpoch >= 0:
		s += fmt.Sprintf(", leader epoch %d after %d", e.LeaderEpoch, e.PreviousEpoch)
	case e.LeaderEpoch >= 0:
		s += fmt.Sprintf(", leader epoch %d", e.LeaderEpoch)
	}
	return s
}

func fetchText(f *analysis.Finding, e *analysis.Event) string {
	var b strings.Builder
	b.WriteString("fetched by " + reader(e.ReplicaID) + elsewhere(f, e))
	if e.Offset >= 0 {
		fmt.Fprintf(&b, ": offset %d", e.Offset)
	}
	if e.LeaderEpoch >= 0 {
		fmt.Fprintf(&b, ", leader epoch %d", e.LeaderEpoch)
	}
	return b.String()
}

func reader(replica int32) string {
	switch {
	case replica >= 0:
		return fmt.Sprintf("follower %d", replica)
	case replica == -1:
		return "a consumer"
	}
	return "a reader"
}

func initText(e *analysis.Event) string {
	switch {
	case e.HasError && e.ErrorCode != 0:
		return "InitProducerId: " + errorText(e.ErrorCode)
	case e.ProducerID >= 0:
		return fmt.Sprintf("InitProducerId: producer %d, epoch %d", e.ProducerID, e.ProducerEpoch)
	}
	return "InitProducerId is asked for"
}

// causeText says in half a sentence what happened: "epoch bump of producer 7078 after a leader change".
func causeText(f *analysis.Finding) string {
	switch b := f.Bump; {
	case f.Cause == analysis.EpochBump && b != nil:
		return fmt.Sprintf("epoch bump of producer %d (%d to %d)%s", b.ProducerID, b.FromEpoch, b.ToEpoch, after(f))
	case f.Cause == analysis.NewProducerID && b != nil && b.NewProducerID >= 0:
		return fmt.Sprintf("producer %d went on as producer %d%s", b.ProducerID, b.NewProducerID, after(f))
	case f.Cause == analysis.BlindRetry:
		return "retry without a producer id" + after(f)
	case f.Cause == analysis.BrokerDedupFailure:
		return "the broker did not recognise a retry" + after(f)
	case f.Cause == analysis.MisroutedBatch && len(f.Copies) > 1:
		home, stray := f.Copies[(f.Stray+1)%2], f.Copies[f.Stray%2]
		return fmt.Sprintf("a batch of %s was sent to %s", place(home.Topic, home.Partition), place(stray.Topic, stray.Partition))
	case f.Cause == analysis.ApplicationResend:
		return resendText(f)
	case f.Cause == analysis.UnknownCause:
		return "nothing shows why"
	}
	return explain(codeOf(f)).Title
}

// after names what came before the second copy: the trigger of a bump, else what the story shows of the first copy's fate.
func after(f *analysis.Finding) string {
	if f.Bump != nil && f.Bump.Trigger != nil {
		return " after " + triggerText(f.Bump.Trigger)
	}
	if slices.ContainsFunc(f.Timeline, func(e analysis.Event) bool { return e.Kind == analysis.EventLeaderChange }) {
		return " after a leader change"
	}
	for _, e := range f.Timeline {
		switch {
		case e.Kind == analysis.EventProduceResponse && e.ErrorCode != 0:
			return " after " + errorText(e.ErrorCode)
		case e.Kind == analysis.EventConnectionLost && e.Copy != len(f.Copies):
			return " after a lost connection"
		case e.Kind == analysis.EventNoAnswer:
			return " after an answer that did not come"
		}
	}
	return ""
}

func triggerText(t *analysis.Trigger) string {
	s := map[analysis.TriggerKind]string{
		analysis.TriggerProduceError:   errorText(t.ErrorCode),
		analysis.TriggerInitProducerID: "an InitProducerId exchange",
		analysis.TriggerConnectionLost: "a lost connection",
		analysis.TriggerNoAnswer:       "a batch that was never answered",
	}[t.Kind]
	if t.Topic.Name != "" || t.Partition >= 0 {
		s += " on " + place(t.Topic, t.Partition)
	}
	return s
}
