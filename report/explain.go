package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
)

// codeOf is the catalogue code of a finding.
func codeOf(f *analysis.Finding) pcap.Code { return pcap.Code(f.Cause) }

// maxSteps is how many steps of a story an explanation and a table show. The first and the last tell it; JSON has them all.
const maxSteps = 16

// step is an event of a story and the copies it belongs to: a retry that was stored twice belongs to both.
type step struct {
	analysis.Event
	copies []int
}

// label is "copy 1: ", "copies 1 and 2: " or "".
func (s *step) label() string {
	switch len(s.copies) {
	case 0:
		return ""
	case 1:
		return "copy " + s.numbers() + ": "
	}
	return "copies " + s.numbers() + ": "
}

// numbers is "1", "1 and 2" or "".
func (s *step) numbers() string { return strings.Join(list(s.copies, strconv.Itoa), " and ") }

// steps returns at most limit steps of the story, and how many were left out in the middle, before index cut.
func steps(events []analysis.Event, limit int) (shown []step, cut, left int) {
	for _, e := range events {
		alone := e
		alone.Copy = 0
		i := len(shown) - 1
		for i >= 0 && shown[i].At == e.At && shown[i].Event != alone {
			i--
		}
		if i < 0 || shown[i].Event != alone {
			i, shown = len(shown), append(shown, step{Event: alone})
		}
		if e.Copy > 0 && !slices.Contains(shown[i].copies, e.Copy) {
			shown[i].copies = append(shown[i].copies, e.Copy)
		}
	}
	if len(shown) <= limit {
		return shown, len(shown), 0
	}
	half := limit / 2
	return slices.Concat(shown[:half], shown[len(shown)-half:]), half, len(shown) - 2*half
}

// explanation tells a finding in sentences: the copies first, then one sentence a step, what follows, how sure that is,
// which innocent explanation was ruled out, and what was not seen.
func (v *view) explanation(f *analysis.Finding) []string {
	var out []string
	for i := range f.Copies {
		out = append(out, copySentence(f, i))
	}
	shown, cut, left := steps(f.Timeline, maxSteps)
	for i := range shown {
		if i == cut {
			out = append(out, fmt.Sprintf("%s between are left out here and stand in the timeline.", count(left, "step")))
		}
		s := &shown[i]
		out = append(out, fmt.Sprintf("%s, %s, %s%s.", clock(s.At.Time), v.frame(s.At.Ref), s.label(), v.sentence(f, &s.Event)))
	}
	if b := v.bumpSentence(f.Bump); b != "" {
		out = append(out, b)
	}
	out = append(out, follows(f), v.sure(f), ruledOut(f))
	for _, doubt := range doubts(f) {
		out = append(out, fmt.Sprintf("%s (%s).", explain(doubt).Title, doubt))
	}
	return nonempty(out)
}

// doubts are those of f that no other sentence tells.
func doubts(f *analysis.Finding) []pcap.Code {
	return slices.DeleteFunc(slices.Clone(f.Doubts), func(c pcap.Code) bool {
		return c == analysis.DoubtTriggerNotSeen && f.Bump != nil && f.Bump.Trigger == nil
	})
}

// copySentence is "Copy 1: producer 7078 epoch 0, sequence 2704–2705, CRC 0xe97ffa59; offsets 71229–71230, as fetched."
func copySentence(f *analysis.Finding, i int) string {
	c := &f.Copies[i]
	var batches []string
	for _, b := range c.Batches {
		s := identity(b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.LastSequence, b.CRC)
		if b.ProducerID >= 0 {
			s += ", CRC " + crc(b.CRC)
		}
		batches = append(batches, s)
	}
	if n := len(batches); n > 3 {
		batches = append(batches[:2], fmt.Sprintf("and %d more batches", n-2))
	}
	where := ""
	if c.Partition != f.Partition || !sameTopic(c.Topic, f.Topic) {
		where = " on " + place(c.Topic, c.Partition)
	}
	return fmt.Sprintf("Copy %d%s: %s; %s.", i+1, where, strings.Join(batches, "; "), offsetsText(c))
}

func offsetsText(c *analysis.Copy) string {
	if c.BaseOffset < 0 {
		return "its offsets were not seen"
	}
	s := spanOf("offset", c.BaseOffset, c.LastOffset)
	switch c.OffsetSource {
	case analysis.OffsetFromFetch:
		s += ", as fetched"
	case analysis.OffsetFromAnswer:
		s += ", as its answer says"
	case analysis.OffsetFromErrorAnswer:
		s += ", as the answer with the error says"
	case analysis.OffsetFromGap:
		s += ", the only place left between known offsets"
	}
	return s
}

