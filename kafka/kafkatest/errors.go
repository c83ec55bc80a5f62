package kafkatest

// Error codes of the protocol that the stories need.
const (
	UnknownServerError         int16 = -1
	UnknownTopic               int16 = 3 // UNKNOWN_TOPIC_OR_PARTITION
	NotLeader                  int16 = 6 // NOT_LEADER_OR_FOLLOWER
	RequestTimedOut            int16 = 7
	MessageTooLarge            int16 = 10
	NotEnoughReplicas          int16 = 19 // before the append
	NotEnoughReplicasAfter     int16 = 20 // NOT_ENOUGH_REPLICAS_AFTER_APPEND
	UnsupportedVersion         int16 = 35
	OutOfOrderSequence         int16 = 45
	DuplicateSequence          int16 = 46
	InvalidProducerEpoch       int16 = 47
	InvalidTxnState            int16 = 48
	UnknownProducerID          int16 = 59
	InvalidRecord              int16 = 87
	UnknownTopicID             int16 = 100
	OffsetMovedToTieredStorage int16 = 109
)
