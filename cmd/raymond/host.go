package main

import (
	"context"
	"time"

	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/state"
)

// host is what a run is given by who started it: a shell or a job.
type host struct {
	agents, scripts []string            // their environments
	redact          func(string) string // hides secrets in what is told
	people          func(*drive) error  // adds the reporters that people read
	claude          string              // the agent CLI; "" for the one on PATH
	claudeArgs      []string            // more arguments for the agent CLI
	noNewPrivs      bool                // agents can't gain privileges
	saved           func(*state.Run, time.Time) (again bool)
	aside           <-chan state.Body
	rest            func(*state.Run)                      // told the run at its end, before the reporters
	install         func(context.Context) (string, error) // gets the agent CLI when there is none
	mask            func(string) string                   // hides secrets in every text of every event; nil for none
	gone            <-chan struct{}                       // closed when who started the run is gone
}

// shellHost is the host of a run that was started from a shell.
func (a *App) shellHost(o *options) *host {
	env := childEnviron(a.Environ)
	path := o.claude
	if path == "" {
		path = a.Getenv("RAYMOND_CLAUDE")
	}
	return &host{agents: env, scripts: env, redact: shell.Redactor(a.Environ), people: (*drive).console, claude: path}
}
