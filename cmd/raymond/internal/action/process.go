package action

import (
	"errors"
	"os"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/claims"
	"github.com/raymond-action/raymond-action/runner/shell"
)

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
		Protect: func() error { return errors.Join(shell.Undumpable(), shell.Adopt()) },
		Enter: func(dir string) (string, error) {
			if err := os.Chdir(dir); err != nil {
				return "", err
			}
			return os.Getwd()
		},
		Gone: func(e Env) []<-chan struct{} {
			out, _ := e.Stdout.(*os.File) // in a job it is one
			signs := []<-chan struct{}{shell.Gone(out)}
			if e.Getenv(shell.ShimStdin) == "1" {
				signs = append(signs, shell.ParentGone(os.Stdin))
			}
			return signs
		},
		Self: claims.ThisProcess, Alive: claims.Alive, EndAll: shell.EndAll,
		Signal: func(pid int, s os.Signal) error {
			p, err := os.FindProcess(pid)
			if err != nil {
				return err
			}
			return p.Signal(s)
		},
	}
}
