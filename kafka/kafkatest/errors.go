package kafkatest

// Error codes of the protocol that the stories need.
const (
	UnknownServerError          int16 = -1
	OffsetOutOfRange            int16 = 1
	UnknownTopicOrPartition     int16 = 3
	NotLeader                   int16 = 6 // NOT_LEADER_OR_FOLLOWER
	RequestTimedOut             int16 = 7
	MessageTooLarge             int16 = 10
	NotEnoughReplicas           int16 = 19 // before the append
	NotEnoughReplicasAfter      int16 = 20 // NOT_ENOUGH_REPLICAS_AFTER_APPEND
	UnsupportedVersion          int16 = 35
	OutOfOrderSequence          int16 = 45
	DuplicateSequence           int16 = 46
	InvalidProducerEpoch        int16 = 47
	UnknownProducerID           int16 = 59
	FencedLeaderEpoch           int16 = 74
	ConcurrentTransactions      int16 = 51
	TransactionAbortableFailure int16 = 120
)
