package pcap

// resyncBlock is the longest block that is looked for behind damage; longer ones are rare, and each wrong guess has to be
// read that far.
const resyncBlock = 1 << 20

// resync skips bytes until a block of a known type begins, whose second length agrees with the first, records the damage
// and reports whether it found one. Sections may begin there too, in either byte order.
func (p *pcapngFile) resync(what string) bool {
	b := &p.r.buf
	from := b.offset
	for b.has(1 + blockOverhead) {
		b.skip(1)
		if !knownBlock(p.order.uint32(b.rest())) {
			continue
		}
		if _, _, fault := p.block(resyncBlock); fault == "" {
			p.r.damaged(from, what, int64(b.offset-from))
			return true
		}
	}
	b.skip(len(b.rest()))
	p.r.lostRest(from, what)
	return false
}

func knownBlock(kind uint32) bool {
	switch kind {
	case blockSection, blockInterface, blockPacket, blockSimple, blockNames, blockStatistics, blockEnhanced,
		blockJournal, blockSecrets, blockCustom, blockCustomKeep:
		return true
	}
	return false
}
