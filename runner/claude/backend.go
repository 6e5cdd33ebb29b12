package claude

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude/keyproxy"
	"github.com/raymond-action/raymond-action/runner/claude/transcript"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/state"
)

// Backend runs prompts with the Claude Code CLI. It implements runner.Backend
// and may run any number of invocations at once. Its fields
// must not change after the first call.
type Backend struct {
	// Path is the CLI; "" for "claude" on PATH. It is looked for, and its version
	// checked, before the first invocation.
	Path string
	// Installer installs the CLI where Path is "" and there is none on PATH; nil
	// leaves it to the user.
	Installer Installer
	// Tested is the newest version that this package was tested with, "" when nobody
	// knows; a newer one is noted.
	Tested string
	// Args are added at the end of every command line.
	Args []string
	// Env is the whole base environment. The switches of this package are added
	// to it as far as it does not set them.
	Env []string
	// ResultGrace is how long the CLI may take to exit after its result record before
	// it is ended; 0 means 10 s, which covers the 5 s that it gives its own background
	// shells.
	ResultGrace time.Duration
	// Proxy is what the CLI asks the API through; nil for nothing. Its variables
	// must be in Env.
	Proxy *keyproxy.Proxy
	// NoNewPrivs keeps the CLI, and the tools that it runs, from gaining
	// privileges, by sudo for one. Linux only.
	NoNewPrivs bool

	mu    sync.Mutex // guards found, and keeps the check to one at a time
	found cli        // the checked CLI
}

// Installer installs the CLI.
type Installer interface {
	// Install returns the path of a CLI that can be run. It is called once at a
	// time, before the first invocation, and calls say with what it does, a line
	// for the log each time. It returns soon after ctx is done.
	Install(ctx context.Context, say func(line string)) (path string, err error)
}

var (
	_ runner.Backend  = (*Backend)(nil)
	_ runner.Sessions = transcript.Folder{}
)

// nothing is what an invocation brings that did not start: it costs nothing.
var nothing = runner.Answer{Cost: state.Cost{Silent: true}}

// Run implements runner.Backend for prompts. The error is nil or a
// *runner.Failure; a good result record makes it nil, whatever the process did
// after that.
func (b *Backend) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	if strings.TrimSpace(o.Prompt.Text) == "" {
		return nothing, fatal("prompt is empty: the agent CLI takes none that is blank")
	}
	began := time.Now()
	c, fail := b.cli(ctx, o, func(line string) { tell(runner.Progress{Note: line}) })
	prepared := time.Since(began)
	if fail != nil {
		return runner.Answer{Prepared: prepared, Cost: nothing.Cost}, fail
	}
	notes, fail := b.prepare(o)
	if fail != nil {
		return runner.Answer{Notes: notes, Prepared: prepared, Cost: nothing.Cost}, fail
	}
	s := newStream(o, tell)
	s.costs.prior = b.priorCount(o)
	a, fail := b.ask(ctx, c.path, s)
	a.Notes, a.CLI, a.Prepared = append(notes, a.Notes...), c.String(), prepared
	if fail != nil {
		return a, fail
	}
	return a, nil
}

// ask runs the CLI, through the proxy where there is one.
func (b *Backend) ask(ctx context.Context, path string, s *stream) (runner.Answer, *runner.Failure) {
	if b.Proxy == nil {
		return b.invoke(ctx, path, s)
	}
	account := b.Proxy.Open(s.order.Mark)
	defer account.Close()
	defer s.through(account)()
	a, fail := b.invoke(ctx, path, s)
	switch {
	case fail == nil:
	case account.IsSpent() && fail.Class != runner.Stopped:
		fail = &runner.Failure{Class: runner.OverBudget, Continue: true, Message: "the budget is used up: the key proxy forwards no further request"}
	case fail.Class == runner.Service:
		fail.NotBefore = account.RetryAfter()
	}
	return a, fail
}

// invoke starts the CLI and says what came of it.
func (b *Backend) invoke(ctx context.Context, path string, s *stream) (runner.Answer, *runner.Failure) {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	s.abort = abort
	s.timer = newResultTimer(b.resultGrace())
	defer s.timer.stop()

	options := b.options(path, s.order)
	options.Stdout, options.Finished = s, s.timer.done
	rec := proc.NewRecorder(s.order.DebugDir)
	rec.Prompt(s.order.Prompt.Text)
	rec.Record(&options, ".jsonl")
	defer rec.Close()
	exit, err := proc.Run(ctx, options)
	if err != nil {
		return nothing, notStarted(err)
	}
	s.flush()
	s.costs.close() // whatever the process left behind uses nothing from here on
	return s.answer(exit)
}

func (b *Backend) resultGrace() time.Duration {
	if b.ResultGrace > 0 {
		return b.ResultGrace
	}
	return 10 * time.Second
}

func (b *Backend) options(path string, o runner.Order) proc.Options {
	return proc.Options{
		Path: path, Args: b.args(o), Dir: o.Dir, Env: b.env(o.Env),
		MarkVar: runner.MarkVar, Mark: o.Mark,
		Stdin:   []byte(o.Prompt.Text),
		Timeout: o.Timeout, Idle: o.Idle,
		// An orphaned CLI would continue to the end of its turn and spend money.
		DeathSignal: syscall.SIGINT,
		ExitGrace:   time.Millisecond, // resultTimer does the waiting
		NoNewPrivs:  b.NoNewPrivs,
		Cage:        o.Prompt.Cage,
	}
}

// notStarted says what a failed start means. What is missing or forbidden stays
// so; a machine short of processes or memory may recover.
func notStarted(err error) *runner.Failure {
	f := &runner.Failure{Class: runner.Transient, NotStarted: true, Message: fmt.Sprintf("start the agent CLI: %v", err)}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		f.Class = runner.Machine
		f.Message += "; " + howToInstall
	case errors.Is(err, syscall.E2BIG):
		f.Class = runner.Fatal
	}
	return f
}

func fatal(format string, args ...any) *runner.Failure {
	return &runner.Failure{Class: runner.Fatal, Message: fmt.Sprintf(format, args...)}
}
