package main

import (
	"os"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// hugeOnce: the heap is the process's.
var hugeOnce sync.Once

// maxHuge bounds the part of the heap that is asked for in huge pages.
const maxHuge = 1 << 30

// askForHugePages has the kernel back the heap, as far as it may grow, with pages of 2 MiB: nearly all of it is touched once or twice, and
// every page that is not there yet costs a fault. A kernel whose transparent huge pages are off, or on for all, goes on as it does.
func (b budget) askForHugePages() {
	if strconv.IntSize < 64 || os.Getpagesize() != 4<<10 { // larger pages make huge ones of half a gigabyte
		return
	}
	hugeOnce.Do(func() {
		room := make([]byte, min(b/4*3, maxHuge)) // not touched, so it takes no memory
		_ = unix.Madvise(room, unix.MADV_HUGEPAGE)
		runtime.GC() // gives it back to the heap, which grows into it
	})
}
