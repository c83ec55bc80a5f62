package kafka

import "github.com/kdupscan/kdupscan/pcap"

// Codes of notes about connections and messages. Those about batches stand in codes_batch.go.
const (
	// CodeTLS: a connection is encrypted. Nothing in it can be read.
	CodeTLS pcap.Code = "tls"
	// CodeLateStart: the capture lacks the beginning of a Kafka connection. Requests sent before it are unknown, so are
	// first copies that they carried.
	CodeLateStart pcap.Code = "late-start"
	// CodeMessagesHidden: a gap covers the border of a message, so whole messages may be hidden in it: requests with
	// their batches, or answers.
	CodeMessagesHidden pcap.Code = "messages-hidden"
	// CodeOutOfStep: bytes that are there could not be read as messages until the next believable one. They may hide
	// whole messages.
	CodeOutOfStep pcap.Code = "out-of-step"
	// CodeMessageCut: the inside of a message is missing. It was read up to there.
	CodeMessageCut pcap.Code = "message-cut"
	// CodeMessageTooLarge: a message was not kept whole for lack of memory (Limits.MaxBuffered). It was read as far as
	// it was kept; bytes in which a message was sought were given up.
	CodeMessageTooLarge pcap.Code = "message-too-large"
	// CodeMessageUndecodable: a message whose layout is known does not follow it. What it says is hidden.
	CodeMessageUndecodable pcap.Code = "message-undecodable"
	// CodeAPIVersionUnknown: a message has a newer version than is known here, of an API that would be decoded. What it
	// says is hidden.
	CodeAPIVersionUnknown pcap.Code = "api-version-unknown"
	// CodeAnswerWithoutRequest: an answer whose request was not seen. Unless its structure tells what it is, what it
	// says is hidden.
	CodeAnswerWithoutRequest pcap.Code = "answer-without-request"
	// CodeTornRequest: a connection ended before a request was whole. The broker never had it; nothing is hidden.
	CodeTornRequest pcap.Code = "torn-request"
	// CodePendingFull: more requests of one connection await answers than are kept (Limits.MaxPending). Answers to the
	// oldest are read as answers without request.
	CodePendingFull pcap.Code = "pending-requests-full"
	// CodeFetchSessionFull: more fetch sessions or partitions of one connection than are kept. Fetch offsets of some
	// sightings are unknown.
	CodeFetchSessionFull pcap.Code = "fetch-session-full"
)
