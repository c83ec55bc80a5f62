package pcap

import "time"

// FrameNumber counts the packets of one capture, from 1, as Wireshark does.
type FrameNumber uint64

// FileOffset is a position in a capture file after decompression, in bytes from its start.
type FileOffset int64

// Timestamp is a capture time in nanoseconds since 1970-01-01 UTC.
type Timestamp int64

// Time returns t in UTC.
func (t Timestamp) Time() time.Time { return time.Unix(0, int64(t)).UTC() }

// Ref names one captured packet. The zero Ref names none.
type Ref struct {
	Capture int         // index into the captures of the source, from 0
	Number  FrameNumber // within that capture
	Time    Timestamp
}

// IsZero reports whether r names no packet.
func (r Ref) IsZero() bool { return r.Number == 0 }

// Frame is one captured packet.
type Frame struct {
	Ref
	Offset         FileOffset // of the record header or block that holds the packet
	LinkType       LinkType
	Interface      int    // pcapng interface, counted over all sections of the capture, from 0
	OriginalLength int    // bytes on the wire; len(Data) is less where snaplen cut the packet
	Data           []byte // borrowed: valid until the next call of Next, or while Block is held
	Block          *Block // that Data is in; nil where it cannot be held
}

// Source yields frames. Next fills f and returns nil, or returns io.EOF after the last frame. Damage inside a capture is
// no error: it is kept in Capture.Damage and reading goes on where that is possible. A Source is for one goroutine.
type Source interface {
	Next(f *Frame) error
	// Captures describes what has been read so far. Frame.Capture is an index into it.
	Captures() []Capture
}

// Capture describes one capture file (or one live run) and what was read of it.
type Capture struct {
	Name        string // base name, never a path
	Format      string // "pcap", "pcapng" or "live"
	Compression string // "", "gzip", "zstd" or "lz4"
	LinkTypes   []LinkType
	Packets     uint64
	Bytes       uint64 // captured packet bytes, headers of the file format not counted
	First, Last Timestamp
	CutShort    uint64   // packets captured with fewer bytes than they had on the wire
	Dropped     *uint64  // packets the capturing side says it dropped; nil when the file does not say
	Damage      []Damage // in file order
	Secrets     []Secret // decryption secrets blocks, kept for later use
	Fingerprint uint64   // digest over the packets read, equal for equal captures
}

// Damage is a place in a capture file that could not be read.
type Damage struct {
	Offset FileOffset
	Frame  FrameNumber // the last frame read before it
	What   string      // one line, without the offset
	Lost   int64       // bytes skipped until reading could go on; -1 when the rest of the file is lost
}

// Secret is one pcapng Decryption Secrets Block (draft-ietf-opsawg-pcapng, section 4.7).
type Secret struct {
	Type uint32 // 0x544c534b for a TLS key log
	Data []byte
}
