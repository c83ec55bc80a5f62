// Package kafka reads the Kafka protocol from the byte streams of TCP connections.
//
// In come the events of package reassembly: bytes in order, and bytes that are missing. Out go Observations, flat facts
// without payload: a batch was sent, was answered, was fetched; a leader, a topic, a cluster, a client was named; a producer
// id was granted; a transaction ends; a connection was opened, was closed, has a gap. Whatever was odd or could not be read
// goes out as a pcap.Note, and Stats counts everything.
//
// # The way of a message
//
// A Decoder keeps one conn per connection. Until it is known what a connection carries, its first bytes wait (recognise.go);
// Kafka is known by its content, on any port and in either direction, with or without the beginning; believe.go and shape.go
// say what a request and an answer must prove. Each direction is cut into messages by length prefixes (framing.go). After
// bytes that hid a border, the next believable message is sought (resync.go). Requests and answers are paired by correlation id (pairing.go) and read by the file of their API; api.go has
// the table of all APIs. The four hot messages, Produce and Fetch, are walked in place (walk.go) and need not be whole; kmsg
// decodes the others. Records fields go to a BatchReader (batch_reader.go), which can be used alone.
//
// # Bytes, memory, goroutines
//
// Event.Data is borrowed for the call of Handle: a message that one event holds whole is read in place, others are copied
// into buffers that are used again. No observation holds bytes of the traffic, except Batch.Previews where asked for. Limits
// bounds all that grows; every bound hit is a note. A Decoder or a BatchReader is for one goroutine, and calls emit and note
// from within; different ones share nothing. An emitted observation is not changed again, and may be read anywhere.
//
// # Order
//
// The observations of one connection come in the order in which its messages are complete, with exceptions: an answer
// captured before its request comes right after it, with its own earlier frame; one whose request never comes waits until the
// client is read past it; and bytes that could not be understood at
// once, after a gap or a late start, are read when they can be. LinkOpened comes first, LinkClosed last. The batches
// of a message come in its order, BatchFetched directly behind their PartitionFetched.
//
// # What it does not do
//
// It judges nothing: whether a batch is a duplicate is for package analysis. It decrypts nothing: TLS is recognised and
// counted. SASL is followed but not looked into; credentials are in no observation and no note. It knows no packets and
// reads no files.
package kafka
