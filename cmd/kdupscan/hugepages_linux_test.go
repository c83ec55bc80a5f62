package main

import (
	"math"
	"testing"
)

func TestMayMap(t *testing.T) {
	if !mayMap(1 << 20) {
		t.Error("not even a MiB")
	}
	if mayMap(math.MaxInt &^ 0xffff) {
		t.Error("all of the address space")
	}
}
