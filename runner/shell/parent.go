package shell

import (
	"io"
	"os"

	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// ShimStdin is the variable that is "1" when stdin is a pipe which the parent of
// this process holds open, without a word, as long as it lives.
const ShimStdin = "RAYMOND_SHIM_STDIN"

// ParentGone returns a channel that is closed when stdin has ended or can't be
// read. What comes on stdin before that is dropped. It is read until
// then, even when nobody waits for the channel.
func ParentGone(stdin io.Reader) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, stdin)
	}()
	return gone
}

// WatchParent returns a channel that is closed when the process that started this one has
// ended, or when nobody reads out any more, as far as the system tells.
func WatchParent(out *os.File) <-chan struct{} { return proc.WatchParent(out) }

// MakeUndumpable keeps the processes that agents and scripts start from reading the
// environment and the memory of this process, as far as they are not root. It is
// called before anything else. Only Linux has this; elsewhere it does nothing.
func MakeUndumpable() error { return proc.MakeUndumpable() }
