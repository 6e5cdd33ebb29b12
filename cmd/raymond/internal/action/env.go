package action

import (
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/shell"
)

// Env is the process as the step finds it.
type Env struct {
	Version string // of the program
	Environ []string
	Stdout  io.Writer // the job log
	Stderr  io.Writer
	Run     func(Tool) int // runs another command of the program, and returns its exit code

	Process   Process
	Backends  session.Backends
	Clock     runner.Clock      // of the run; zero for the machine's
	Transport http.RoundTripper // to the forge and its artifacts; nil for the machine's
}

// Getenv returns a variable of the environment; "" for none.
func (e Env) Getenv(name string) string { return workspace.Getenv(e.Environ, name) }

// Tool is a command of the program that starts no agent, such as lint.
type Tool struct {
	Args    []string // beginning with its name
	Environ []string
	Stdout  io.Writer
	Stderr  io.Writer
}

// Process is the process that a step runs in: what the step does to all of it, and learns of it.
type Process struct {
	Protect func() error                     // nothing that it starts may read its memory, or leave it
	Enter   func(dir string) (string, error) // changes its directory, and returns what the system calls that
	Gone    func(Env) []<-chan struct{}      // one is closed when who has started it is gone
	Signals <-chan os.Signal                 // that ask it to end; nil: those that the system sends it
	Self    func() slots.Process             // tells it from all others
	Alive   func(slots.Process) (alive, known bool)
	EndAll  func() []string // ends all that descends from it, and returns what it could not
	Signal  func(pid int, s os.Signal) error
}

// ThisProcess is the program on its own.
func ThisProcess() Process {
	return Process{
		Protect: func() error { _ = shell.AdoptOrphans(); return shell.MakeUndumpable() }, // the session says what Adopt could not
		Enter: func(dir string) (string, error) {
			if err := os.Chdir(dir); err != nil {
				return "", err
			}
			return os.Getwd()
		},
		Gone: func(e Env) []<-chan struct{} {
			out, _ := e.Stdout.(*os.File) // in a job it is one
			signs := []<-chan struct{}{shell.WatchParent(out)}
			if e.Getenv(shell.ShimStdin) == "1" {
				signs = append(signs, shell.ParentGone(os.Stdin))
			}
			return signs
		},
		Self: checkpoints.ThisProcess, Alive: checkpoints.Alive, EndAll: shell.EndDescendants,
		Signal: func(pid int, s os.Signal) error {
			p, err := os.FindProcess(pid)
			if err != nil {
				return err
			}
			return p.Signal(s)
		},
	}
}

// When the runner dies, nobody sees the step any more, no post part comes, and
// the next job may resume the run: so agents end as on a cancel, and the run
// is stored here, once.

// watchRunner returns a channel that is closed when the runner is gone, and the
// log to write to: a failed write is one of the signs.
func watchRunner(e Env) (<-chan struct{}, io.Writer) {
	gone := make(chan struct{})
	end := sync.OnceFunc(func() { close(gone) })
	for _, sign := range e.Process.Gone(e) {
		go func() {
			<-sign
			end()
		}()
	}
	return gone, &watched{e.Stdout, end}
}

// watched is an output of which a failed write is told.
type watched struct {
	w      io.Writer
	failed func()
}

// Write implements io.Writer.
func (w *watched) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	if err != nil {
		w.failed()
	}
	return n, err
}
