// Package reassembly turns captured frames into the ordered byte streams of TCP connections.
//
// A Decoder takes frames (pcap.Frame) and gives Segments: link layer, VLAN tags, tunnels, IP and IP fragments are undone
// by it. An Assembler takes Segments and gives Events: per connection and direction the bytes in order, each once, with
// explicit gaps where the capture lacks some.
//
// Ownership: a Segment, its Payload, an Event and its Data are valid during the call that hands them over; who keeps
// bytes copies them. The Conn of an event lives on and may be kept. The Assembler copies payload only where it has to
// wait for bytes before it.
//
// Goroutines: a Decoder and an Assembler are each for one goroutine. Segments may be spread over several Assemblers by
// Segment.Hash, which is equal for both directions of a connection. There is no wall clock and no global timer: what
// happens to a connection depends on its own segments alone, until a bound of Limits is hit, so the number of
// Assemblers does not change the events.
//
// The identity of a connection is its two address-port pairs. VLAN tags, tunnel ids and interfaces are no part of it: a
// mirror port shows one packet tagged and untagged, and both are one segment.
//
// What it does not do: checksums are not verified (offloading leaves them wrong in captures of the sending host);
// encrypted tunnels (IPsec ESP, WireGuard, MACsec) stay closed and are noted; urgent data is left in the stream; TCP
// options are not read, so timestamps (PAWS) do not help to sort very old segments; 802.11 frames are not decoded.
package reassembly
