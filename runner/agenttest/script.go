package agenttest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Script makes a program of lines of sh, and returns its path.
func Script(t testing.TB, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	// A process that is started meanwhile would inherit the file, which can't be run then.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+lines+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// Unheard makes a program that runs a CLI with a stdin on which nothing ever comes, and returns
// its path.
func Unheard(t testing.TB, cli string) string {
	t.Helper()
	return Script(t, `fifo=$(mktemp -u) && mkfifo "$fifo" && exec "`+cli+`" "$@" <>"$fifo"`)
}
