package analysis

// oddityEntries explains unusual traffic that hides nothing.
var oddityEntries = []Entry{
	{
		Code: "fragment-overlap", Class: ClassOddity, Since: firstRelease,
		Title:   "IP fragments that overlap",
		Meaning: "Two fragments of one IP packet hold the same place. The first copy of each byte counts. Honest senders do not do this, except when a packet is captured twice.",
		Causes:  []string{"a fragmented packet captured twice", "traffic made to confuse"},
		Next:    []string{"the first frame in Wireshark"},
		Similar: []string{"fragment-lost: a fragment is missing"},
	},
	{
		Code: "tcp-late-data", Class: ClassOddity, Since: firstRelease,
		Title:   "Bytes that arrived after they had been given up as a gap",
		Meaning: "The bytes were missing for so long that reading went on without them. The gap that they leave is counted as tcp-gap; this says that they came after all.",
		Causes:  []string{"captures merged whose clocks disagree", "a retransmission after a long pause"},
		Next:    []string{"the clocks of the capturing hosts"},
		Similar: []string{"a retransmission of bytes that were read already: silent"},
	},
	{
		Code: "tcp-out-of-window", Class: ClassOddity, Since: firstRelease,
		Title:   "Segments or resets whose sequence number no receiver would take",
		Meaning: "The sequence number is too far from the stream to belong to it. The segment was ignored, as a receiver does.",
		Causes:  []string{"a late packet of an older connection on the same ports", "a forged reset", "a middlebox that renumbers one direction"},
		Next:    []string{"the first frame in Wireshark"},
		Similar: []string{"tcp-resync: the stream itself went on far away"},
	},
	{
		Code: "tcp-after-fin", Class: ClassOddity, Since: firstRelease,
		Title:   "Data after the sender's FIN, or a FIN before data that was seen",
		Meaning: "The end of the stream contradicts data that was captured. The data behind the end was ignored.",
		Causes:  []string{"a forged FIN", "a middlebox that ends connections in the name of one side"},
		Next:    []string{"the first frame in Wireshark"},
		Similar: []string{"a retransmission of the last data together with the FIN: silent"},
	},
	{
		Code: "tcp-after-close", Class: ClassOddity, Since: firstRelease,
		Title:   "Data after the end of a connection",
		Meaning: "Segments with new data came after the connection had ended, mostly what was in flight at a reset. No application has read it, so it is no send.",
		Causes:  []string{"a reset while data was on the way", "a host that vanished while its peer went on"},
		Next:    []string{"connection-lost events of findings on that connection"},
		Similar: []string{"tcp-after-fin: only one direction had ended"},
	},
	{
		Code: "tcp-connection-repeat", Class: ClassOddity, Since: firstRelease,
		Title:   "A connection that was seen again, packet for packet",
		Meaning: "A second capture point shows a connection that had ended in the first. It is one connection, and its requests are counted once.",
		Causes:  []string{"captures of both ends of a connection, given one after the other", "a mirror with a long delay"},
		Next:    []string{"nothing"},
		Similar: []string{"a new connection on the same ports: other sequence numbers"},
	},
	{
		Code: "torn-request", Class: ClassOddity, Since: firstRelease,
		Title:   "A connection ended before a request was whole",
		Meaning: "The length prefix announces more bytes than were sent before the connection ended. The broker never had the request; a batch in it was never appended there.",
		Causes:  []string{"a client that gave up while writing (timeout, shutdown)", "a lost connection"},
		Next:    []string{"whether the same batch came again on another connection, which is right"},
		Similar: []string{"messages-hidden: the rest was sent and is not in the capture"},
	},
	{
		Code: "batch-bad-crc", Class: ClassOddity, Since: firstRelease,
		Title:   "Batches with a wrong CRC",
		Meaning: "The CRC-32C in the batch header (CRC-32 for magic 0 and 1) does not fit the bytes. A broker answers such a batch with CORRUPT_MESSAGE (2). It is no evidence, and its records are not compared.",
		Causes:  []string{"a client or proxy that changes batches without computing the CRC again", "damaged bytes in the capture or on the way"},
		Next:    []string{"the broker's answer", "whether batches of other clients through the same proxy are right"},
		Similar: []string{"batch-cut-short: the CRC cannot be computed"},
	},
}
