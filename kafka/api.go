package kafka

// The APIs whose messages are decoded.
const (
	keyProduce              int16 = 0
	keyFetch                int16 = 1
	keyListOffsets          int16 = 2
	keyMetadata             int16 = 3
	keyControlledShutdown   int16 = 7
	keyOffsetCommit         int16 = 8
	keyFindCoordinator      int16 = 10
	keySaslHandshake        int16 = 17
	keyAPIVersions          int16 = 18
	keyCreateTopics         int16 = 19
	keyDeleteTopics         int16 = 20
	keyInitProducerID       int16 = 22
	keyOffsetForLeaderEpoch int16 = 23
	keyAddPartitionsToTxn   int16 = 24
	keyEndTxn               int16 = 26
	keyWriteTxnMarkers      int16 = 27
	keyShareFetch           int16 = 78
)

// never marks an API without flexible versions (KIP-482).
const never int16 = 1<<15 - 1

// apiInfo describes one API: its name in Kafka's message definitions, the newest version known, and the first flexible
// one. All versions from 0 to newest are decoded where decodesRequest or decodesAnswer says that the API is.
type apiInfo struct {
	name     string
	newest   int16
	flexible int16
}

// apis is indexed by API key.
var apis = [...]apiInfo{
	{"Produce", 13, 9},
	{"Fetch", 18, 12},
	{"ListOffsets", 11, 6},
	{"Metadata", 13, 9},
	{"LeaderAndIsr", 7, 4},
	{"StopReplica", 4, 2},
	{"UpdateMetadata", 8, 6},
	{"ControlledShutdown", 3, 3},
	{"OffsetCommit", 10, 8},
	{"OffsetFetch", 10, 6},
	{"FindCoordinator", 6, 3},
	{"JoinGroup", 9, 6},
	{"Heartbeat", 4, 4},
	{"LeaveGroup", 5, 4},
	{"SyncGroup", 5, 4},
	{"DescribeGroups", 6, 5},
	{"ListGroups", 5, 3},
	{"SaslHandshake", 1, never},
	{"ApiVersions", 5, 3},
	{"CreateTopics", 7, 5},
	{"DeleteTopics", 6, 4},
	{"DeleteRecords", 2, 2},
	{"InitProducerId", 5, 2},
	{"OffsetForLeaderEpoch", 4, 4},
	{"AddPartitionsToTxn", 5, 3},
	{"AddOffsetsToTxn", 4, 3},
	{"EndTxn", 5, 3},
	{"WriteTxnMarkers", 2, 1},
	{"TxnOffsetCommit", 6, 3},
	{"DescribeAcls", 3, 2},
	{"CreateAcls", 3, 2},
	{"DeleteAcls", 3, 2},
	{"DescribeConfigs", 4, 4},
	{"AlterConfigs", 2, 2},
	{"AlterReplicaLogDirs", 2, 2},
	{"DescribeLogDirs", 5, 2},
	{"SaslAuthenticate", 2, 2},
	{"CreatePartitions", 3, 2},
	{"CreateDelegationToken", 3, 2},
	{"RenewDelegationToken", 2, 2},
	{"ExpireDelegationToken", 2, 2},
	{"DescribeDelegationToken", 3, 2},
	{"DeleteGroups", 3, 2},
	{"ElectLeaders", 2, 2},
	{"IncrementalAlterConfigs", 1, 1},
	{"AlterPartitionReassignments", 1, 0},
	{"ListPartitionReassignments", 0, 0},
	{"OffsetDelete", 0, never},
	{"DescribeClientQuotas", 1, 1},
	{"AlterClientQuotas", 1, 1},
	{"DescribeUserScramCredentials", 0, 0},
	{"AlterUserScramCredentials", 0, 0},
	{"Vote", 2, 0},
	{"BeginQuorumEpoch", 1, 1},
	{"EndQuorumEpoch", 1, 1},
	{"DescribeQuorum", 2, 0},
	{"AlterPartition", 3, 0},
	{"UpdateFeatures", 2, 0},
	{"Envelope", 0, 0},
	{"FetchSnapshot", 1, 0},
	{"DescribeCluster", 2, 0},
	{"DescribeProducers", 0, 0},
	{"BrokerRegistration", 4, 0},
	{"BrokerHeartbeat", 2, 0},
	{"UnregisterBroker", 0, 0},
	{"DescribeTransactions", 0, 0},
	{"ListTransactions", 2, 0},
	{"AllocateProducerIds", 0, 0},
	{"ConsumerGroupHeartbeat", 1, 0},
	{"ConsumerGroupDescribe", 1, 0},
	{"ControllerRegistration", 0, 0},
	{"GetTelemetrySubscriptions", 0, 0},
	{"PushTelemetry", 0, 0},
	{"AssignReplicasToDirs", 0, 0},
	{"ListConfigResources", 1, 0},
	{"DescribeTopicPartitions", 0, 0},
	{"ShareGroupHeartbeat", 1, 0},
	{"ShareGroupDescribe", 1, 0},
	{"ShareFetch", 2, 0},
	{"ShareAcknowledge", 2, 0},
	{"AddRaftVoter", 1, 0},
	{"RemoveRaftVoter", 0, 0},
	{"UpdateRaftVoter", 0, 0},
	{"InitializeShareGroupState", 0, 0},
	{"ReadShareGroupState", 0, 0},
	{"WriteShareGroupState", 1, 0},
	{"DeleteShareGroupState", 0, 0},
	{"ReadShareGroupStateSummary", 1, 0},
	{"StreamsGroupHeartbeat", 1, 0},
	{"StreamsGroupDescribe", 1, 0},
	{"DescribeShareGroupOffsets", 1, 0},
	{"AlterShareGroupOffsets", 0, 0},
	{"DeleteShareGroupOffsets", 0, 0},
	{"StreamsGroupTopologyDescriptionUpdate", 0, 0},
	{"UnregisterController", 0, 0},
}

