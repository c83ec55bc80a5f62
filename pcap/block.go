package pcap

import "sync/atomic"

// Block is memory that packets of a file are read into. While it is held, the bytes of its packets stay as they are, so that
// they need not be copied.
type Block struct {
	data  []byte
	holds atomic.Int32 // one of them is the reader's while it reads into the block
	idle  idleBlocks
}

// Hold keeps the bytes of the block until Release. Whoever calls Next may call it, until the next call.
func (b *Block) Hold() { b.holds.Add(1) }

// Release gives up one hold. Any goroutine may call it.
func (b *Block) Release() {
	if b.holds.Add(-1) > 0 {
		return
	}
	select {
	case b.idle <- b:
	default: // enough of them are idle
	}
}

// idleBlocks are blocks that wait to be used again.
type idleBlocks chan *Block

// maxIdleBlocks is more than a pipeline holds at once.
const maxIdleBlocks = 32

// get returns a block of at least size bytes, held once.
func (i idleBlocks) get(size int) *Block {
	for {
		select {
		case b := <-i:
			if len(b.data) >= size {
				b.holds.Store(1)
				return b
			}
			continue // outgrown
		default:
		}
		b := &Block{data: make([]byte, size), idle: i}
		b.holds.Store(1)
		return b
	}
}
