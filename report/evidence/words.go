package evidence

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
)

// remark is one line of a packet comment. It holds no name but those of topics, which words gets in the form to be shown, and
// no digest of a payload.
type remark struct {
	subject string // "F1 copy 2", may be empty
	words   func(namer) string
}

// namer gives a topic in the form that is to be shown.
type namer func(kafka.Topic) kafka.Topic

func wordless(text string) func(namer) string { return func(namer) string { return text } }

// text returns the line. Captured names are hostile: only what Kafka allows in a name stays.
func (r remark) text(names namer) string {
	line := r.words(names)
	if r.subject != "" {
		line = r.subject + ": " + line
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' && c != '–' {
			return '?'
		}
		return c
	}, line)
}

// topicText names a topic by its name, else by its id.
func topicText(t kafka.Topic) string {
	if t.Name != "" {
		return t.Name
	}
	return "topic " + hex.EncodeToString(t.ID[:])
}

func topicWords(t kafka.Topic) func(namer) string {
	return func(names namer) string { return "names " + topicText(names(t)) }
}

func eventRemark(finding string, e *analysis.Event) remark {
	subject := finding
	if e.Copy > 0 {
		subject = fmt.Sprintf("%s copy %d", finding, e.Copy)
	}
	step := *e
	return remark{subject, func(names namer) string { return eventWords(&step, names) }}
}

func eventWords(e *analysis.Event, names namer) string {
	where := fmt.Sprintf("%s/%d", topicText(names(e.Topic)), e.Partition)
	switch e.Kind {
	case analysis.EventProduceRequest:
		return fmt.Sprintf("Produce %d to %s, %s", e.CorrelationID, where, batchWords(e))
	case analysis.EventProduceResponse:
		return fmt.Sprintf("answer to Produce %d: %s", e.CorrelationID, answerWords(e))
	case analysis.EventFetchResponse:
		return fmt.Sprintf("fetched from %s at offset %d, %s", where, e.Offset, batchWords(e))
	case analysis.EventLeaderChange, analysis.EventMetadata:
		return fmt.Sprintf("leader of %s: broker %d, leader epoch %d", where, e.LeaderID, e.LeaderEpoch)
	case analysis.EventInitProducerID:
		return fmt.Sprintf("InitProducerId: producer %d, epoch %d", e.ProducerID, e.ProducerEpoch)
	case analysis.EventEpochBump:
		return fmt.Sprintf("first batch of producer %d under epoch %d", e.ProducerID, e.ProducerEpoch)
	case analysis.EventConnectionLost:
		if e.Unheard {
			return "the connection ends, the answer unacknowledged as far as seen"
		}
		return "the connection ends before the answer"
	case analysis.EventNoAnswer:
		return "never answered"
	case analysis.EventTransactionEnd:
		return fmt.Sprintf("commit of producer %d, epoch %d, at offset %d of %s", e.ProducerID, e.ProducerEpoch, e.Offset, where)
	}
	return "part of the story"
}

func batchWords(e *analysis.Event) string {
	if !e.HasBatch {
		return "no batch"
	}
	if e.ProducerID < 0 {
		return fmt.Sprintf("%d records without a producer id", e.RecordCount)
	}
	return fmt.Sprintf("sequence %d–%d of producer %d, epoch %d", e.BaseSequence, e.LastSequence, e.ProducerID, e.ProducerEpoch)
}

func answerWords(e *analysis.Event) string {
	text := "OK"
	if e.ErrorCode != 0 {
		text = fmt.Sprintf("error %d", e.ErrorCode)
	}
	if e.Offset != analysis.NoOffset {
		text += fmt.Sprintf(", offset %d", e.Offset)
	}
	if e.Deduplicated {
		text += ", recognised as a retry"
	}
	return text
}

func bumpWords(b *analysis.Bump) string {
	if b.NewProducerID >= 0 {
		return fmt.Sprintf("first batch under producer id %d instead of %d", b.NewProducerID, b.ProducerID)
	}
	return fmt.Sprintf("first batch of producer %d under epoch %d instead of %d", b.ProducerID, b.ToEpoch, b.FromEpoch)
}

func triggerWords(t *analysis.Trigger) func(namer) string {
	kind, partition, topic := string(t.Kind), t.Partition, t.Topic
	if t.HasError {
		kind += fmt.Sprintf(" %d", t.ErrorCode)
	}
	return func(names namer) string {
		if partition < 0 {
			return kind
		}
		return fmt.Sprintf("%s on %s/%d", kind, topicText(names(topic)), partition)
	}
}

func grantWords(o *kafka.ProducerGranted) string {
	if o.ErrorCode != 0 {
		return fmt.Sprintf("InitProducerId: error %d", o.ErrorCode)
	}
	return fmt.Sprintf("InitProducerId: producer %d, epoch %d", o.ProducerID, o.ProducerEpoch)
}
