// Package cluster runs three Apache Kafka brokers of the lab's own (KRaft, each broker and controller) and moves their
// leaders about.
//
// Node i has the address 127.0.0.1i. Clients reach it through the proxy, at the port that it advertises:
//
//	9092   the proxy, which forwards to 19092
//	29092  administration and reading of the log, past the proxy
//	9093   replica fetches
//	9095   the controllers' quorum
//	9094   TLS, in front of 19094; 9096 TLS with SASL inside, in front of 19096. The brokers log the keys of these.
//
// Data is made anew at each Start. Only processes that this package started are signalled, by their id, and they die with
// the lab. A Cluster is for one goroutine.
package cluster
