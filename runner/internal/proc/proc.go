// Package proc runs child processes and leaves nothing of them behind.
//
// It knows process groups, signals, pipes, and how to find again what a child
// started and left. It knows nothing of agents, scripts or runs: what a child
// says is bytes, and the caller knows why it is stopped.
//
// On Linux everything that descends from a child is gone when Run returns, also
// what moved to a session of its own or forked twice. On other Unix systems only
// the process group is ended. On Windows everything that descends from a child is in a job
// object, which ends with this process, too; only what another program was asked to start,
// as a scheduled task, is not.
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

// MarkVar is the environment variable with the mark of everything that a child starts.
const MarkVar = "RAYMOND_MARK"

// Options describe one child. Only Path must be set.
type Options struct {
	Path string   // a name without a separator is looked up on PATH
	Args []string // without argv[0]
	// CommandLine, on Windows, is passed as it stands in place of Path and Args.
	CommandLine string
	Dir         string   // "" for the directory of this process
	Env         []string // the whole environment; of two entries with one name the later counts

	// Mark is the value of MarkVar in the environment, unless it is "". No other child under way
	// may have the same Mark: what the child left behind is found by it.
	Mark string

	// Stdin is what the child reads, then the end; nil or empty is the null
	// device. A child that does not read it is not waited for.
	Stdin []byte
	// Stdout receives the output as it comes, from one goroutine, in chunks that
	// are valid only during the call. An error ends the child (ByWriter); what it
	// writes after that is dropped. Nil drops everything.
	Stdout io.Writer
	// Stderr is like Stdout, from another goroutine, but its errors only stop the
	// writing. Exit.StderrTail is kept in any case.
	Stderr io.Writer
	// MergeStderr sends stderr where stdout goes, in the order of the writes.
	// Stderr and Exit.StderrTail then get nothing.
	MergeStderr bool

	Timeout time.Duration // from the start; 0: none
	Idle    time.Duration // without a byte on stdout or stderr; 0: none
	// LastWait, when not nil, returns when the child waited last for this program, which stops Idle.
	LastWait func() time.Time

	// InterruptGroup sends SIGINT and SIGTERM to the child's whole process group
	// and not to the child alone. SIGKILL always goes to the group.
	InterruptGroup bool
	// DeathSignal is what the child itself gets when this process dies, however
	// it dies. 0: none. Linux only.
	DeathSignal syscall.Signal
	// NoNewPrivs keeps the child, and all that it starts, from gaining privileges:
	// programs like sudo run without theirs. A kernel that can't do this starts
	// nothing. Linux only; elsewhere it has no effect.
	NoNewPrivs bool
	// Cage is what the child and all that it starts are confined to; nil for nothing.
	// In a cage the child has a session of its own and can't gain privileges, and
	// what it leaves behind is found by a mark that it can't take off, made of Mark,
	// which must be set. Linux only; elsewhere a child that is to be caged is not started.
	Cage *cage.Cage

	// Finished, when not nil, is closed by the caller when the child has said all
	// that matters and had the time to exit: then it is ended (ByLateExit).
	Finished <-chan struct{}

	// DebugDir is an existing folder for what is started, its Stdin as a prompt, and its outputs, of which
	// stdout has the extension DebugStdout; "" for none.
	DebugDir, DebugStdout string

	// Ladder is how the child is ended; the zero Ladder is DefaultLadder. When the
	// context is done and its cause has a method Patience() (term, kill
	// time.Duration), that says how.
	Ladder Ladder
}

// Ladder says how a child is ended: SIGINT at once, SIGTERM after Term, SIGKILL
// after Kill more. On Windows a child is killed at once.
type Ladder struct{ Term, Kill time.Duration }

// DefaultLadder leaves an agent CLI the time to report what it cost.
var DefaultLadder = Ladder{Term: 5 * time.Second, Kill: 3 * time.Second}

// EndReason says why a child was ended, if it was.
type EndReason string

// The reasons for which Run ends a child.
const (
	ByItself   EndReason = ""        // nobody ended it
	ByTimeout  EndReason = "timeout" // Options.Timeout
	ByIdle     EndReason = "idle"    // Options.Idle
	ByStop     EndReason = "stopped" // the context was done
	ByLateExit EndReason = "settled" // it was still there after Options.Finished; no failure
	ByWriter   EndReason = "writer"  // Options.Stdout returned an error
)

// Exit is what became of a child.
type Exit struct {
	Code   int    // -1 when a signal ended it or it never started
	Signal string // "SIGKILL"; "" when it exited
	// Ended says what made Run end it. A child that exits with code 0 while it
	// is being ended has Ended set all the same.
	Ended      EndReason
	StderrTail []byte // at most StderrTailSize bytes
	Swept      int    // processes that it left behind and that were ended
	Survivors  int    // those of them that could not be ended: not ours to kill
}

// Code of a shell whose command was killed: 128 and the number of SIGKILL.
const codeKilled = 137

// Describe says how a child ended, such as "exit code 3". Of a SIGKILL that nobody here has sent it says what sends one.
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

// LeftoverNotes are notes on what a child left behind, as one of somebody, "script" for one.
func (e Exit) LeftoverNotes(whose string) (notes []string) {
	if e.Swept > 0 {
		notes = append(notes, fmt.Sprintf("processes that the %s left behind: %d ended", whose, e.Swept))
	}
	if e.Survivors > 0 {
		notes = append(notes, fmt.Sprintf("processes that the %s left behind: %d can't be ended", whose, e.Survivors))
	}
	return notes
}

// StderrTailSize is how many of the last bytes of stderr an Exit keeps.
const StderrTailSize = 4096

// StderrEnd returns the end of stderr to be quoted: of a tail that is cut it
// leaves out the first line, or half of it all, where half a secret may stand
// that nobody could find any more.
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

// Run starts a child and returns when it and everything it started is gone. It
// returns an error only when the child could not be started: the error wraps
// fs.ErrNotExist, fs.ErrPermission or a syscall.Errno such as E2BIG, and names
// the file or directory. When ctx is done before the start nothing is started,
// and Exit.Ended is ByStop.
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