func (v *view) bumpSentence(b *analysis.Bump) string {
	if b == nil {
		return ""
	}
	change := fmt.Sprintf("Producer %d went from epoch %d to epoch %d", b.ProducerID, b.FromEpoch, b.ToEpoch)
	if b.NewProducerID >= 0 {
		change = fmt.Sprintf("Producer %d, epoch %d, went on as producer %d, epoch %d", b.ProducerID, b.FromEpoch, b.NewProducerID, b.ToEpoch)
	}
	if b.Local {
		change += ", without an InitProducerId exchange in this capture"
	}
	if b.Trigger == nil {
		return fmt.Sprintf("%s; what forced it was not seen (kdupscan explain %s).", change, analysis.DoubtTriggerNotSeen)
	}
	return fmt.Sprintf("%s; what forced it: %s, %s.", change, triggerText(b.Trigger), v.frame(b.Trigger.At.Ref))
}

// followText says what follows from the steps, by cause.
var followText = map[analysis.Cause]string{
	analysis.EpochBump:          "A broker recognises a retry by producer id, epoch and sequence. Under a new epoch the same records are new to it, and it stores them whether or not it has them already.",
	analysis.NewProducerID:      "A broker recognises a retry by producer id, epoch and sequence. Under another producer id the same records are new to it, and it stores them whether or not it has them already.",
	analysis.BlindRetry:         "A batch without a producer id carries nothing that a broker could recognise a retry by, so each send that is appended is stored.",
	analysis.BrokerDedupFailure: "Both copies carry the same producer id, epoch and sequence. A leader that holds the producer's last five batches recognises an exact retry and refuses one with other borders; this leader stored it again.",
	analysis.MisroutedBatch:     "The CRC of a batch covers neither topic nor partition, so a broker stores a batch wherever the request puts it.",
	analysis.UnknownCause:       "The records stand at more than one offset; the capture does not show the sends that would tell why.",
}

// follows says what follows from the steps.
func follows(f *analysis.Finding) string {
	if f.Cause == analysis.ApplicationResend {
		return resendFollows(f)
	}
	return followText[f.Cause]
}

// ruledOut names the innocent explanation that was ruled out.
func ruledOut(f *analysis.Finding) string {
	if slices.Contains(f.Doubts, analysis.DoubtFirstCopyAcknowledged) {
		return "Ruled out: a TCP retransmission or a packet captured twice (the sends are requests of their own), and records that are equal by nature (the whole batch came again with its timestamps, and the content occurs nowhere else in the partition)."
	}
	if f.Cause == analysis.ApplicationResend {
		return resendRuledOut(f)
	}
	return ruledOutText[f.Cause]
}

// ruledOutText names the innocent explanation that was ruled out, by cause.
var ruledOutText = map[analysis.Cause]string{
	analysis.EpochBump:          "Ruled out: a TCP retransmission or a packet captured twice (the copies differ in epoch and CRC), and a transaction that ended.",
	analysis.NewProducerID:      "Ruled out: a TCP retransmission or a packet captured twice (the copies differ in producer id and CRC).",
	analysis.BlindRetry:         "Ruled out: a TCP retransmission or a packet captured twice (the sends are requests of their own), and a record that the application repeated after an OK.",
	analysis.BrokerDedupFailure: "Ruled out: one offset read twice, and a first copy that was truncated and stored anew.",
	analysis.MisroutedBatch:     "Ruled out: records that were meant for both places (by its neighbours the sequence belongs to one of them only).",
	analysis.UnknownCause:       "Ruled out: one offset read twice (the copies have offsets of their own), and content that is common in the partition.",
}

// sure says how sure the verdict is, and what that rests on.
func (v *view) sure(f *analysis.Finding) string {
	var shown []string
	for i := range f.Copies {
		least := unproven
		if f.Verdict == analysis.Confirmed {
			least = lasting
		}
		shown = append(shown, fmt.Sprintf("copy %d: %s", i+1, strings.Join(v.proofs(&f.Copies[i], least), ", ")))
	}
	because := strings.Join(shown, "; ")
	switch f.Verdict {
	case analysis.Confirmed:
		return "Confirmed: " + because + ". What a consumer was given, or what all in-sync replicas have, is committed: short of an unclean leader election it stays in the log."
	case analysis.Probable:
		if slices.ContainsFunc(f.Copies, func(c analysis.Copy) bool { return c.OffsetSource == analysis.OffsetFromGap }) {
			return "Probable: " + because + ". The offsets seen around the gap leave exactly the place of these records, and nothing else was seen to fill it."
		}
		return "Probable: " + because + ". Each copy was appended; that each was committed was not seen."
	}
	if slices.Contains(f.Doubts, analysis.DoubtEarlierSendMayBeHidden) {
		return "Possible: " + because + ". The sends of the first copy that were seen were refused; an earlier one may lie outside of the capture."
	}
	return "Possible: " + because + ". Whether the first copy was appended was not seen."
}

