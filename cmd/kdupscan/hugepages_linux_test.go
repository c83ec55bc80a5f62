package main

import (
	"math"
	"strconv"
	"testing"
)

func TestMayMap(t *testing.T) {
	if !mayMap(1 << 20) {
		t.Error("not even a MiB")
	}
	if strconv.IntSize == 64 && mayMap(math.MaxInt&^0xffff) { // a process of 32 bits may have all that an int can count
		t.Error("all of the address space")
	}
}
