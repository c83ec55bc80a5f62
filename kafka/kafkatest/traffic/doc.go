// Package traffic writes captures of Kafka traffic of any size, for measurements and for long tests.
//
// In: a Config, by hand or from Presets. Out: a pcap file, written as it is made, and at the end its truth: the records that
// stand twice. Memory does not grow with the size of the capture; it holds the connections, the partitions, and what consumers
// have yet to fetch.
//
//	truth, err := traffic.Write(file, traffic.Presets["plain-500m"])
//
// Clients and brokers act on one clock of their own, one after another, over one link: producers send batches of distinct,
// compressible records, brokers give them offsets and answer, consumers fetch what was stored. Faults and their look-alikes
// are spread over the whole capture (fault.go). Frames are swapped, lost and repeated where Config asks for it.
//
// Equal configs give equal bytes. One call of Write uses one goroutine, several calls may run at once.
//
// Messages are encoded by kmsg, batches and packets here: kafkatest and pcaptest tell small stories with every detail, and are
// too slow for gigabytes. Not here: transactions, old message sets, several requests in flight on one connection.
package traffic
