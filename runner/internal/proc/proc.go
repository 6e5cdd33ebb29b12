// Package proc runs child processes and ends all their descendants.
//
// It handles process groups, signals and pipes, and finds processes that a child started and left
// behind. It doesn't know agents, scripts or runs. It treats output as bytes, and only its caller knows
// why a child is stopped.
//
// On Linux, Run returns after all descendants of a child have ended, even if they started a new session
// or forked twice. On other Unix systems, only the child's process group is ended. On Windows, a child
// and all its descendants belong to a job object, which ends together with this process. A process that
// another program started for the child, such as a scheduled task, doesn't belong to it.
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

// MarkVar is the environment variable that contains the mark of a child. Its descendants inherit it.
const MarkVar = "RAYMOND_MARK"

// Options describe a child. Only Path is required.
type Options struct {
	Path string   // path or name of the program; a name without a separator is looked up on PATH
	Args []string // the arguments, without argv[0]
	// CommandLine is used only on Windows. If it is set, the child gets it unchanged in place of Path and
	// Args.
	CommandLine string
	// Dir is the working directory. If it is empty, the child starts in the directory of this process.
	Dir string
	// Env is the complete environment. If a name occurs twice, the later entry is used.
	Env []string

	// Mark is the value of MarkVar in the child's environment. If it is empty, the variable isn't set. Run
	// uses it to find processes that the child leaves behind, so no two children may have the same Mark at
	// the same time.
	Mark string

	// Stdin is the complete input of the child. If it is empty, the child's stdin is the null device. Run
	// doesn't wait until the child has read it.
	Stdin []byte
	// Stdout receives the output as it arrives, from one goroutine. The bytes are valid only during the
	// call. If Write returns an error, the child is ended (ByWriter) and further output is dropped. If
	// Stdout is nil, all output is dropped.
	Stdout io.Writer
	// Stderr is like Stdout, but is used by another goroutine. If Write returns an error, the child is
	// not ended, and only further output is dropped. Exit.StderrTail is set in any case.
	Stderr io.Writer
	// MergeStderr sends stderr to the same pipe as stdout, so that the order of the writes is kept. Stderr and
	// Exit.StderrTail then stay empty.
	MergeStderr bool

	Timeout time.Duration // maximum time since the start; 0 means no limit
	Idle    time.Duration // maximum time without output on stdout or stderr; 0 means no limit
	// LastWait returns when the child last waited for this program. The time until then doesn't count as
	// idle time. It may be nil.
	LastWait func() time.Time

	// InterruptGroup sends SIGINT and SIGTERM to the child's whole process group. Otherwise, only the child
	// gets them. SIGKILL always goes to the group.
	InterruptGroup bool
	// DeathSignal is the signal that the child gets when this process dies for any reason. If it is 0, the
	// child gets none. It has an effect only on Linux.
	DeathSignal syscall.Signal
	// NoNewPrivs prevents the child and its descendants from gaining privileges: programs like sudo run
	// without their privileges. If the kernel doesn't support this, the child is not started. On systems
	// other than Linux, NoNewPrivs has no effect.
	NoNewPrivs bool
	// Cage confines the child and its descendants. It may be nil. A caged child runs in its own session and
	// can't gain privileges. Processes that it leaves behind are found by a mark that they can't remove.
	// That mark is computed from Mark, so Mark must be set. Cages exist only on Linux. On other systems, a
	// child with a Cage is not started.
	Cage *cage.Cage

	// Finished may be nil. The caller closes it when the child has printed everything that is needed and
	// has had enough time to exit. If the child is still running then, it is ended (ByLateExit).
	Finished <-chan struct{}

	// DebugDir is an existing directory in which Run records the command, Stdin (as a prompt) and the
	// outputs. If it is empty, nothing is recorded. DebugStdout is the extension of the file that contains
	// stdout.
	DebugDir, DebugStdout string

	// Ladder determines how the child is ended. If it is zero, DefaultLadder is used. If the context is done
	// and its cause has a method Patience() (term, kill time.Duration), the Ladder with these values is used
	// instead.
	Ladder Ladder
}

// Ladder describes how a child is ended: with SIGINT immediately, with SIGTERM after the time Term, and with
// SIGKILL after the further time Kill. On Windows, a child is killed immediately.
type Ladder struct{ Term, Kill time.Duration }

// DefaultLadder gives an agent CLI enough time to report its cost.
var DefaultLadder = Ladder{Term: 5 * time.Second, Kill: 3 * time.Second}

// EndReason is the reason why Run ended a child.
type EndReason string

// The reasons for which Run ends a child.
const (
	ByItself   EndReason = ""        // Run didn't end the child
	ByTimeout  EndReason = "timeout" // Options.Timeout was reached
	ByIdle     EndReason = "idle"    // Options.Idle was reached
	ByStop     EndReason = "stopped" // the context was done
	ByLateExit EndReason = "settled" // the child was still running after Options.Finished was closed; not a failure
	ByWriter   EndReason = "writer"  // Options.Stdout returned an error
)

// Exit describes how a child ended.
type Exit struct {
	Code   int    // exit code; -1 if a signal ended the child or it did not start
	Signal string // the signal that ended the child, as in "SIGKILL"; "" if it exited
	// Ended is the reason why Run ended the child. It is set even if the child then exits with code 0.
	Ended      EndReason
	StderrTail []byte // the end of stderr, at most StderrTailSize bytes
	Swept      int    // number of processes that the child left behind and that Run ended
	Survivors  int    // number of processes that the child left behind and that this process may not kill
}

// codeKilled is the exit code of a shell whose command was killed: 128 plus the number of SIGKILL.
const codeKilled = 137

// Describe describes how a child ended, for example as "exit code 3". If raymond didn't end the child
// and SIGKILL did, the likely cause is added.
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

// LeftoverNotes returns notes about processes that a child left behind. whose is the word for the child
// in these notes, such as "script".
func (e Exit) LeftoverNotes(whose string) (notes []string) {
	if e.Swept > 0 {
		notes = append(notes, fmt.Sprintf("ended processes that the %s left behind: %d", whose, e.Swept))
	}
	if e.Survivors > 0 {
		notes = append(notes, fmt.Sprintf("processes that the %s left behind and that can't be ended: %d", whose, e.Survivors))
	}
	return notes
}

// StderrTailSize is the maximum number of bytes from the end of stderr that an Exit contains.
const StderrTailSize = 4096

// StderrEnd returns the end of stderr for use in a message. If stderr was longer than the tail, the tail
// may begin in the middle of a secret, which could then not be recognized and masked. StderrEnd
// therefore omits the first line of the tail or, if there is no line feed in the first half, the first
// half.
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

// Run starts a child and returns when the child and all its descendants have ended. It returns an error
// only if the child could not be started. The error wraps fs.ErrNotExist, fs.ErrPermission or a
// syscall.Errno such as E2BIG, and names the file or directory. If ctx is done before the start, Run
// starts no process, and Exit.Ended is ByStop.
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
