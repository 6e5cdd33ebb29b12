package main

import (
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude"
	"github.com/raymond-action/raymond-action/runner/claude/keyproxy"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/state"
)

// host is what a run is given by who started it: a shell or a job.
type host struct {
	agents, scripts []string                            // their environments
	redact          func(string) string                 // hides secrets in what is told
	people          func(*drive) error                  // adds the reporters that people read
	claude          string                              // the agent CLI; "" for the one on PATH
	claudeArgs      []string                            // more arguments for the agent CLI
	noNewPrivs      bool                                // agents can't gain privileges
	checkpoints     runner.Checkpoints                  // stores the run for later jobs; nil for none
	rest            func(*state.Run)                    // told the run at its end, before the reporters
	installer       claude.Installer                    // gets the agent CLI when there is none; nil for nobody
	mask            func(string) string                 // hides secrets in every text of every event; nil for none
	proxy           *keyproxy.Proxy                     // stands between agents and the API; nil for none
	gone            <-chan struct{}                     // closed when who started the run is gone
	stop            <-chan string                       // brings another reason to end the run as a signal does
	signalled       func(string) string                 // words for a signal by which the run was cancelled; nil: its name
	prompts         func(runner.Backend) runner.Backend // wraps what prompts are run with; nil leaves it
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
