package command

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/proc"
	"github.com/raymond-action/raymond-action/runner/internal/program"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
	"github.com/raymond-action/raymond-action/state"
)

// Backend runs prompts with a program of the user's own. It implements runner.Backend and may run
// any number of invocations at once. Its fields must not change after the first call.
type Backend struct {
	// Command is what the shell runs for each prompt.
	Command string
	// Env is the whole base environment.
	Env []string
	// Proxy is what the program asks APIs through, as far as it has keys for them; nil for
	// nothing.
	Proxy *keyproxy.Proxy
	// NoNewPrivs keeps the program, and what it starts, from gaining privileges. Linux only.
	NoNewPrivs bool

	settings sync.Once // what is only handed over has been noted
}

// Abilities is what a program can do that makes use of all that it is offered.
func Abilities() runner.Abilities {
	return runner.Abilities{
		Backend: protocol.BackendCommand, Title: "your own program",
		ReportsUSD: true,
	}
}

// Needs implements runner.Agent. Of the folder with conversations a program in a cage may write
// the one file that is its own.
func (b *Backend) Needs() runner.Needs {
	words := strings.Fields(b.Command)
	if len(words) == 0 {
		return runner.Needs{}
	}
	needs := runner.Needs{Read: program.ProgramFiles(words[0])}
	if b.Proxy != nil {
		needs.Hosts = []string{b.Proxy.Address()}
	}
	return needs
}

// Run implements runner.Backend for prompts. The error is nil or a *runner.Failure.
func (b *Backend) Run(ctx context.Context, o runner.Order, tell func(runner.Progress)) (runner.Answer, error) {
	if strings.TrimSpace(b.Command) == "" {
		return program.NoAnswer, program.Machine("there is no agent command: give one with --agent-command")
	}
	file, fail := b.files().prepare(o.Prompt)
	if fail != nil {
		return program.NoAnswer, fail
	}
	if o.Cage != nil {
		p := o.Cage.Policy()
		p.Writable = append(slices.Clone(p.Writable), file)
		o.Cage = cage.New(p)
	}
	s := newStream(o, tell)
	a, fail := b.ask(ctx, s, file)
	kept, c := b.files(), runner.Conversation{ID: o.Prompt.SessionID}
	if n, ok := kept.Length(c); ok && n == 0 {
		_ = kept.Clear(c, nil) // one that stays does no harm
	}
	a.CLI = Abilities().Title + " " + program.OneLine(s.Display.Hide(b.Command), 200)
	if len(o.Prompt.Permissions.AllowedTools)+len(o.Prompt.Permissions.DisallowedTools) > 0 {
		b.settings.Do(func() {
			a.Notes = slices.Concat([]string{"the agent command is told which tools are allowed and disallowed; whether it keeps to that is not known"}, a.Notes)
		})
	}
	if fail != nil {
		return a, fail
	}
	return a, nil
}

// ask runs the program, through the proxy where there is one.
func (b *Backend) ask(ctx context.Context, s *stream, file string) (runner.Answer, *runner.Failure) {
	bash, err := proc.Bash()
	if err != nil {
		return program.NoAnswer, program.Machine("the agent command is run by bash: %v", err)
	}
	for _, backend := range protocol.Backends() {
		if account := b.Proxy.Open(backend, s.Order.Mark); account != nil {
			s.costs.proxied = append(s.costs.proxied, account)
		}
	}
	defer s.costs.proxied.close()
	defer s.costs.proxied.follow(s.Display.ReportUsage)()
	exit, fail := s.Run(ctx, proc.Options{
		Path: bash, Args: []string{"-c", b.Command}, Env: b.env(s.Order, file, s.costs.proxied), Stdout: s,
		// The shell waits for what it runs before it looks at a signal.
		InterruptGroup: true, NoNewPrivs: b.NoNewPrivs, LastWait: s.costs.proxied.waited,
	}, "")
	if fail != nil {
		return program.NoAnswer, fail
	}
	s.flush()
	s.costs.proxied.close() // whatever the process left behind uses nothing from here on
	a, fail := s.answer(exit)
	return a, program.AddProxyCause(fail, s.costs.proxied...)
}

// env returns the program's environment: the base environment, what the order adds to it, how
// APIs are reached, and what is told of the conversation and of the settings.
func (b *Backend) env(o runner.Order, file string, proxied accounts) []string {
	p, budget := o.Prompt, ""
	if p.BudgetCap > 0 {
		budget = p.BudgetCap.String()
	}
	session := p.CLIID
	if p.Session == state.Fresh {
		session = ""
	}
	mode := p.Permissions.PermissionMode
	if p.Permissions.SkipPermissions {
		mode = "bypassPermissions"
	}
	return slices.Concat(b.Env, o.Env, proxied.env(o.Env), []string{
		"RAYMOND_SESSION_MODE=" + string(p.Session), "RAYMOND_SESSION=" + session, "RAYMOND_SESSION_FILE=" + file,
		"RAYMOND_MODEL=" + p.Model, "RAYMOND_EFFORT=" + p.Effort, "RAYMOND_PERMISSION_MODE=" + mode,
		"RAYMOND_ALLOWED_TOOLS=" + strings.Join(p.Permissions.AllowedTools, "\n"), "RAYMOND_DISALLOWED_TOOLS=" + strings.Join(p.Permissions.DisallowedTools, "\n"),
		"RAYMOND_BUDGET_USD=" + budget,
	})
}
