package evidence

// Keys of the APIs whose messages may be evidence (Kafka's message definitions).
const (
	apiProduce            int16 = 0
	apiFetch              int16 = 1
	apiListOffsets        int16 = 2
	apiMetadata           int16 = 3
	apiOffsetCommit       int16 = 8
	apiFindCoordinator    int16 = 10
	apiVersions           int16 = 18
	apiCreateTopics       int16 = 19
	apiDeleteTopics       int16 = 20
	apiInitProducerID     int16 = 22
	apiOffsetForEpoch     int16 = 23
	apiAddPartitionsToTxn int16 = 24
	apiEndTxn             int16 = 26
	apiWriteTxnMarkers    int16 = 27
	apiShareFetch         int16 = 78
)

// redactable are the APIs whose messages a redacted file may hold: those that findings can rest on. Of all others it is not
// known where they carry names or secrets. SASL is not among them.
var redactable = map[int16]bool{
	apiProduce: true, apiFetch: true, apiListOffsets: true, apiMetadata: true, apiOffsetCommit: true, apiFindCoordinator: true,
	apiVersions: true, apiCreateTopics: true, apiDeleteTopics: true, apiInitProducerID: true, apiOffsetForEpoch: true,
	apiAddPartitionsToTxn: true, apiEndTxn: true, apiWriteTxnMarkers: true, apiShareFetch: true,
}
