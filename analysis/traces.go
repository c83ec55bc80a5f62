package analysis

// tracesShare is the part of the memory for history that traces take. A trace is far smaller than a record of history, so this
// reaches back farther than the history does.
const tracesShare = 6

// traces remembers, for hashes of contents and of batches, where these were met first: eight bytes each, in a fixed memory. When
// the newer of two halves is full it becomes the older one. A trace may be wrong, once in some ten million: it says where
// to look, and decides nothing.
type traces struct {
	newer, older []uint64
	used         int // slots of newer
}

// A trace is the upper bits of the hash, and 36 bits of value, which are never all zero.
const (
	valueBits = 36
	valueMask = 1<<valueBits - 1

	// The value of what stands in a log: how often it was met at different places, a few bits of its timestamp and of its offset.
	countBits, stampBits = 2, 10
	offsetBits           = valueBits - countBits - stampBits
	often                = 1<<countBits - 1
)

func newTraces(memory int64) traces {
	slots := 1024
	for int64(slots)*2*8*2 <= memory {
		slots *= 2
	}
	return traces{newer: make([]uint64, slots), older: make([]uint64, slots)}
}

func (t *traces) clear() {
	clear(t.newer)
	clear(t.older)
	t.used = 0
}

// slot returns the slot of a hash, which is zero if there is none yet.
func (t *traces) slot(hash uint64) *uint64 {
	if s := find(t.newer, hash); *s != 0 {
		return s
	}
	if s := find(t.older, hash); *s != 0 {
		return s
	}
	if t.used >= len(t.newer)/4*3 {
		t.newer, t.older = t.older, t.newer
		clear(t.newer)
		t.used = 0
	}
	t.used++
	return find(t.newer, hash)
}

// find returns the slot that has the hash, or the empty one that is for it.
func find(slots []uint64, hash uint64) *uint64 {
	mask := uint64(len(slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if s := &slots[i]; *s == 0 || *s>>valueBits == hash>>valueBits {
			return s
		}
	}
}

// first returns the number that a hash was first met with, after it has been met with n.
func (t *traces) first(hash, n uint64) uint64 {
	s := t.slot(hash)
	if *s == 0 {
		*s = hash&^valueMask | n&valueMask
	}
	return *s & valueMask
}

// find returns the number that a hash was first met with, 0 if it was not.
func (t *traces) find(hash uint64) uint64 {
	s := find(t.newer, hash)
	if *s == 0 {
		s = find(t.older, hash)
	}
	return *s & valueMask
}

// at takes note that something stands at an offset, and reports whether it stands at just one other, with the same stamp. A stamp
// of 0 equals any.
func (t *traces) at(hash uint64, offset int64, stamp uint64) bool {
	const offsetMask = 1<<offsetBits - 1
	place := uint64(offset) & offsetMask
	s := t.slot(hash)
	count := *s & often
	if count == 0 {
		*s = hash&^valueMask | place<<(stampBits+countBits) | stamp<<countBits | 1
		return false
	}
	if *s>>(stampBits+countBits)&offsetMask == place {
		return false
	}
	if count < often {
		*s++
	}
	was := *s >> countBits & (1<<stampBits - 1)
	return count == 1 && (was == stamp || was == 0 || stamp == 0)
}

// stampOf makes a stamp of a timestamp.
func stampOf(ms int64) uint64 {
	return uint64(ms)*golden>>(64-stampBits) | 1
}