// APIName returns the name of an API as Kafka's message definitions have it, or "" for a key that is not known.
func APIName(key int16) string {
	if !knownAPI(key) {
		return ""
	}
	return apis[key].name
}

func knownAPI(key int16) bool { return key >= 0 && int(key) < len(apis) }

// knownVersion reports whether the layout of a version is known.
func knownVersion(key, version int16) bool {
	return knownAPI(key) && version >= 0 && version <= apis[key].newest
}

// flexible reports whether a version has compact lengths and tagged fields.
func flexible(key, version int16) bool { return knownAPI(key) && version >= apis[key].flexible }

// decodesRequest and decodesAnswer say which messages readRequest and readAnswer read. Bodies of all other APIs are
// counted only; those of SASL are never looked at.
func decodesRequest(key int16) bool {
	switch key {
	case keyProduce, keyFetch, keyListOffsets, keyOffsetCommit, keyAPIVersions, keyInitProducerID,
		keyOffsetForLeaderEpoch, keyAddPartitionsToTxn, keyEndTxn, keyWriteTxnMarkers:
		return true
	}
	return false
}

func decodesAnswer(key int16) bool {
	switch key {
	case keyProduce, keyFetch, keyListOffsets, keyMetadata, keyFindCoordinator, keyAPIVersions, keyCreateTopics,
		keyDeleteTopics, keyInitProducerID, keyOffsetForLeaderEpoch, keyEndTxn, keyShareFetch:
		return true
	}
	return false
}

// reading says how much of a body could be read.
type reading uint8

const (
	unread reading = iota
	partly         // some partitions of it
	fully
)

// readIf returns fully or unread.
func readIf(ok bool) reading {
	if ok {
		return fully
	}
	return unread
}

// readRequest decodes the body of a request, emits what it says, and leaves in p what its answer has to be read with.
func (c *conn) readRequest(m *message, p *pending) reading {
	switch p.APIKey {
	case keyProduce:
		return c.readProduceRequest(m, p)
	case keyFetch:
		return c.readFetchRequest(m, p)
	case keyListOffsets:
		return c.readListOffsetsRequest(m, p)
	case keyOffsetCommit:
		return c.readOffsetCommitRequest(m, p)
	case keyAPIVersions:
		return c.readAPIVersionsRequest(m, p)
	case keyInitProducerID:
		return c.readInitProducerIDRequest(m, p)
	case keyOffsetForLeaderEpoch:
		return c.readOffsetForLeaderEpochRequest(m, p)
	case keyAddPartitionsToTxn:
		return c.readAddPartitionsToTxnRequest(m, p)
	case keyEndTxn:
		return c.readEndTxnRequest(m, p)
	case keyWriteTxnMarkers:
		return c.readWriteTxnMarkersRequest(m, p)
	}
	return unread
}

// readAnswer decodes the body of the answer to p and emits what it says.
func (c *conn) readAnswer(m *message, p *pending) reading {
	switch p.APIKey {
	case keyProduce:
		return c.readProduceAnswer(m, p)
	case keyFetch:
		return c.readFetchAnswer(m, p)
	case keyListOffsets:
		return c.readListOffsetsAnswer(m, p)
	case keyMetadata:
		return c.readMetadataAnswer(m, p)
	case keyFindCoordinator:
		return c.readFindCoordinatorAnswer(m, p)
	case keyAPIVersions:
		return c.readAPIVersionsAnswer(m, p)
	case keyCreateTopics:
		return c.readCreateTopicsAnswer(m, p)
	case keyDeleteTopics:
		return c.readDeleteTopicsAnswer(m, p)
	case keyInitProducerID:
		return c.readInitProducerIDAnswer(m, p)
	case keyOffsetForLeaderEpoch:
		return c.readOffsetForLeaderEpochAnswer(m, p)
	case keyEndTxn:
		return c.readEndTxnAnswer(m, p)
	case keyShareFetch:
		return c.readShareFetchAnswer(m, p)
	}
	return unread
}
