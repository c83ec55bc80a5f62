package pcap

import "io"

const (
	// firstBuffer is the window of a file that has only been looked at, and of small files.
	firstBuffer = 64 << 10
	// fullBuffer is the window once a file turns out to be longer: long enough to make the cost of a read call vanish,
	// short enough to stay in the processor's cache and to have hundreds of files open at once. More gains nothing.
	fullBuffer = 256 << 10
	// maxEmptyReads ends a source that returns neither bytes nor an error, as bufio does.
	maxEmptyReads = 100
)

// buffer is a window that moves over a capture file. Bytes handed out stay valid until the next call of has that has to
// read, or for as long as their block is held.
type buffer struct {
	src    io.Reader
	idle   idleBlocks
	block  *Block     // nil before the first byte was read
	data   []byte     // of the block
	r, w   int        // data[r:w] has been read from src and not been consumed
	offset FileOffset // of data[r]
	err    error      // why src ended, io.EOF if all is well
}

// has makes n bytes available in rest and reports whether the file has that many.
func (b *buffer) has(n int) bool { return b.w-b.r >= n || b.fill(n) }

// rest returns what is available without reading.
func (b *buffer) rest() []byte { return b.data[b.r:b.w] }

// skip consumes n bytes, which must be available.
func (b *buffer) skip(n int) {
	b.r += n
	b.offset += FileOffset(n)
}

func (b *buffer) fill(n int) bool {
	if b.err != nil {
		return false
	}
	if len(b.data)-b.r < n {
		b.makeRoom()
	}
	empty := 0
	for b.w-b.r < n {
		if b.w == len(b.data) {
			b.makeRoom()
		}
		m, err := b.src.Read(b.data[b.w:])
		b.w += m
		if m > 0 {
			empty = 0
		} else if empty++; err == nil && empty == maxEmptyReads {
			err = io.ErrNoProgress
		}
		if err != nil {
			b.err = err
			return b.w-b.r >= n
		}
	}
	return true
}

// makeRoom moves the window to the front of data, or to another block where this one is held or the window fills more than
// half of it. So each byte is moved a bounded number of times, and a wrong length in the file costs no more memory than four
// times what is there.
func (b *buffer) makeRoom() {
	size := len(b.data)
	switch {
	case size == 0:
		size = firstBuffer
	case size < fullBuffer:
		size = fullBuffer
	case b.w-b.r > size/2:
		size *= 2
	}
	block := b.block
	if block == nil || size > len(b.data) || block.holds.Load() > 1 {
		block = b.idle.get(size)
	}
	b.w = copy(block.data, b.data[b.r:b.w])
	b.r = 0
	if block != b.block {
		b.free()
		b.block, b.data = block, block.data
	}
}

// free gives the block up.
func (b *buffer) free() {
	if b.block != nil {
		b.block.Release()
		b.block, b.data = nil, nil
	}
}
