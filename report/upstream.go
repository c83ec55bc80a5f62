package report

import (
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
)

// upstream is a public report or change whose subject is a cause of duplicates.
type upstream struct {
	cause   analysis.Cause
	clients []string // prefixes of the software it is about; nil for any
	where   string   // owner/repository#number
	url     string
	about   string // one line
}

// librdkafka and the clients that are built on it name themselves in ApiVersions so.
var librdkafka = []string{"librdkafka", "confluent-kafka", "rdkafka"}

var javaClient = []string{"apache-kafka-java"}

// upstreams is a choice, not a list of all: reports that a maintainer will want to compare with.
var upstreams = []upstream{
	{analysis.EpochBump, librdkafka, "confluentinc/librdkafka#4953", "https://github.com/confluentinc/librdkafka/issues/4953",
		"an idempotent producer duplicates records around leader changes: error 45 on one partition raises the epoch for all"},
	{analysis.EpochBump, librdkafka, "confluentinc/librdkafka#4972", "https://github.com/confluentinc/librdkafka/pull/4972",
		"proposed change for #4953: after 45 for a batch that is not the first in flight, send again instead of raising the epoch"},
	{analysis.EpochBump, nil, "redpanda-data/redpanda#3039", "https://github.com/redpanda-data/redpanda/issues/3039",
		"a broker that answers a retry with 45, where it should recognise it, makes clients raise the epoch and write twice; closed"},
	{analysis.NewProducerID, javaClient, "apache/kafka#7389", "https://github.com/apache/kafka/pull/7389",
		"KAFKA-8805 (KIP-360): the Java producer raises its epoch after recoverable errors; merged"},
	{analysis.NewProducerID, javaClient, "apache/kafka#6883", "https://github.com/apache/kafka/pull/6883",
		"KAFKA-8483, KAFKA-8484: how the Java producer renumbers batches in flight when its producer id is reset; merged"},
	{analysis.BlindRetry, []string{"sarama"}, "IBM/sarama#1965", "https://github.com/IBM/sarama/issues/1965",
		"records twice after brokers were restarted; the answer there: at-least-once retries, so enable idempotence; closed"},
	{analysis.BrokerDedupFailure, nil, "AutoMQ/automq#437", "https://github.com/AutoMQ/automq/issues/437",
		"a system test that reassigns partitions found records of an idempotent producer twice; closed"},
	{analysis.BrokerDedupFailure, nil, "redpanda-data/redpanda#3077", "https://github.com/redpanda-data/redpanda/pull/3077",
		"the broker learns to recognise retries among the last five batches; merged"},
	{analysis.MisroutedBatch, javaClient, "apache/kafka#21065", "https://github.com/apache/kafka/pull/21065",
		"KAFKA-19012: the Java producer could free a buffer that was still being sent, so that other data went out; merged"},
	{analysis.ApplicationResend, nil, "twmb/franz-go#930", "https://github.com/twmb/franz-go/issues/930",
		"why a client cannot know the fate of a record whose request got no answer; closed"},
	{analysis.ApplicationResend, nil, "confluentinc/parallel-consumer#120", "https://github.com/confluentinc/parallel-consumer/issues/120",
		"a send timeout of the application, shorter than the producer's, leads to records being written twice; closed"},
}

// knownReports returns the upstream reports of a cause that can concern a client; every client where none is known.
func knownReports(cause analysis.Cause, software string) []upstream {
	var out []upstream
	for _, u := range upstreams {
		concerns := u.clients == nil || software == "" ||
			slices.ContainsFunc(u.clients, func(prefix string) bool { return strings.HasPrefix(strings.ToLower(software), prefix) })
		if u.cause == cause && concerns {
			out = append(out, u)
		}
	}
	return out
}
