//go:build !linux

package main

import "github.com/raymond-action/raymond-action/artifacts/slots"

// thisProcess is of no machine that others could know for theirs.
func thisProcess() slots.Process { return slots.Process{} }

func startOf(int) string { return "" }
