//go:build !linux

package main

// askForHugePages does nothing: on this system the kernel alone decides on the size of pages.
func (b budget) askForHugePages() {}
