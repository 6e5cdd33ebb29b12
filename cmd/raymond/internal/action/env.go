package action

import (
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/artifacts/workspace"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/store"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/shell"
)

// Env is the environment of a step.
type Env struct {
	Version string // of the program
	Environ []string
	Stdout  io.Writer // the job log
	Stderr  io.Writer
	Run     func(Tool) int // runs another command of the program, and returns its exit code

	Process   Process
	Backends  session.Backends
	Clock     runner.Clock      // of the run; zero for the system clock
	Transport http.RoundTripper // for requests to the forge and its artifacts; nil for the default

	Interval time.Duration                  // minimum time between two checkpoints while the run is driven
	NewStore func(store.Config) store.Store // nil for store.New
}

// Getenv returns the value of an environment variable, or "" if it is not set.
func (e Env) Getenv(name string) string { return workspace.Getenv(e.Environ, name) }

// newStore returns the store that connects to the job with c.
func (e Env) newStore(c store.Config) store.Store {
	if e.NewStore != nil {
		return e.NewStore(c)
	}
	return store.New(c)
}

// Tool is a command of the program that starts no agent, for example lint.
type Tool struct {
	Args    []string // beginning with its name
	Environ []string
	Stdout  io.Writer
	Stderr  io.Writer
}

// Process gives access to the process that runs the step.
type Process struct {
	Protect func() error                     // keeps children from reading its memory and from outliving it
	Enter   func(dir string) (string, error) // changes the working directory and returns its name as the system reports it
	Gone    func(Env) []<-chan struct{}      // a channel is closed when the process that started the step is gone
	Signals <-chan os.Signal                 // signals that ask the step to end; nil for the signals of the system
	Self    func() slots.Process             // identifies this process
	Alive   func(slots.Process) (alive, known bool)
	EndAll  func() []string // ends all descendants and returns the names of processes that it could not end
	Signal  func(pid int, s os.Signal) error
}

// ThisProcess returns a Process for the process of this program.
func ThisProcess() Process {
	return Process{
		Protect: func() error { _ = shell.AdoptOrphans(); return shell.MakeUndumpable() }, // the session reports a failure of AdoptOrphans
		Enter: func(dir string) (string, error) {
			if err := os.Chdir(dir); err != nil {
				return "", err
			}
			return os.Getwd()
		},
		Gone: func(e Env) []<-chan struct{} {
			out, _ := e.Stdout.(*os.File) // a file in every job
			signs := []<-chan struct{}{shell.WatchParent(out)}
			if e.Getenv(shell.ShimStdin) == "1" {
				signs = append(signs, shell.ParentGone(os.Stdin))
			}
			return signs
		},
		Self: store.ThisProcess, Alive: store.Alive, EndAll: shell.EndDescendants,
		Signal: func(pid int, s os.Signal) error {
			p, err := os.FindProcess(pid)
			if err != nil {
				return err
			}
			return p.Signal(s)
		},
	}
}

// When the runner dies, the log of the step is lost and no post phase follows, but the next job may
// resume the run. The agents therefore end as on a cancellation, and the main phase stores the run
// once.

// watchRunner returns a channel that is closed when the runner is gone, and the writer for the job
// log. A failed write to the log also means this.
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

// watched is a writer that calls failed after a failed write.
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
