package program

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// CLI is an agent CLI on this machine. It may run any number of invocations at once. Its fields must not change after the
// first one.
type CLI struct {
	// Path is the program; "" for the one on PATH. It is looked for, and its version checked, before the first invocation.
	Path      string
	Installer Installer // for Path "" and a PATH without it; nil leaves it to the user
	Tested    string    // the newest version that was tested, "" when nobody knows; a newer one is noted
	Env       []string  // the whole base environment
	// NoNewPrivs keeps the CLI, and the tools that it runs, from gaining privileges, by sudo for one. Linux only.
	NoNewPrivs bool
	// IsUntrusted says that nothing in the working directory is obeyed: instructions, settings, hooks, servers.
	IsUntrusted bool
	Proxy       *keyproxy.Proxy // that it asks the API through; nil for nothing
	// ResultGrace is how long the CLI may take to exit after its result before it is ended; 0 means 10 s, which covers the 5 s
	// that Claude Code gives its own background shells.
	ResultGrace time.Duration

	mu      sync.Mutex // guards what follows, and keeps the check of the version to one at a time
	found   Found
	checked Version // by Check
}

// Prompt is how the package of a CLI runs a prompt.
type Prompt struct {
	Source Source
	// Prepare makes ready what the order needs, and has notes for people.
	Prepare func() (Turn, []string, *runner.Failure)
}

// Turn is an invocation of a CLI that has been prepared.
type Turn struct {
	Stream *Stream // reads the output
	// Start returns what the CLI is started with, but for the fields that are the same for all CLIs. The order of the stream
	// has the variables of the key proxy then; there may be no account with it.
	Start func(*keyproxy.Account) (proc.Options, *runner.Failure)
	// Answer says what a process brought that has ended.
	Answer func(proc.Exit) (runner.Answer, *runner.Failure)
}

// Run runs a prompt, as runner.Backend says. The error is nil or a *runner.Failure; a good result makes it nil, whatever the
// process did after that.
func (c *CLI) Run(ctx context.Context, o runner.Order, tell func(runner.Progress), p Prompt) (runner.Answer, error) {
	if strings.TrimSpace(o.Prompt.Text) == "" {
		return NoAnswer, Fatal("prompt is empty: the agent CLI takes none that is blank")
	}
	began := time.Now()
	found, fail := c.Find(ctx, p.Source, o, func(line string) { tell(runner.Progress{Note: line}) })
	a, prepared := NoAnswer, time.Since(began)
	var notes []string
	if fail == nil {
		var t Turn
		if t, notes, fail = p.Prepare(); fail == nil {
			a, fail = c.ask(ctx, p.Source, found, t)
			a.CLI = found.String()
		}
	}
	a.Notes, a.Prepared = append(notes, a.Notes...), prepared
	if fail != nil {
		return a, fail
	}
	return a, nil
}

// ask starts the CLI, which asks through the proxy where there is one, and says what came of it.
func (c *CLI) ask(ctx context.Context, s Source, found Found, t Turn) (runner.Answer, *runner.Failure) {
	o := &t.Stream.Order
	t.Stream.grace = cmp.Or(c.ResultGrace, 10*time.Second)
	account := c.Proxy.Open(s.Backend, o.Mark)
	defer account.Close()
	defer account.Watch(t.Stream.Display.ReportUsage)()
	o.Env = slices.Concat(o.Env, account.Env(o.Env))
	in, fail := t.Start(account)
	if fail != nil {
		return NoAnswer, fail
	}
	in.Path, in.Stdout, in.NoNewPrivs, in.LastWait = found.Path, t.Stream, c.NoNewPrivs, account.LastWait
	exit, fail := t.Stream.Run(ctx, in, s.HowTo)
	if fail != nil {
		return NoAnswer, fail
	}
	t.Stream.Flush()
	account.Close() // whatever the process left behind uses nothing from here on
	a, fail := t.Answer(exit)
	return a, AddProxyCause(fail, account)
}
