package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

func (pr *producer) saw(epoch int16, at pcap.Ref) {
	pr.used = max(pr.used, at.Time)
	if !slices.Contains(pr.epochs, epoch) {
		pr.epochs = append(newest(pr.epochs, maxEpochs-1), epoch)
	}
}

// rose reports whether a batch shows a rise of the epoch that no batch has shown yet and that is neither a transaction's end nor a start. The
// epochs of one producer may come in any order: a batch waits where its broker does, and those to other brokers are sent meanwhile.
func (pr *producer) rose(o *kafka.BatchSent) bool {
	e := o.Batch.ProducerEpoch
	if e == pr.top || slices.Contains(pr.sent, e) {
		return false
	}
	pr.sent = append(newest(pr.sent, maxEpochs-1), e)
	pr.top = max(pr.top, e)
	given := slices.Contains(pr.granted, e) || endsTransactionsByEpoch(o)
	switch {
	case pr.low < 0:
		pr.low, pr.lowGiven = e, given
		return false
	case e < pr.low: // the rise is the one to what was the lowest so far
		pr.low, pr.lowGiven, given = e, given, pr.lowGiven
	}
	return !given
}

// endsTransactionsByEpoch reports whether a request is one of transactions of version 2 (KIP-890), in which every end of a transaction raises
// the epoch. Only they use Produce 12 and later; the coordinator that tells of the ends may be a broker that was not captured.
func endsTransactionsByEpoch(o *kafka.BatchSent) bool {
	const first = 12
	return o.Batch.Transactional() && o.Request != nil && o.Request.APIVersion >= first
}

// grant notes that an epoch was given and is no bump.
func (pr *producer) grant(epoch int16) {
	const recent = 16 // a producer uses an epoch soon after it was given, or never
	pr.granted = append(newest(pr.granted, recent-1), epoch)
}
