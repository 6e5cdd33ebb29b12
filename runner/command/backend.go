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

// Backend runs prompts with a program that the user provides (the agent command). It implements
// runner.Backend and can run any number of invocations at the same time. Its fields must not change
// after the first call of Run.
type Backend struct {
	// Command is the shell command that is executed for each prompt.
	Command string
	// Env is the complete base environment.
	Env []string
	// Proxy is the key proxy. Through it, the program calls the APIs for which the proxy has a key. It may
	// be nil.
	Proxy *keyproxy.Proxy
	// NoNewPrivs prevents the program and its descendants from gaining privileges. It has an effect only on
	// Linux.
	NoNewPrivs bool

	// toolsNote ensures that only one answer contains the note that raymond can't enforce the lists of tools.
	toolsNote sync.Once
}

// Abilities returns what an agent command can support.
func Abilities() runner.Abilities {
	return runner.Abilities{
		Backend: protocol.BackendCommand, Title: "your own program",
		ReportsUSD: true,
	}
}

// Needs returns what the program needs in a cage: its files and the address of the key proxy. Run also
// allows a caged program to write its conversation file.
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
func (b *Backend) Run(ctx context.Context, o runner.Order, report func(runner.Progress)) (runner.Answer, error) {
	if strings.TrimSpace(b.Command) == "" {
		return program.NoAnswer, program.Machine("no agent command: set --agent-command")
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
	s := newStream(o, report)
	a, fail := b.ask(ctx, s, file)
	files, c := b.files(), runner.Conversation{ID: o.Prompt.SessionID}
	if n, ok := files.Length(c); ok && n == 0 {
		_ = files.Clear(c, nil) // if this fails, an empty file remains, which does no harm
	}
	a.CLI = Abilities().Title + " " + program.OneLine(s.Display.Hide(b.Command), 200)
	if len(o.Prompt.Permissions.AllowedTools)+len(o.Prompt.Permissions.DisallowedTools) > 0 {
		b.toolsNote.Do(func() {
			a.Notes = slices.Concat([]string{"the agent command gets the lists of allowed and disallowed tools; raymond can't check whether it obeys them"}, a.Notes)
		})
	}
	if fail != nil {
		return a, fail
	}
	return a, nil
}

// ask runs the program and returns the result. It opens an account for each API for which the key proxy
// has a key.
func (b *Backend) ask(ctx context.Context, s *stream, file string) (runner.Answer, *runner.Failure) {
	bash, err := proc.Bash()
	if err != nil {
		return program.NoAnswer, program.Machine("run the agent command with bash: %v", err)
	}
	for _, backend := range protocol.Backends() {
		if account := b.Proxy.Open(backend, s.Order.Mark); account != nil {
			s.costs.proxied = append(s.costs.proxied, account)
		}
	}
	defer s.costs.proxied.close()
	defer s.costs.proxied.watch(s.Display.ReportUsage)()
	exit, fail := s.Run(ctx, proc.Options{
		Path: bash, Args: []string{"-c", b.Command}, Env: b.env(s.Order, file, s.costs.proxied), Stdout: s,
		// Bash handles a signal only after its foreground command has ended, so the whole process group gets it.
		InterruptGroup: true, NoNewPrivs: b.NoNewPrivs, LastWait: s.costs.proxied.lastWait,
	}, "")
	if fail != nil {
		return program.NoAnswer, fail
	}
	s.flush()
	// Processes that the program left behind must not be able to spend more.
	s.costs.proxied.close()
	a, fail := s.answer(exit)
	return a, program.AddProxyCause(fail, s.costs.proxied...)
}

// env returns the environment of the program. It contains the base environment, the variables of the
// order and of the key proxy, and RAYMOND_ variables that describe the conversation and the settings.
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
	access := each(proxied, func(a *keyproxy.Account) []string { return a.Env(o.Env) })
	return slices.Concat(b.Env, o.Env, access, []string{
		"RAYMOND_SESSION_MODE=" + string(p.Session), "RAYMOND_SESSION=" + session, "RAYMOND_SESSION_FILE=" + file,
		"RAYMOND_MODEL=" + p.Model, "RAYMOND_EFFORT=" + p.Effort, "RAYMOND_PERMISSION_MODE=" + mode,
		"RAYMOND_ALLOWED_TOOLS=" + strings.Join(p.Permissions.AllowedTools, "\n"), "RAYMOND_DISALLOWED_TOOLS=" + strings.Join(p.Permissions.DisallowedTools, "\n"),
		"RAYMOND_BUDGET_USD=" + budget,
	})
}
