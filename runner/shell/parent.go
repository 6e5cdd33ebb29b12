package shell

import (
	"io"
	"os"

	"github.com/raymond-action/raymond-action/internal/processes"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
)

// ShimStdin is an environment variable. Its value is "1" if stdin is a pipe that the parent of this
// process holds open as long as the parent lives. The parent writes nothing to the pipe.
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

// WatchParent returns a channel that is closed when the process that started this one has ended. If
// the system reports it, the channel is also closed when the reader of out is gone.
func WatchParent(out *os.File) <-chan struct{} { return proc.WatchParent(out) }

// MakeUndumpable prevents the processes that agents and scripts start from reading the environment
// and the memory of this process, unless they run as root. It must be called before anything else.
// It has an effect on Linux only.
func MakeUndumpable() error { return proc.MakeUndumpable() }

// AdoptOrphans makes this process the parent of processes whose own parent has ended, so that it
// can end them. It must be called once, before the first run.
func AdoptOrphans() error { return proc.AdoptOrphans() }

// EndDescendants ends every descendant of this process, even if it tries to hide, and returns
// messages about processes that it could not end. It must be called at the end of the program,
// when no other code starts or waits for processes. It does nothing on systems other than Linux.
func EndDescendants() []string { return processes.EndDescendants() }

// Sweep ends every process that a run with the given mark has left on this machine, whether a script
// or an agent started it. It returns the number of these processes. It must be called before a run
// that may have crashed is resumed.
func Sweep(mark string) (int, error) { return proc.Sweep(mark) }
