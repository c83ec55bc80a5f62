package analysis

// Error codes of the protocol that the rules of verdicts name (Kafka's Errors.java has all).
const (
	errMessageTooLarge        int16 = 10
	errNotEnoughReplicasAfter int16 = 20
	errDuplicateSequence      int16 = 46
)

// retriable are the errors of a Produce answer after which a client sends the batch again as it is: none of them makes it
// give up its epoch.
var retriable = map[int16]bool{
	2:   true, // CORRUPT_MESSAGE
	3:   true, // UNKNOWN_TOPIC_OR_PARTITION
	5:   true, // LEADER_NOT_AVAILABLE
	6:   true, // NOT_LEADER_OR_FOLLOWER
	7:   true, // REQUEST_TIMED_OUT
	8:   true, // BROKER_NOT_AVAILABLE
	9:   true, // REPLICA_NOT_AVAILABLE
	13:  true, // NETWORK_EXCEPTION
	14:  true, // COORDINATOR_LOAD_IN_PROGRESS
	15:  true, // COORDINATOR_NOT_AVAILABLE
	16:  true, // NOT_COORDINATOR
	19:  true, // NOT_ENOUGH_REPLICAS
	20:  true, // NOT_ENOUGH_REPLICAS_AFTER_APPEND
	46:  true, // DUPLICATE_SEQUENCE_NUMBER: taken for success
	51:  true, // CONCURRENT_TRANSACTIONS
	56:  true, // KAFKA_STORAGE_ERROR
	72:  true, // LISTENER_NOT_FOUND
	74:  true, // FENCED_LEADER_EPOCH
	75:  true, // UNKNOWN_LEADER_EPOCH
	78:  true, // OFFSET_NOT_AVAILABLE
	89:  true, // THROTTLING_QUOTA_EXCEEDED
	100: true, // UNKNOWN_TOPIC_ID
	103: true, // INCONSISTENT_TOPIC_ID
}
