// Package pcaptest builds capture files and TCP conversations in memory for tests.
//
// Everything is encoded by hand from the file formats (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng) and from
// RFC 791, 8200 and 9293, sharing no code with the readers it tests. A typical test writes
//
//	c := pcaptest.NewConversation(client, server, start)
//	c.Handshake()
//	c.Client(request)
//	c.Server(response)
//	file := pcaptest.PCAP{}.Encode(c.Packets()...)
//
// Several conversations are put in order of time by Interleave; Frames skips the file and yields what a capture reader
// would. To lose, repeat or reorder packets, edit the slice of packets before it is encoded.
//
// Nothing here returns an error or reads a clock: wrong arguments panic, equal calls give equal bytes. A builder is for
// one goroutine. The package is for tests only; the product does not import it.
package pcaptest
