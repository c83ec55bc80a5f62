package analysis

// doubtEntries explains what weakens or limits a single finding.
var doubtEntries = []Entry{
	{
		Code: "answer-may-be-hidden", Class: ClassDoubt, Since: firstRelease,
		Title:   "An answer to the first copy may lie in a gap of the capture",
		Meaning: "The first copy counts as not acknowledged, since no answer was seen. Bytes of the broker's stream are missing in that time, and an answer may have been among them. If it was an OK that the client had read, the second copy is the application's own.",
		Causes:  []string{"packets dropped while capturing", "a late start of the connection"},
		Next:    []string{"tcp-gap and packets-dropped in the coverage", "the client's log around the first send"},
		Similar: []string{"an answer that was never sent: the stream is whole and lacks it"},
	},
	{
		Code: "content-not-compared", Class: ClassDoubt, Since: firstRelease,
		Title:   "The records of a copy could not be compared",
		Meaning: "The capture lacks bytes of the batch, or they do not decode. The copies are held together by what the batch headers say: producer id, epoch, sequence, CRC, number of records.",
		Causes:  []string{"a small snapshot length", "a gap inside the batch"},
		Next:    []string{"read both offsets from the topic and compare"},
		Similar: []string{"batches with equal CRC: the content is equal"},
	},
	{
		Code: "trigger-not-seen", Class: ClassDoubt, Since: firstRelease,
		Title:   "What forced the epoch bump is not in the capture",
		Meaning: "The producer raised its epoch or took another id, and no event in the capture forces that. The bump and both copies are seen; what set it off is not.",
		Causes:  []string{"an error on another partition, connection or broker that the capture does not cover", "a message that expired inside the client: nothing of that is on the wire"},
		Next:    []string{"the client's log around the bump (librdkafka: debug=eos,msg)", "a capture of all connections of the client"},
		Similar: []string{"a bump by InitProducerId at a start: nothing is sent again"},
	},
	{
		Code: "first-copy-may-be-truncated", Class: ClassDoubt, Since: firstRelease,
		Title:   "The first copy was appended, and may have been truncated by the next leader",
		Meaning: "An answer with an error and an offset says that the leader of that time had appended the batch. Unless the high watermark had reached it, the next leader may not have it, and then it is gone. Nothing in the capture shows which.",
		Causes:  []string{"a leader change before the followers had copied the batch"},
		Next:    []string{"read the offset from the topic: the record is there, or another one is", "a capture with a consumer's or follower's Fetch of these offsets"},
		Similar: []string{"error 20 with an offset: committed", "an OK for the second copy at the same offset: the first was truncated, and there is no finding"},
	},
	{
		Code: "first-copy-fate-unknown", Class: ClassDoubt, Since: firstRelease,
		Title:   "Whether the first copy was appended was not seen",
		Meaning: "No answer with an offset, no Fetch and no gap between known offsets shows the first copy. It was sent, and it may have been appended; the later copy is under an identity by which the broker could not recognise it.",
		Causes:  []string{"a lost connection, or an answer that never came", "a refusal without an offset after an earlier send that is not in the capture"},
		Next:    []string{"read the partition around the later copy's offset and look for equal records before it", "a capture with a consumer's or follower's Fetch"},
		Similar: []string{"first-copy-may-be-truncated: it was appended, and may be gone"},
	},
	{
		Code: "earlier-send-may-be-hidden", Class: ClassDoubt, Since: firstRelease,
		Title:   "Earlier sends of the first copy may not be in the capture",
		Meaning: "The capture does not show the producer's stream without a hole up to the first copy. An earlier send of the same batch, to another broker perhaps, may have been appended, although every send that was seen was refused.",
		Causes:  []string{"a late start", "a gap in the client's stream", "a capture at one of several brokers"},
		Next:    []string{"a capture at the client, or at all brokers, from before the fault"},
		Similar: []string{"a batch whose every send is seen and refused: no finding"},
	},
	{
		Code: "offsets-by-gap", Class: ClassDoubt, Since: firstRelease,
		Title:   "The first copy's offsets are inferred from a gap between known ones",
		Meaning: "No answer and no Fetch gives the offset of the first copy. The offsets known around it leave exactly as many places as it has records, and nothing else is known to fill them.",
		Causes:  []string{"an answer that was lost with its connection"},
		Next:    []string{"read these offsets from the topic"},
		Similar: []string{"control records (transaction markers) also take offsets: those seen were taken out"},
	},
}