// strength is how well an event shows that a copy is stored.
type strength int

const (
	unproven strength = iota // that it was sent, and not that it was stored
	appended                 // a leader had it; another one may have truncated it
	lasting                  // committed
)

// proofs says, best evidence only and at least of the given strength where there is any, how a copy is known to be stored:
// "answered OK (frame 47)", "fetched (frames 49, 51)".
func (v *view) proofs(c *analysis.Copy, least strength) []string {
	type proof struct {
		words string
		strength
		refs []pcap.Ref
	}
	var all []proof
	best := unproven
	add := func(words string, s strength, at pcap.Ref) {
		i := slices.IndexFunc(all, func(p proof) bool { return p.words == words })
		if i < 0 {
			i, all = len(all), append(all, proof{words: words, strength: s})
		}
		all[i].refs = append(all[i].refs, at)
		best = max(best, s)
	}
	for i := range c.Evidence {
		if words, s := proofText(c, &c.Evidence[i]); words != "" {
			add(words, s, c.Evidence[i].At.Ref)
		}
	}
	if c.OffsetSource == analysis.OffsetFromGap {
		add("fills a gap between known offsets", appended, pcap.Ref{})
	}
	least = min(best, max(least, min(best, appended)))
	var out []string
	for _, p := range all {
		if p.strength >= least {
			out = append(out, p.words+v.refsText(p.refs))
		}
	}
	if out == nil {
		out = []string{"was sent, its fate was not seen"}
	}
	return out
}

// proofText words what one event shows of c, "" for nothing. An answer that gives another copy's offset shows that copy.
func proofText(c *analysis.Copy, e *analysis.Event) (words string, s strength) {
	last := e.Offset + int64(max(e.RecordCount, 1)) - 1 // of the event's batch, of which c may be a part
	if e.Offset >= 0 && c.BaseOffset >= 0 && (last < c.BaseOffset || e.Offset > c.LastOffset) {
		return "", unproven
	}
	switch e.Kind {
	case analysis.EventFetchResponse:
		if e.ReplicaID >= 0 {
			return fmt.Sprintf("copied by follower %d", e.ReplicaID), lasting
		}
		return "fetched", lasting
	case analysis.EventProduceResponse:
		switch {
		case e.ErrorCode == 0 && leaderAlone(c, e):
			return "answered OK by the leader alone", appended
		case e.ErrorCode == 0:
			return "answered OK", lasting
		case e.Offset >= 0 && e.ErrorCode == errTooFewReplicas:
			return "answered error 20 with its offset", lasting
		case e.Offset >= 0:
			return fmt.Sprintf("answered error %d with its offset", e.ErrorCode), appended
		}
		return fmt.Sprintf("refused with error %d", e.ErrorCode), unproven
	case analysis.EventNoAnswer:
		return "never answered", unproven
	case analysis.EventConnectionLost:
		return "connection lost", unproven
	}
	return "", unproven
}

// leaderAlone reports whether an answer is to a request with acks=1: no follower had the batch when it was given.
func leaderAlone(c *analysis.Copy, answer *analysis.Event) bool {
	return slices.ContainsFunc(c.Evidence, func(e analysis.Event) bool {
		return e.Kind == analysis.EventProduceRequest && e.HasCorrelation && e.CorrelationID == answer.CorrelationID &&
			e.At.Client == answer.At.Client && e.At.Server == answer.At.Server && e.Acks == 1
	})
}

// refsText is " (frame 14)" or " (frames 14, 15 and 3 more)"; "" without frames.
func (v *view) refsText(refs []pcap.Ref) string {
	const most = 3
	refs = slices.Compact(slices.DeleteFunc(slices.Clone(refs), pcap.Ref.IsZero))
	switch {
	case len(refs) == 0:
		return ""
	case len(refs) == 1:
		return " (" + v.frame(refs[0]) + ")"
	}
	var parts []string
	for i, r := range refs {
		if i == most {
			return fmt.Sprintf(" (frames %s and %d more)", strings.Join(parts, ", "), len(refs)-most)
		}
		parts = append(parts, strings.TrimPrefix(v.frame(r), "frame "))
	}
	return " (frames " + strings.Join(parts, ", ") + ")"
}
