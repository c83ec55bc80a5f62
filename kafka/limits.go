package kafka

// Options configure a Decoder and a BatchReader.
type Options struct {
	Limits   Limits
	Previews bool           // keep the first PreviewSize bytes of keys and values (Batch.Previews)
	Messages func(*Message) // if not nil, gets each message with its bytes
}

// Limits bound what one Decoder or one BatchReader may use. Start from DefaultLimits: a zero allows nothing.
// Every limit that is hit becomes a note.
type Limits struct {
	MaxMessage      int   // bytes of one Kafka message
	MaxBuffered     int64 // bytes of unfinished messages over all connections of a decoder
	MaxPending      int   // requests of one connection that await their answers
	MaxDecompressed int   // bytes that the records of one batch may have when decompressed
	MaxRatio        int   // decompressed bytes per compressed byte
	MaxNesting      int   // compressed wrappers within each other (magic 0 and 1)
	MaxRecords      int   // records of one batch
}

// Defaults of Limits, each with its reason.
const (
	// maxMessage is Kafka's default of socket.request.max.bytes; answers stay below it (fetch.max.bytes is 50 MiB).
	maxMessage = 100 << 20
	// maxBuffered leaves the larger half of the default memory budget of 512 MiB to reassembly and analysis.
	maxBuffered = 192 << 20
	// maxPending is far above what clients keep in flight: 5 with idempotence, some thousands with acks=0 and no answers.
	maxPending = 10_000
	// maxDecompressed is far above message.max.bytes (1 MiB by default) times what text compresses to.
	maxDecompressed = 128 << 20
	// maxRatio is what a bomb exceeds and data does not: deflate ends at 1032, runs of one byte in zstd or lz4 go beyond.
	// Outputs below minRatioOutput are exempt.
	maxRatio = 2000
	// maxNesting: clients and brokers nest once; two more are read for the sake of mirrors that wrapped a wrapper.
	maxNesting = 3
	// maxRecords keeps the Records of one batch below 64 MiB; a batch of 1 MiB holds at most 150,000 when not compressed.
	maxRecords = 1_000_000
)

// DefaultLimits returns the limits for a worker of a scan with the default memory budget.
func DefaultLimits() Limits {
	return Limits{
		MaxMessage:      maxMessage,
		MaxBuffered:     maxBuffered,
		MaxPending:      maxPending,
		MaxDecompressed: maxDecompressed,
		MaxRatio:        maxRatio,
		MaxNesting:      maxNesting,
		MaxRecords:      maxRecords,
	}
}
