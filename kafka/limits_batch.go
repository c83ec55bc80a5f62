package kafka

// Bounds and sizes of batch decoding that are not options.
const (
	// minRatioOutput is what a batch may always decompress to, whatever the ratio: constant test data compresses without
	// end, and so much memory is no harm.
	minRatioOutput = 16 << 20
	// keptScratch is how large a decompression buffer may be to be kept for the next batch. Nearly all batches are smaller,
	// and one bomb must not cost its size for the rest of the run.
	keptScratch = 4 << 20
	// firstScratch is the smallest buffer worth allocating: two blocks of zstd, and more than a default producer batch (16 KiB)
	// decompresses to.
	firstScratch = 256 << 10
	// maxZstdWindow is the window of zstd's highest level, 22. Nothing is allocated for it.
	maxZstdWindow = 128 << 20
	// zstdBlock is the most one block of a zstd frame gives.
	zstdBlock = 128 << 10
	// snappyRatio is more than snappy reaches: its longest copy gives 64 bytes for three.
	snappyRatio = 22
	// lz4Ratio is the most lz4 reaches: a length byte gives 255 bytes.
	lz4Ratio = 255
	// minRecordSize is a magic 2 record with null key and value: seven varints or bytes, one byte each.
	minRecordSize = 7
)
