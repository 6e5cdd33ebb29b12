package action

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
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
func (e Env) Getenv(name string) string {
	value := ""
	for _, kv := range e.Environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

func (e Env) warn(line string) {
	fmt.Fprintln(e.Stderr, "raymond: warning: "+text.Escaped(problem.Bounded(line)))
}

// Tool is a command of the program that starts no agent, such as lint.
type Tool struct {
	Args    []string // beginning with its name
	Environ []string
	Stdout  io.Writer
	Stderr  io.Writer
}

// machineProblem is an error of the machine that the job runs on.
func machineProblem(where string, err error) error {
	return &problem.Problem{Class: problem.ClassRuntime, Where: where, What: err.Error()}
}
