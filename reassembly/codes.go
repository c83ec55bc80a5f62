package reassembly

import "github.com/kdupscan/kdupscan/pcap"

// Codes of the Decoder.
const (
	// CodeLinkType: frames of a link type that is not decoded. All their traffic is hidden.
	CodeLinkType pcap.Code = "link-type-unsupported"
	// CodeHeaderCut: snaplen cut a frame before its TCP header was complete. The segment is hidden and shows as a gap.
	CodeHeaderCut pcap.Code = "header-cut"
	// CodeMalformed: a length or version field contradicts the packet. The packet is skipped; if it was TCP, it is hidden.
	CodeMalformed pcap.Code = "packet-malformed"
	// CodeEncrypted: a packet of an encrypted tunnel (ESP, WireGuard, MACsec). What it carries is hidden.
	CodeEncrypted pcap.Code = "tunnel-encrypted"
	// CodeTunnelDepth: more headers inside each other than maxDepth. What is inside is hidden.
	CodeTunnelDepth pcap.Code = "tunnel-too-deep"
	// CodeFragmentLost: an IP packet of which a fragment never came. If it was TCP, it shows as a gap.
	CodeFragmentLost pcap.Code = "fragment-lost"
	// CodeFragmentOverlap: IP fragments that overlap; the first copy of each byte counts. Hides nothing in honest traffic.
	CodeFragmentOverlap pcap.Code = "fragment-overlap"
	// CodeFragmentLimit: an incomplete IP packet was dropped to keep memory bounded. If it was TCP, it shows as a gap.
	CodeFragmentLimit pcap.Code = "fragment-limit"
)

// Codes of the Assembler.
const (
	// CodeGap: bytes that no captured packet holds. What was in them is hidden.
	CodeGap pcap.Code = "tcp-gap"
	// CodeCut: bytes that snaplen cut off. What was in them is hidden.
	CodeCut pcap.Code = "tcp-cut"
	// CodeLateStart: the connection was open before the capture began. Its first bytes may be the middle of a message.
	CodeLateStart pcap.Code = "tcp-late-start"
	// CodeBeforeStart: bytes from before the offset at which delivery began. They are dropped.
	CodeBeforeStart pcap.Code = "tcp-before-start"
	// CodeConflict: bytes arrived twice with different content; the first copy counts. The receiver may have taken the other.
	CodeConflict pcap.Code = "tcp-overlap-conflict"
	// CodeLateData: bytes that arrived after they had been given up as a gap. They are dropped.
	CodeLateData pcap.Code = "tcp-late-data"
	// CodeOutOfWindow: a segment or reset whose sequence number no receiver would take. It is ignored.
	CodeOutOfWindow pcap.Code = "tcp-out-of-window"
	// CodeResync: a stream went on at a distance that no window allows: more than 1 GiB is missing, or the numbering changed.
	CodeResync pcap.Code = "tcp-resync"
	// CodeAfterFIN: data after the sender's FIN, or a FIN before data that was seen. It is ignored.
	CodeAfterFIN pcap.Code = "tcp-after-fin"
	// CodeAfterClose: data after the end of a connection. It is ignored; no application has read it.
	CodeAfterClose pcap.Code = "tcp-after-close"
	// CodeRepeat: a closed connection was seen again, packet for packet: a second capture point. Hides nothing.
	CodeRepeat pcap.Code = "tcp-connection-repeat"
	// CodeBufferLimit: bytes waiting for missing ones before them were delivered early, to keep memory bounded. What
	// would have come later is lost as a gap.
	CodeBufferLimit pcap.Code = "tcp-buffer-limit"
	// CodeEvicted: a connection was given up to keep memory bounded. If it goes on, it counts as a late start.
	CodeEvicted pcap.Code = "connection-evicted"
	// CodeHalfOpenEvicted: an unanswered connection attempt was forgotten to keep memory bounded. Hides nothing as long as
	// no answer comes.
	CodeHalfOpenEvicted pcap.Code = "half-open-evicted"
	// CodeClosedForgotten: a closed connection was forgotten to keep memory bounded. A later repeat of it would count as
	// a connection of its own.
	CodeClosedForgotten pcap.Code = "closed-connection-forgotten"
)
