//go:build !unix

package main

import "os/exec"

// onSignals does nothing: this system has neither of the signals.
func onSignals(_, _ func()) (undo func()) { return func() {} }

// ownGroup does nothing: this system has no process groups, the command alone is killed.
func ownGroup(*exec.Cmd) {}
