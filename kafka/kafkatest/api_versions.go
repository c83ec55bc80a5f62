package kafkatest

import "github.com/twmb/franz-go/pkg/kmsg"

// Negotiating is an ApiVersions request that has been sent.
type Negotiating struct{ Pending }

// APIVersions names the client's software (KIP-511, version 3 and later; before, it names nothing).
func (c *Conn) APIVersions(version int16, software, softwareVersion string) *Negotiating {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version = version
	req.ClientSoftwareName, req.ClientSoftwareVersion = software, softwareVersion
	return &Negotiating{*c.Request(req)}
}

// brokerAPIs are the APIs that brokers of a scenario say they know.
var brokerAPIs = []kmsg.Request{
	kmsg.NewPtrProduceRequest(), kmsg.NewPtrFetchRequest(), kmsg.NewPtrListOffsetsRequest(), kmsg.NewPtrMetadataRequest(),
	kmsg.NewPtrOffsetCommitRequest(), kmsg.NewPtrApiVersionsRequest(), kmsg.NewPtrInitProducerIDRequest(),
	kmsg.NewPtrOffsetForLeaderEpochRequest(), kmsg.NewPtrEndTxnRequest(),
}

// Answer lists the APIs that the broker knows.
func (n *Negotiating) Answer() { n.Respond(apiVersions(0)) }

// AnswerUnsupported is the answer of a broker that does not know the version of the request: error 35 in version 0.
func (n *Negotiating) AnswerUnsupported() {
	resp := apiVersions(UnsupportedVersion)
	n.version = 0
	n.Respond(resp)
}

func apiVersions(code int16) *kmsg.ApiVersionsResponse {
	resp := kmsg.NewPtrApiVersionsResponse()
	resp.ErrorCode = code
	for _, api := range brokerAPIs {
		key := kmsg.NewApiVersionsResponseApiKey()
		key.ApiKey, key.MaxVersion = api.Key(), api.MaxVersion()
		resp.ApiKeys = append(resp.ApiKeys, key)
	}
	return resp
}
