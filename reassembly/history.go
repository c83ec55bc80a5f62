package reassembly

import "bytes"

// history keeps the bytes that were delivered last, over all connections, so that a repeat can be compared with them.
// One log of fixed size serves all: idle connections hold no memory. Each record names the record before it of the same
// stream, so a stream needs one number to find its own.
type history struct {
	log     []byte // ring; position p is at p % len
	written int64  // bytes ever written
	records []record
	count   int64 // records ever written; number n is at n % len, numbers start at 1
}

// record is one range of a stream that was delivered, or given up as a gap.
type record struct {
	offset, end StreamOffset
	position    int64 // in the log; -1 for a gap
	previous    int64 // number of the stream's record before, 0 for none
}

func newHistory(size int) history {
	if size < historyRecord {
		return history{}
	}
	return history{log: make([]byte, size), records: make([]record, size/historyRecord)}
}

// add writes a range of a stream and returns its record number. data is nil for a gap. previous is the number that the
// last call for this stream returned.
func (h *history) add(offset, end StreamOffset, data []byte, previous int64) int64 {
	if len(h.records) == 0 {
		return 0
	}
	r := record{offset: offset, end: end, position: -1, previous: previous}
	if data != nil {
		if over := len(data) - len(h.log); over > 0 {
			data, r.offset = data[over:], r.offset+StreamOffset(over)
		}
		r.position = h.written
		n := copy(h.log[h.written%int64(len(h.log)):], data)
		copy(h.log, data[n:])
		h.written += int64(len(data))
	}
	h.count++
	h.records[h.count%int64(len(h.records))] = r
	return h.count
}

// verdict is what the history knows of a range that arrived again.
type verdict struct {
	unequal bool  // some bytes differ from those delivered
	late    int64 // bytes of it that had been given up as a gap
}

// compare looks at data, which starts at offset, against the stream whose last record is number last. What is no longer
// in the history counts as equal.
func (h *history) compare(offset StreamOffset, data []byte, last int64) (v verdict) {
	end := offset + StreamOffset(len(data))
	for steps := 0; last > 0 && last > h.count-int64(len(h.records)) && steps < historySteps; steps++ {
		r := h.records[last%int64(len(h.records))]
		if low, high := max(offset, r.offset), min(end, r.end); low < high {
			if r.position < 0 {
				v.late += int64(high - low)
			} else if !h.equal(r.position+int64(low-r.offset), data[low-offset:high-offset]) {
				v.unequal = true
			}
		}
		if r.offset <= offset {
			break
		}
		last = r.previous
	}
	return v
}

// equal compares data with the log from a position, as far as the log still has it.
func (h *history) equal(position int64, data []byte) bool {
	if gone := h.written - int64(len(h.log)) - position; gone > 0 {
		if gone >= int64(len(data)) {
			return true
		}
		position, data = position+gone, data[gone:]
	}
	part := h.log[position%int64(len(h.log)):]
	n := min(len(part), len(data))
	return bytes.Equal(part[:n], data[:n]) && bytes.Equal(h.log[:len(data)-n], data[n:])
}
