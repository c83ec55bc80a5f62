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
		size := min(int(b/4*3), maxHuge)
		if !mayMap(2 * size) { // and as much again for the rest of the process
			return
		}
		room := make([]byte, size) // not touched, so it takes no memory
		_ = unix.Madvise(room, unix.MADV_HUGEPAGE)
		runtime.GC() // gives it back to the heap, which grows into it
	})
}

// mayMap reports whether the process may have so many more bytes of address space. Limits of it (ulimit -v), and kernels that promise no more
// than they have, forbid it; to Go's heap that would be the end.
func mayMap(size int) bool {
	probe, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	return err == nil && unix.Munmap(probe) == nil
}
