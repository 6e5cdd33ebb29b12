// Package proc runs child processes and ends all their descendants.
//
// It knows process groups, signals, pipes, and how to find processes that a child started and left
// behind. It doesn't know agents, scripts or runs: output is bytes, and only the caller knows why a
// child is stopped.
//
// On Linux, all descendants of a child are gone when Run returns, even if they started a new session or
// forked twice. On other Unix systems only the process group is ended. On Windows all descendants of a
// child are in a job object, which ends together with this process; only a process that another program
// started for the child, like a scheduled task, is not in it.
package proc

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"syscall"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// MarkVar is the environment variable with the mark of a child and its descendants.
const MarkVar = "RAYMOND_MARK"

// Options describe one child. Only Path must be set.
type Options struct {
	Path string   // a name without a separator is looked up on PATH
	Args []string // without argv[0]
	// CommandLine, on Windows, is passed unchanged in place of Path and Args.
	CommandLine string
	Dir         string   // "" for the directory of this process
	Env         []string // the whole environment; of two entries with one name the later counts

	// Mark is the value of MarkVar in the environment; "" sets none. Processes that the child leaves
	// behind are found by it, so no two children may have the same Mark at the same time.
	Mark string

	// Stdin is the whole input of the child. If it is empty, the child gets the null device. Run
	// doesn't wait for a child to read it.
	Stdin []byte
	// Stdout receives the output as it arrives, from one goroutine, in chunks that are valid only
	// during the call. If it returns an error, the child is ended (ByWriter) and further output is
	// dropped. nil drops everything.
	Stdout io.Writer
	// Stderr is like Stdout, from another goroutine, but an error only stops the writing.
	// Exit.StderrTail is filled in any case.
	Stderr io.Writer
	// MergeStderr sends stderr where stdout goes, in the order of the writes. Stderr and
	// Exit.StderrTail then get nothing.
	MergeStderr bool

	Timeout time.Duration // from the start; 0 means none
	Idle    time.Duration // without output on stdout or stderr; 0 means none
	// LastWait, if not nil, returns when the child last waited for this program. That time doesn't
	// count as idle.
	LastWait func() time.Time

	// InterruptGroup sends SIGINT and SIGTERM to the child's whole process group instead of to the
	// child alone. SIGKILL always goes to the group.
	InterruptGroup bool
	// DeathSignal is the signal that the child gets when this process dies for any reason. 0 means
	// none. Linux only.
	DeathSignal syscall.Signal
	// NoNewPrivs keeps the child and its descendants from gaining privileges: programs like sudo run
	// without theirs. If the kernel doesn't support it, the child is not started. Linux only; elsewhere
	// it has no effect.
	NoNewPrivs bool
	// Cage confines the child and its descendants; nil confines nothing. A caged child has its own
	// session and can't gain privileges. The processes that it leaves behind are found by a mark that
	// they can't remove, which is computed from Mark, so Mark must be set. Linux only; elsewhere a
	// child with a Cage is not started.
	Cage *cage.Cage

	// Finished, if not nil, is closed by the caller when the child has printed everything of interest
	// and had enough time to exit. The child is then ended (ByLateExit).
	Finished <-chan struct{}

	// DebugDir is an existing directory in which the command, Stdin (as a prompt) and the outputs are
	// recorded; "" records nothing. DebugStdout is the extension of the file with stdout.
	DebugDir, DebugStdout string

	// Ladder determines how the child is ended; the zero Ladder means DefaultLadder. If the context is
	// done and its cause has a method Patience() (term, kill time.Duration), that determines the
	// Ladder.
	Ladder Ladder
}

// Ladder is the way in which a child is ended: with SIGINT at once, SIGTERM after Term, and SIGKILL
// after another Kill. On Windows a child is killed at once.
type Ladder struct{ Term, Kill time.Duration }

// DefaultLadder gives an agent CLI enough time to report its cost.
var DefaultLadder = Ladder{Term: 5 * time.Second, Kill: 3 * time.Second}

// EndReason is the reason why Run ended a child.
type EndReason string

// The reasons for which Run ends a child.
const (
	ByItself   EndReason = ""        // Run didn't end it
	ByTimeout  EndReason = "timeout" // Options.Timeout
	ByIdle     EndReason = "idle"    // Options.Idle
	ByStop     EndReason = "stopped" // the context was done
	ByLateExit EndReason = "settled" // it was still running after Options.Finished; not a failure
	ByWriter   EndReason = "writer"  // Options.Stdout returned an error
)

// Exit describes how a child ended.
type Exit struct {
	Code   int    // -1 if a signal ended it or it did not start
	Signal string // as in "SIGKILL"; "" if it exited
	// Ended is the reason why Run ended the child. It is set even if the child then exits with code 0.
	Ended      EndReason
	StderrTail []byte // at most StderrTailSize bytes
	Swept      int    // number of processes that it left behind and Run ended
	Survivors  int    // number of processes that it left behind and this process may not kill
}

// codeKilled is the exit code of a shell whose command was killed: 128 and the number of SIGKILL.
const codeKilled = 137

// Describe describes how a child ended, for example "exit code 3". For a SIGKILL that raymond didn't
// send, it adds the likely cause.
func (e Exit) Describe() string {
	how := "exit code " + strconv.Itoa(e.Code)
	if e.Signal != "" {
		how = "signal " + e.Signal
	}
	if e.Ended == ByItself && (e.Signal == "SIGKILL" || e.Code == codeKilled) {
		how += " (it was killed, probably because memory was short: a smaller max-parallel needs less, a larger machine has more)"
	}
	return how
}

// LeftoverNotes returns notes about processes that a child left behind. whose names the child, as in
// "script".
func (e Exit) LeftoverNotes(whose string) (notes []string) {
	if e.Swept > 0 {
		notes = append(notes, fmt.Sprintf("ended processes that the %s left behind: %d", whose, e.Swept))
	}
	if e.Survivors > 0 {
		notes = append(notes, fmt.Sprintf("processes that the %s left behind and that can't be ended: %d", whose, e.Survivors))
	}
	return notes
}

// StderrTailSize is how many bytes of the end of stderr an Exit keeps.
const StderrTailSize = 4096

// StderrEnd returns the end of stderr for a message. If the tail was cut, it omits the first line or,
// without a line feed in the first half, that half: the cut may have left half a secret, which could
// not be recognized and hidden.
func (e Exit) StderrEnd() []byte {
	tail := e.StderrTail
	if len(tail) < StderrTailSize {
		return tail
	}
	half := len(tail) / 2
	if at := bytes.IndexByte(tail[:half], '\n'); at >= 0 {
		return tail[at+1:]
	}
	return tail[half:]
}

// Run starts a child and returns when it and all its descendants have ended. It returns an error only
// if the child could not be started. The error wraps fs.ErrNotExist, fs.ErrPermission or a
// syscall.Errno like E2BIG, and names the file or directory. If ctx is done before the start, Run
// starts no process and Exit.Ended is ByStop.
func Run(ctx context.Context, s Options) (Exit, error) {
	if ctx.Err() != nil {
		return Exit{Code: -1, Ended: ByStop}, nil
	}
	if s.DebugDir != "" {
		defer startRecording(&s)()
	}
	c, err := begin(s)
	if err != nil {
		return Exit{Code: -1}, err
	}
	return c.supervise(ctx), nil
}
