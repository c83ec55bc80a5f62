package analysis

import "github.com/kdupscan/kdupscan/pcap"

// Doubts of a finding: what weakens it or limits what it says.
const (
	// DoubtTriggerNotSeen: the event that made the producer change its identity is not in the capture.
	DoubtTriggerNotSeen pcap.Code = "trigger-not-seen"
	// DoubtContentNotCompared: the capture lacks the records of a copy; identity, sequences, CRC and offsets had to do.
	DoubtContentNotCompared pcap.Code = "content-not-compared"
	// DoubtOffsetsByGap: the first copy's offsets follow from the acknowledged offsets around it.
	DoubtOffsetsByGap pcap.Code = "offsets-by-gap"
	// DoubtAnswerMayBeHidden: the capture has a gap where the answer to the first copy may stand.
	DoubtAnswerMayBeHidden pcap.Code = "answer-may-be-hidden"
	// DoubtEarlierSendMayBeHidden: every send seen of the first copy was refused; an earlier one may not be in the capture.
	DoubtEarlierSendMayBeHidden pcap.Code = "earlier-send-may-be-hidden"
	// DoubtFirstCopyMayBeTruncated: a leader appended the first copy, and nothing shows that it survived the leader change.
	DoubtFirstCopyMayBeTruncated pcap.Code = "first-copy-may-be-truncated"
	// DoubtFirstCopyFateUnknown: nothing shows whether the first copy was appended.
	DoubtFirstCopyFateUnknown pcap.Code = "first-copy-fate-unknown"
	// DoubtFirstCopyAcknowledged: the client had the OK for the first copy before it sent the whole batch again.
	DoubtFirstCopyAcknowledged pcap.Code = "first-copy-acknowledged"
)

// Limits that the correlator meets.
const (
	// LimitWindowEvicted: history was dropped to keep memory bounded.
	LimitWindowEvicted pcap.Code = "window-evicted"
	// LimitNotSeen: no batch was seen of the topic, partition or producer that a report was narrowed to.
	LimitNotSeen pcap.Code = "asked-for-not-seen"
	// LimitTopicUnresolved: topics are known by id only; their names were in no message.
	LimitTopicUnresolved pcap.Code = "topic-id-unresolved"
)
