package pcap

// Codes of what a capture could not show. A Capture carries the facts; whoever reads it makes the notes.
const (
	// CodeCaptureDamaged: part of a capture file could not be read, one occurrence for each Damage. It hides every packet
	// that lay there, so a connection may have a gap and a resend may lack its first copy.
	CodeCaptureDamaged Code = "capture-damaged"

	// CodePacketsDropped: the capturing side says that it dropped packets, one occurrence for each. They were on the wire
	// and are not in the file: gaps in connections are then the capture's fault, not the network's.
	CodePacketsDropped Code = "packets-dropped"

	// CodePacketCut: a packet was captured with fewer bytes than it had on the wire (snapshot length). It hides the end of
	// the packet, hence records of a batch, while the front of a request can mostly still be read.
	CodePacketCut Code = "packet-cut"
)
