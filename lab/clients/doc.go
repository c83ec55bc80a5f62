// Package clients runs the producers of the lab, each in a process of its own, and reads topics through the proxy.
//
// Every producer takes the same words key=value:
//
//	brokers, topic, client-id
//	partitions   number of partitions; each round sends one record to each
//	count        number of rounds
//	pause        ms between two rounds
//	timeout      ms that a request may take
//	acks         all, 1 or 0
//	codec        none, gzip, snappy, lz4 or zstd
//	idempotent   true or false
//	transaction  rounds in one transaction, 0 without transactions; every fourth transaction is aborted and sent again
//	x.NAME       an option of the library's own
//
// Round i sends key k(i mod 7) and value pN-i to partition N, so that a value stands twice in a partition's log only if it
// was written twice. The last line of output says how many records were acknowledged and how many failed.
package clients
