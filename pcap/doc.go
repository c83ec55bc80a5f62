// Package pcap reads packet captures, and takes and writes them.
//
// In goes a file, a folder, a pipe or any io.Reader that holds pcap or pcapng, plain or compressed with gzip, zstd or lz4;
// both are known by their content, never by a name. Out come frames, in the order of the file; several captures are merged
// by time. What else the files say about themselves (drops, secrets, damage) is kept in Capture.
//
// Frame.Data is borrowed: it points into the read buffer and is valid until the next call of Next, or for as long as its
// Block is held. Reading a packet allocates nothing. A source is for one goroutine, except for Progress. The package starts
// no goroutines.
//
// Files are read as they are, not as they should be. Packets may be longer than the snapshot length that the header
// states, times may jump, a file may end anywhere. Whatever cannot be read is skipped, up to the next place that is
// convincingly the start of a packet, and recorded as Damage; it is never an error. Only a file that is no capture at all,
// or that cannot be opened, is one.
//
// Frames are numbered as Wireshark numbers them in files that hold nothing but packets; it also counts entries of the
// systemd journal, which are skipped here.
//
// On Linux, OpenLive captures from network interfaces; the ring that the kernel fills is read in place. Writer writes frames
// to a pcapng file. Filters are compiled in package filter.
//
// The package knows nothing of protocols: link types are numbers with names. It does not use the options of pcapng except
// those for time and drops, and writes those for names and comments.
//
// Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng, tcpdump.org/linktypes.html.
package pcap
