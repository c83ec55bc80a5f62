// Package kafkatest tells Kafka conversations as captures, for the tests of every layer.
//
// In: a story, told call by call on one clock: connections, requests, answers, resets. Out: frames, or a pcap or pcapng file
// that holds them. A dozen lines make an incident:
//
//	s := kafkatest.NewScenario(start)
//	c := s.Connect("client-a", 1)
//	batch := kafkatest.Batch{Topic: "orders", ProducerID: 7, Sequence: 40, Records: s.Records("a", "b")}
//	p := c.Produce(9, -1, batch)
//	s.Advance(20 * time.Millisecond)
//	p.Answer(kafkatest.AppendedBut(kafkatest.NotLeader, 71229))
//	c.Produce(9, -1, batch.As(7, 1, 0)).Answer(kafkatest.OK(71231))
//	capture := s.Pcap()
//
// The package is an encoder of its own: it shares no code with the decoders it tests. Messages are written by kmsg, record
// batches and old message sets are built here (KIP-98, KIP-32), packets by pcaptest.
//
// Everything is deterministic: no wall clock, no randomness but for seeds that the caller gives. The same story is the same
// bytes. A Scenario and all that belongs to it is for one goroutine; byte slices that it returns belong to the caller.
//
// Brokers do not think here: a story says what each of them answers. Nothing checks that the story is possible, so that the
// impossible can be told too. Scenarios lists stories that are possible, each with its truth; the degradations of degrade.go
// spoil frames as captures are spoiled in the field.
package kafkatest
