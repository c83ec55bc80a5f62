package analysis

// firstRelease is the version in which the codes of the first release came.
const firstRelease = "0.1.0"

// findingEntries explains the causes of duplicates. The codes are those of Cause.
var findingEntries = []Entry{
	{
		Code: "epoch-bump", Class: ClassFinding, Since: firstRelease,
		Title: "Records were sent again under a new producer epoch",
		Meaning: `An idempotent producer sent records, did not learn that they had been appended, and raised its producer epoch. It then sent the same records again, under the new epoch, with sequences that start at 0.

A leader recognises a retry by producer id, current epoch, first and last sequence, among the last five batches of that producer on that partition. Under a new epoch it has nothing to compare with and appends. Both copies then stand in the log, with different CRCs, since the CRC covers producer epoch and sequence.

The event that forced the bump is often on another partition, connection or broker: librdkafka renumbers the unacknowledged batches of all partitions when one of them gets OUT_OF_ORDER_SEQUENCE_NUMBER (45), while the Java client rewrites only the partitions that failed.`,
		Causes: []string{
			"leadership moved while requests were in flight: one was appended and answered NOT_LEADER_OR_FOLLOWER (6) with its offset, which librdkafka takes as not persisted",
			"OUT_OF_ORDER_SEQUENCE_NUMBER (45) or UNKNOWN_PRODUCER_ID (59) on any partition of the producer",
			"a message expired (delivery.timeout.ms, message.timeout.ms) while it might have been stored",
			"a new leader without the producer's state, after a failover or a move of the partition",
		},
		Next: []string{
			"what forced the bump: which error, on which partition, in which frame (bump.trigger in the JSON report)",
			"the broker's log around that time: leader elections, ISR changes, producer state loaded or expired",
			"the client's version: how it treats 6 with an offset, and what it renumbers after 45",
			"consumers that must not see a record twice have to deduplicate by content; the broker cannot any more",
		},
		Similar: []string{
			"a transaction that ended: with transactions v2 (KIP-890) the epoch rises each time, and no record is sent again",
			"a fresh start of the process: InitProducerId raises the epoch, and nothing unacknowledged comes again",
			"a first copy that the next leader truncated: the OK for the second copy gives the same offset, or the offset later holds other content",
		},
		Example: "Producer 7078 sent sequence 2704–2705 in epoch 0; the answer was error 6 with offset 71229. After a leader change the same two records came under epoch 1, sequence 0–1, and stand at 71231–71232 as well.",
	},
	{
		Code: "new-producer-id", Class: ClassFinding, Since: firstRelease,
		Title: "Records were sent again under another producer id",
		Meaning: `The client gave up its producer id, got another one from InitProducerId, and sent unacknowledged records again under it. To a broker the new id is another producer: its batches are appended.

The two ids are known to be one client by its address and client id, and where one is seen, by the InitProducerId exchange between them.`,
		Causes: []string{
			"a fatal error of the old id, answered by asking for a new one (older clients do so after 45)",
			"epoch 32767 reached: it cannot be raised, so a new id follows",
			"a process that restarted and kept its unsent records (a spool, a mirror with checkpoints)",
		},
		Next: []string{
			"the InitProducerId exchange and the error before it",
			"whether the application gives a transactional.id: with one, the id survives a restart and the old epoch is fenced",
			"client version: newer ones raise the epoch instead of asking for a new id",
		},
		Similar: []string{
			"two producers that write equal records on purpose: other addresses or client ids, first copies acknowledged",
			"a restart that only starts anew: nothing unacknowledged comes again",
		},
		Example: "45 on another partition made an older client ask for a new id. Its batch at 210–211, answered REQUEST_TIMED_OUT (7) with that offset, came again under the new id and stands at 212–213 too.",
	},
	{
		Code: "blind-retry", Class: ClassFinding, Since: firstRelease,
		Title: "A producer without a producer id sent a batch again",
		Meaning: `The producer is not idempotent: its batches carry producer id -1 (or are of the old formats, magic 0 and 1, which have none). It sent a batch, got an error or no answer although the leader had appended it, and sent it again. Nothing in the batch lets a broker recognise the retry.

The second copy usually has the CRC of the first. librdkafka may merge retried records with newer ones, and then it has not.`,
		Causes: []string{
			"NOT_ENOUGH_REPLICAS_AFTER_APPEND (20): appended, then too few in-sync replicas",
			"REQUEST_TIMED_OUT (7): appended, the followers did not confirm in time",
			"NOT_LEADER_OR_FOLLOWER (6) with an offset: appended, then leadership moved",
			"the connection ended, or request.timeout.ms passed, between append and answer",
			"a client that repeats a whole send to all brokers when one of them fails",
		},
		Next: []string{
			"enable.idempotence on the producer; it needs acks=all and at most 5 requests in flight",
			"why the answer failed: ISR shrinks, broker restarts, request timeouts shorter than the broker's",
		},
		Similar: []string{
			"retries after an error without an offset: the first send was not appended",
			"the same packet recorded twice (mirror port, -i any) or retransmitted by TCP: one request with one correlation id at one TCP sequence number",
			"equal records that the application writes on purpose, after an OK: counted as application-repeats",
		},
		Example: "sensor-raw/1 answered error 20 with offset 55; the two records came again and were answered OK at 57. Both copies are committed.",
	},
	{
		Code: "broker-dedup-failure", Class: ClassFinding, Since: firstRelease,
		Title: "A broker stored the same batch twice",
		Meaning: `The same batch, with the same producer id, epoch, sequences and CRC, stands at two offsets of one partition. The producer did what idempotence asks for; the leader should have recognised the retry and answered with the first offset.

A leader knows the last five batches of a producer on a partition. What it does not know any more, or never loaded, it cannot recognise: for a producer id that is unknown to it, any sequence is a valid start.`,
		Causes: []string{
			"the producer's state expired (producer.id.expiration.ms) between send and retry",
			"a new leader whose producer state was not restored: failover, partition move, restored snapshot",
			"a fault in a broker that implements the protocol in its own way",
		},
		Next: []string{
			"the time between the sends against producer.id.expiration.ms",
			"the broker's log: leader changes, loading of producer snapshots, expired producers",
			"broker version and its known faults of producer state",
		},
		Similar: []string{
			"error 6 with an offset and then OK at another one: the first copy may have been truncated and appended anew, so both places must be confirmed",
			"a recognised retry: OK with the first copy's offset, counted as deduplicated",
			"one offset fetched twice",
		},
		Example: "A partition moved to a broker that had not restored its producer state; the byte-equal retry was appended at 114233 besides 114231.",
	},
	{
		Code: "misrouted-batch", Class: ClassFinding, Since: firstRelease,
		Title: "A batch was also written to a topic or partition it does not belong to",
		Meaning: `The same batch bytes were sent under two topics or partitions. By the sequences of its neighbours the batch belongs to one of them and not to the other.

The CRC of a batch covers neither topic nor partition, and a broker checks nothing else of where a batch belongs, so it stores the batch where the request names it. The stray copy is foreign data to the readers of that topic.`,
		Causes: []string{
			"a client that reuses a buffer while a request is still being written, after a batch expired or a connection was lost",
			"a proxy or a library that builds Produce requests from parts",
		},
		Next: []string{
			"what happened to the client just before: expired batches, lost connections",
			"client version and its known faults of buffer reuse",
			"the readers of the other topic: they may fail to decode the stray records",
		},
		Similar: []string{
			"an application that writes the same records to several topics or partitions in lockstep: they repeat on the same pair",
			"a mirror between topics: other producer ids or sequences",
			"a capture that lacks the neighbours: a missing neighbour proves nothing",
		},
		Example: "A request for audit-log/1 carried the batch of page-views/4 with sequence 1200, which does not continue audit-log/1 and does continue page-views/4.",
	},
	{
		Code: "application-resend", Class: ClassFinding, Since: firstRelease,
		Title: "The application sent records again whose first attempt was stored",
		Meaning: `A first attempt failed visibly, or had been unanswered for a while, and the application (or a layer above the client) produced the same key, value and headers again. The second attempt has fresh sequences, often a new timestamp, and may come from another producer of the same host. For the broker, and for the client library, these are new records.

Only content that occurs nowhere else in the partition is judged in this way.`,
		Causes: []string{
			"a retry loop of the application around produce or flush, after a timeout or a delivery error",
			"a record that was cancelled while its request was on the way",
			"a timeout in the application that is shorter than delivery.timeout.ms",
			"a client without producer ids that dates records when it encodes them, so that its own retry has other timestamps",
		},
		Next: []string{
			"the application's retry code: after a delivery error it cannot know whether the record was stored",
			"delivery.timeout.ms and request.timeout.ms against the application's own timeouts",
			"why the first attempt took long: the timeline names the error or the silence",
		},
		Similar: []string{
			"equal records on purpose, each after an OK: counted as application-repeats",
			"equal records within the time that answers usually take: taken as on purpose",
			"heartbeats and constant payloads: the content is not distinctive",
		},
		Example: "A caller cancelled a record whose request was on the wire and produced it again; both stand in orders/2, at 1001 and 1002.",
	},
	{
		Code: "unknown", Class: ClassFinding, Since: firstRelease,
		Title: "Two copies are shown, and nothing shows why",
		Meaning: `Equal records, with equal timestamps, stand at two offsets of one partition, and the capture does not show the sends that would tell how that came about. That is usual for captures made at a consumer or follower.

The copies are stated, no cause is guessed.`,
		Causes: []string{
			"a capture on the reading side only",
			"a mirror or replay tool that copied a range twice and kept the timestamps",
		},
		Next: []string{
			"a capture at the producer or at the broker's client listener",
			"which producer ids the copies carry, and whether a mirror wrote them",
		},
		Similar: []string{
			"content that occurs more than twice in the partition: nothing is said about it",
			"fresh sequences in one epoch: the producer wrote two records",
		},
		Example: "A reader fetched dc1.accounts/2; records 77–78 and 80–81 are equal, under two producer ids.",
	},
}
