//go:build !linux

package codex

func enterCage() {}
