package report

import (
	"fmt"
	"slices"

	"github.com/kdupscan/kdupscan/analysis"
)

// resendText says in half a sentence who sent the records of an application-resend again.
func resendText(f *analysis.Finding) string {
	if countedAnew(f) {
		return "the client sent the records again under new sequences after " + errorText(errUnknownProducer)
	}
	return "the application sent the records again" + after(f)
}

// resendFollows says what follows from the steps of an application-resend.
func resendFollows(f *analysis.Finding) string {
	switch {
	case !numbered(f):
		return "Without a producer id on both, the broker had nothing to tell the records from new ones by. The application wrote them again, or its client did, if it makes records anew for a retry."
	case countedAnew(f):
		return "The broker no longer knew the producer, and its client counted from 0 again in the same epoch, as old clients do: under sequences that it does not know the broker stores records whether or not it has them already."
	}
	return "The application produced the records again: for the broker they are new records, and idempotence does not prevent that."
}

// resendRuledOut names the innocent explanation of an application-resend that was ruled out.
func resendRuledOut(f *analysis.Finding) string {
	what := "a TCP retransmission or a packet captured twice (the sends are requests of their own)"
	if numbered(f) && len(f.Copies) > 1 && !countedAnew(f) {
		what = fmt.Sprintf("a retry by the client (%s)", madeAnew(f))
	}
	return fmt.Sprintf("Ruled out: %s, and records that are equal by nature (the content occurs nowhere else in the partition).", what)
}

// numbered reports whether all copies carry sequences.
func numbered(f *analysis.Finding) bool {
	return !slices.ContainsFunc(f.Copies, func(c analysis.Copy) bool {
		return slices.ContainsFunc(c.Batches, func(b analysis.CopyBatch) bool { return b.ProducerID < 0 })
	})
}

// countedAnew reports whether a client began its sequences again within the epoch after the broker had said that it does not know the
// producer: before KIP-360 that was what a client did, and its application had no part in it.
func countedAnew(f *analysis.Finding) bool {
	if len(f.Copies) < 2 {
		return false
	}
	first, later := f.Copies[0].Batches[0], f.Copies[1].Batches[0]
	return first.ProducerID == later.ProducerID && first.ProducerEpoch == later.ProducerEpoch && later.BaseSequence < first.BaseSequence &&
		slices.ContainsFunc(f.Timeline, func(e analysis.Event) bool {
			return e.Kind == analysis.EventProduceResponse && e.Copy == 1 && e.ErrorCode == errUnknownProducer
		})
}

// madeAnew says what shows that an application, and not its client, made the later records: a retry keeps the producer and the records'
// timestamps, and within an epoch the sequences.
func madeAnew(f *analysis.Finding) string {
	first, later := f.Copies[0].Batches[0], f.Copies[1].Batches[0]
	switch {
	case first.ProducerID != later.ProducerID:
		return "another producer sent them"
	case first.ProducerEpoch == later.ProducerEpoch:
		return "the sequences are fresh"
	}
	return "the timestamps are new"
}
