package pcap

// Merge is what Open does with several files, for tests with sources of their own.
func Merge(sources ...Source) Source { return newMerged(sources) }
