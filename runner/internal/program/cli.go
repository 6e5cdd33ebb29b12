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

// CLI is an agent CLI on this machine. It may run any number of invocations at once. Its fields must
// not change after the first invocation.
type CLI struct {
	// Path is the program; "" means the one on PATH. Run locates it and checks its version before the
	// first invocation.
	Path      string
	Installer Installer // used if Path is "" and PATH lacks the program; nil: only the user installs it
	Tested    string    // the newest tested version, or ""; a newer one causes a note
	Env       []string  // the complete base environment
	// NoNewPrivs keeps the CLI and the tools that it runs from gaining privileges, for example with
	// sudo. Linux only.
	NoNewPrivs bool
	// IsUntrusted makes the CLI ignore the working directory's instructions, settings, hooks and MCP
	// servers.
	IsUntrusted bool
	Proxy       *keyproxy.Proxy // between the CLI and its API; nil for none
	// ResultGrace is how long the CLI may take to exit after its result before it is ended. 0 means
	// 10 s, which covers the 5 s that Claude Code gives its own background shells.
	ResultGrace time.Duration

	mu      sync.Mutex // guards found and checked, and allows only one version check at a time
	found   Found
	checked Version // set by Check
}

// Prompt contains the parts of a prompt run that differ between agent CLIs.
type Prompt struct {
	Source Source
	// Prepare prepares the conversation and returns the invocation, with notes for people.
	Prepare func() (Turn, []string, *runner.Failure)
}

// Turn is an invocation of a CLI that is ready to start.
type Turn struct {
	Stream *Stream // reads the output
	// Start returns the command line and the environment; Run sets the fields that are the same for
	// all CLIs. By then, Stream.Order has the variables of the key proxy. The account is nil if the
	// CLI doesn't use a key proxy.
	Start func(*keyproxy.Account) (proc.Options, *runner.Failure)
	// Answer returns the result after the process has ended.
	Answer func(proc.Exit) (runner.Answer, *runner.Failure)
}

// Run runs a prompt as runner.Backend describes. The error is nil or a *runner.Failure. A complete
// answer makes it nil, whatever the process does afterwards.
func (c *CLI) Run(ctx context.Context, o runner.Order, report func(runner.Progress), p Prompt) (runner.Answer, error) {
	if strings.TrimSpace(o.Prompt.Text) == "" {
		return NoAnswer, Fatal("the prompt is empty: agent CLIs accept no prompt that contains only spaces and line breaks; add text to the state, or check the values that it inserts")
	}
	began := time.Now()
	found, fail := c.Find(ctx, p.Source, o, func(line string) { report(runner.Progress{Note: line}) })
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

// ask starts the CLI, with an account of the key proxy if there is one, and returns the result.
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
	account.Close() // processes that are left over can't spend anything from here on
	a, fail := t.Answer(exit)
	return a, AddProxyCause(fail, account)
}
