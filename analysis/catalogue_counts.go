package analysis

// countEntries explains the counts of a report: events that are no findings.
var countEntries = []Entry{
	{
		Code: "appended", Class: ClassCount, Since: firstRelease,
		Title:   "Batches answered OK that were new to the broker",
		Meaning: "The Produce answer carries no error and an offset that belongs to no earlier batch: the leader appended the batch.",
		Causes:  []string{"normal traffic"},
		Next:    []string{"nothing; the figure says how much the verdict rests on"},
		Similar: []string{"an OK with the offset of an earlier batch of the same identity: counted as deduplicated"},
		Example: "Produce 31, answered with error 0 and base offset 1204, where the batch before ended at 1203.",
	},
	{
		Code: "deduplicated", Class: ClassCount, Since: firstRelease,
		Title: "Retries that a broker recognised and did not store again",
		Meaning: `The producer sent a batch again under the same producer id, epoch and sequences, and the leader answered OK with the offset of the first append. It also sets log_append_time on topics with CreateTime, which a normal append does not. Idempotence did its work.

DUPLICATE_SEQUENCE_NUMBER (46) is counted here too; current brokers do not send it, and it does not prove that the batch is stored.`,
		Causes:  []string{"a lost or late answer, a leader change, a short request timeout"},
		Next:    []string{"many of them: look at latency, timeouts and leader changes"},
		Similar: []string{"other records under the same sequences are answered in the same way and are lost: the leader compares neither payload nor CRC"},
		Example: "The answer to Produce 40 was lost with the connection. The same batch under correlation id 43 was answered OK with offset 812, where the first send had put it.",
	},
	{
		Code: "rejected", Class: ClassCount, Since: firstRelease,
		Title:   "Batches answered with an error and without an offset",
		Meaning: "The error was raised before the append, so this send left no copy on that broker. Sending the batch again is right.",
		Causes:  []string{"NOT_LEADER_OR_FOLLOWER (6) while leadership moves", "NOT_ENOUGH_REPLICAS (19)", "MESSAGE_TOO_LARGE (10), before the client splits the batch", "OUT_OF_ORDER_SEQUENCE_NUMBER (45)"},
		Next:    []string{"the timeline of findings on the same producer: 45 and 59 are what raises epochs"},
		Similar: []string{"errors 6, 7 and 20 with an offset: the batch was appended before the wait for the followers failed", "REQUEST_TIMED_OUT (7) without an offset, from a broker that never gives one: the batch may be stored all the same"},
		Example: "While brokers paused and leaders moved, 40 batches were answered NOT_LEADER_OR_FOLLOWER (6) without an offset; each of them came again to the new leader.",
	},
	{
		Code: "unacknowledged", Class: ClassCount, Since: firstRelease,
		Title:   "Batches of unknown fate that did not come again",
		Meaning: "No answer was seen when the capture ended, and no later copy. The batch may or may not be stored. Batches with acks=0 are not counted: no answer is normal for them.",
		Causes:  []string{"the capture ended while requests were in flight", "a lost connection whose retry is not in this capture", "an expired batch that the client gave up"},
		Next:    []string{"a longer capture, or a consumer's view of the same offsets"},
		Similar: []string{"a request that was cut off by its connection's end: the broker never had it"},
		Example: "The capture was stopped 4 ms after a Produce request, and the answer came too late for it.",
	},
	{
		Code: "application-repeats", Class: ClassCount, Since: firstRelease,
		Title:   "Records that the application wrote again after an OK",
		Meaning: "Key, value, headers and timestamp are equal and distinctive, and the client had seen the OK for the first one before it sent the second. Neither client nor broker repeated anything: the application produced the record twice.",
		Causes:  []string{"an upstream that delivers twice (at-least-once input, replays)", "two threads or instances that process the same input"},
		Next:    []string{"the application and its input; no setting of the producer prevents it", "the partitions that the report names"},
		Similar: []string{"a first attempt that failed visibly: that is application-resend, a finding"},
		Example: "A transaction was aborted and its two records were produced again in the next one: readers with read_committed see them once.",
	},
	{
		Code: "epoch-bumps", Class: ClassCount, Since: firstRelease,
		Title:   "Rises of a producer's epoch that no transaction or start explains",
		Meaning: "A producer id was seen to go on with a higher epoch, other than at the end of a transaction or by InitProducerId at a start. A bump is what a client does after an error that leaves sequences in doubt; by itself it duplicates nothing.",
		Causes:  []string{"OUT_OF_ORDER_SEQUENCE_NUMBER (45), UNKNOWN_PRODUCER_ID (59)", "expired batches that might have been stored"},
		Next:    []string{"what the producer sent unacknowledged before the bump, and whether it came again"},
		Similar: []string{"two epochs of one Java producer in use at once: it rewrites only the partitions that failed, which is no fault", "transactions v2: the epoch rises at each end"},
		Example: "Producer 1007 answered OUT_OF_ORDER_SEQUENCE_NUMBER (45) with epoch 1 instead of 0, without asking a broker.",
	},
	{
		Code: "leader-changes", Class: ClassCount, Since: firstRelease,
		Title:   "Partitions whose leader was seen to change",
		Meaning: "A Metadata answer, a Produce or Fetch answer, or the leader epoch of fetched batches names a later leader than before. Most duplicates begin with a leader change.",
		Causes:  []string{"restart or failure of a broker, controlled shutdown", "preferred leader election, reassignment", "long pauses of a broker (garbage collection, disk)"},
		Next:    []string{"the controller's and brokers' logs at that time"},
		Similar: []string{"a leader epoch that rises while the leader stays: a re-election of the same broker"},
		Example: "An answer of NOT_LEADER_OR_FOLLOWER (6) named broker 1 with leader epoch 4, where broker 3 had led with epoch 3.",
	},
}
