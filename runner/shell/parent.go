package shell

import (
	"io"
	"os"

	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// ShimStdin is the environment variable that is "1" if stdin is a pipe that the parent of this
// process holds open as long as it lives, without writing to it.
const ShimStdin = "RAYMOND_SHIM_STDIN"

// ParentGone returns a channel that is closed when stdin has ended or can't be read. It reads
// and drops all input before that, even if no one waits for the channel.
func ParentGone(stdin io.Reader) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = io.Copy(io.Discard, stdin)
	}()
	return gone
}

// WatchParent returns a channel that is closed when the process that started this one has ended,
// or when the reader of out is gone, as far as the system reports it.
func WatchParent(out *os.File) <-chan struct{} { return proc.WatchParent(out) }

// MakeUndumpable keeps the processes that agents and scripts start from reading the environment
// and the memory of this process, unless they are root. It must be called before anything else.
// It has an effect on Linux only.
func MakeUndumpable() error { return proc.MakeUndumpable() }
