package options

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage/forward"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
)

// What --cage may be.
const (
	CageOn      = "on"      // confined as far as the system can do it
	CageRequire = "require" // confined, or nothing is started
	CageOff     = "off"
)

// What --workspace may be.
const (
	WorkspaceGit  = "git"  // snapshots are taken of the git worktrees that agents work in
	WorkspaceNone = "none" // none are taken
)

// Endless is a Hold without end.
const Endless time.Duration = -1

// What flags may bring, in bytes: --input-file what an agent CLI takes as a prompt. How many commands --done-when may be
// given is convergence.md's.
const (
	maxInput    = 10 << 20
	maxPrices   = 1 << 20
	maxDoneWhen = 64
)

// AddAll defines all flags of a run.
func (o *Options) AddAll() {
	o.AddSimulated()
	o.AddStateDir()
	o.Add("changed-workflow", "WORD", "what a resume does if files of states have changed since the run used them: take (them as they are now; default) or refuse", func(s string) error {
		o.RefuseChanged = s == "refuse"
		_, err := OneOf("take", "refuse")(s)
		return err
	})
	o.AddPrices()
	// The next four are of this process: a resume takes nothing of them from the run.
	o.Hold, o.History, o.Workspace = Endless, state.DefaultHistory, WorkspaceNone
	o.Add("hold", "DUR", "how long to stay for a time that agents wait for, when nothing else is left to do (default: until it comes, but 5m for the end of a usage limit; 0: suspend at once)", Into(&o.Hold, duration))
	o.Add("job", "LIST", "run only the states of these jobs, separated by commas; others wait for their job (default: the states of all jobs)", Into(&o.Jobs, each(jobs)))
	o.Add("history", "SIZE", "how much is kept of the steps of the run, for history and rerun; 0: none (default 64MiB)", Into(&o.History, size))
	o.Add("workspace", "WHAT", "git: keep the files of the agents' git worktrees as they are after each prompt state, for rerun and report; none: don't (default none)",
		Into(&o.Workspace, OneOf(WorkspaceGit, WorkspaceNone)))
	o.addAgents()
	o.AddCage()
	o.Add("script-env", "NAMES", "with a cage, variables that trusted scripts get and agents don't, separated by commas or blanks", Into(&o.ScriptEnv, each(variables)))
}

// AddSimulated defines the flags of a run that a simulation has too.
func (o *Options) AddSimulated() {
	o.Add("input", "TEXT", "payload of the first state", Into(&o.Input, anything))
	o.Add("input-file", "FILE", "the same, read from a file", Into(&o.InputFile, content(maxInput)))
	o.Add("meta", "KEY=VALUE", "template variable of every state (repeatable)", o.addMeta)
	o.Add("name", "PREFIX", "first part of the workflow id (default: the scope's name)", Into(&o.Name, anything))
	o.Add("workflow-id", "ID", "the whole id of the new run", func(s string) error {
		o.WorkflowID = s
		if !state.ValidID(s) {
			return errors.New("want 1 to 64 of a-z, 0-9 and -, not beginning with -, and no name that Windows reserves, such as con")
		}
		return nil
	})
	o.Switch("skip-lint", "start even if lint finds errors about tags in prompts and scripts", Into(&o.SkipLint, ParseBool))
	o.addLimits()
	o.addLoop()
	o.Add("events", "FILE", "copy of the event log, JSON lines (-: stdout)", Into(&o.Events, logFile))
	o.Add("debug-dir", "DIR", "folder for prompts, commands and outputs of every state", Into(&o.DebugDir, folder))
	o.Switch("quiet", "show only failures and the end", Into(&o.Quiet, ParseBool))
	o.Switch("verbose", "show and log what agents say", func(s string) error {
		b, err := ParseBool(s)
		if o.Verbosity = runner.VerbosityNone; b {
			o.Verbosity = runner.VerbosityFull
		}
		return err
	})
}

func (o *Options) addMeta(s string) error {
	key, v, ok := strings.Cut(s, "=")
	if _, err := MetaKey(key); !ok || err != nil {
		return errors.New("want KEY=VALUE with a key of letters, digits and _")
	}
	if _, twice := o.Meta[key]; twice {
		return fmt.Errorf("the key %s is given twice", key)
	}
	o.Meta[key] = v
	return nil
}

// AddStateDir defines the flag of the folder of state files.
func (o *Options) AddStateDir() {
	o.StateDir = state.DefaultDir
	o.Add("state-dir", "DIR", "folder of the state files (default .raymond/state)", Into(&o.StateDir, folder))
}

// AddPrices defines the flag of a file of prices. A resume without it keeps those of the run.
func (o *Options) AddPrices() {
	o.Add("prices", "FILE", "prices of models, which add to the list of raymond and replace it: for agents that tell tokens and no dollars", func(s string) error {
		data, err := files.ReadTarget(s, maxPrices)
		if err != nil {
			return err
		}
		given, err := prices.Read(bytes.NewReader(data))
		o.change(func(run *state.Options) { run.Prices = given })
		return err
	})
}

// addLimits defines the flags of budget, time and numbers.
func (o *Options) addLimits() {
	o.Add("budget", "USD", "limit on the cost of the run (default 10.00; 0: no limit)", ofRun(o, dollars, func(run *state.Options, v state.USD) { run.BudgetUSD = v }))
	number := func(name, text string, least int, at func(*state.Options) *int) {
		o.Add(name, "N", "limit on "+text, ofRun(o, from(least), func(run *state.Options, n int) { *at(run) = n }))
	}
	number("max-iterations", "the state executions of all agents (default: no limit)", 0, func(run *state.Options) *int { return &run.MaxIterations })
	number("max-parallel", "agents that execute at once (default 4)", 1, func(run *state.Options) *int { return &run.MaxParallel })
	number("max-agents", "agents alive at once (default 256)", 1, func(run *state.Options) *int { return &run.MaxAgents })
	number("max-depth", "the depth of an agent's return stack (default 64)", 1, func(run *state.Options) *int { return &run.MaxDepth })
	number("max-retries", "retries of failed invocations in a state execution (default 3)", 0, func(run *state.Options) *int { return &run.MaxRetries })
	number("max-reminders", "reminders in a state execution (default 3)", 0, func(run *state.Options) *int { return &run.MaxReminders })
	span := func(name, text string, at func(*state.Options, state.Duration)) {
		o.Add(name, "DUR", text, ofRun(o, duration, func(run *state.Options, d time.Duration) { at(run, state.Duration(d)) }))
	}
	span("overload-wait", "how long to wait while the model's service fails (default 10m; 0: its failures count as retries)", func(run *state.Options, d state.Duration) { run.OverloadWait = &d })
	span("timeout", "longest time for one invocation of a state (default: none)", func(run *state.Options, d state.Duration) { run.Timeout = d })
	span("idle-timeout", "longest time that a prompt may produce no output (default 15m)", func(run *state.Options, d state.Duration) { run.IdleTimeout = d })
	span("grace", "time that states under way get at the deadline (default 30s)", func(run *state.Options, d state.Duration) { run.Grace = d })
	o.Add("on-overload", "WORD", "what happens when its failures outlast --overload-wait: suspend (the run, for 15m, doubling to 4h, six times at most) or fail (the agent; default)",
		ofRun(o, OneOf(state.SuspendOnOverload, "fail"), func(run *state.Options, s string) { run.OnOverload = strings.TrimPrefix(s, "fail") }))
	o.Add("deadline", "DUR", "suspend the run after this time (default: none)", Into(&o.Deadline, duration))
	o.Switch("keep-going", "let the other agents finish when one fails", ofRun(o, ParseBool, func(run *state.Options, b bool) { run.KeepGoing = b }))
}

// addLoop defines the flags that make a loop of a plain prompt file.
func (o *Options) addLoop() {
	commands := Each(notBlank)
	o.Add("done-when", "CMD", "repeat a plain prompt file until this command exits 0 (repeatable)", ofRun(o, func(s string) ([]string, error) {
		list, err := commands(s)
		if len(list) > maxDoneWhen {
			err = fmt.Errorf("is command %d, want at most %d", len(list), maxDoneWhen)
		}
		return list, err
	}, func(run *state.Options, list []string) { run.DoneWhen = list }))
	o.Add("max-attempts", "N", "limit on attempts with --done-when (default 6)", ofRun(o, attempts, func(run *state.Options, n int) { run.MaxAttempts = n }))
}

// clis are the agent CLIs whose path can be named.
var clis = []struct{ backend, variable, title string }{
	{protocol.BackendClaude, "RAYMOND_CLAUDE", "Claude Code CLI"},
	{protocol.BackendCodex, "RAYMOND_CODEX", "Codex CLI"},
	{protocol.BackendGemini, "RAYMOND_GEMINI", "Gemini CLI"},
}

// Paths are those of the agent CLIs that a flag or the environment names, by protocol.Backends.
func (o *Options) Paths(getenv func(string) string) map[string]string {
	paths := map[string]string{}
	for _, c := range clis {
		if path := cmp.Or(o.CLIs[c.backend], getenv(c.variable)); path != "" {
			paths[c.backend] = path
		}
	}
	return paths
}

// addAgents defines the flags that say what runs prompts, and what it may do.
func (o *Options) addAgents() {
	names, modes := protocol.Backends(), protocol.PermissionModes()
	o.Add("agent", "NAME", "what runs prompts whose states name no agent: "+strings.Join(names, ", ")+" (default "+names[0]+")",
		ofRun(o, OneOf(names...), func(run *state.Options, s string) { run.Backend = s }))
	o.Add("agent-command", "CMD", "shell command that runs prompts of the agent "+protocol.BackendCommand+"; without --agent it runs all", func(s string) error {
		o.change(func(run *state.Options) {
			if run.Command = s; !o.IsGiven("agent") {
				run.Backend = protocol.BackendCommand
			}
		})
		if strings.ContainsRune(s, 0) {
			return errors.New("has a NUL byte")
		}
		_, err := notBlank(s)
		return err
	})
	o.Add("model", "NAME", "model of the agents (default: the agent CLI's)", ofRun(o, model, func(run *state.Options, s string) { run.Model = s }))
	o.Add("effort", "LEVEL", "effort of the agents (default: the agent CLI's)", ofRun(o, model, func(run *state.Options, s string) { run.Effort = s }))
	o.Add("permission-mode", "MODE", "what agents may do without asking: "+strings.Join(modes, ", ")+" (default acceptEdits)",
		ofRun(o, OneOf(modes...), func(run *state.Options, s string) { run.PermissionMode = s }))
	o.Switch("dangerously-skip-permissions", "let agents do everything without asking", ofRun(o, ParseBool, func(run *state.Options, b bool) { run.SkipPermissions = b }))
	o.Add("allowed-tools", "LIST", "tools that agents may use without asking, separated by commas",
		ofRun(o, each(tools), func(run *state.Options, list []string) { run.AllowedTools = list }))
	o.Add("disallowed-tools", "LIST", "tools that agents may not use, separated by commas",
		ofRun(o, each(tools), func(run *state.Options, list []string) { run.DisallowedTools = list }))
	for _, c := range clis {
		o.Add(c.backend, "PATH", "the "+c.title+" (default: $"+c.variable+", else "+c.backend+" on PATH)", func(s string) (err error) {
			o.CLIs[c.backend], err = NotEmpty(s)
			return err
		})
	}
	o.Add("claude-arg", "ARG", "additional argument for the Claude Code CLI (repeatable)",
		ofRun(o, Each(oneArgument), func(run *state.Options, list []string) { run.ClaudeArgs = list }))
}

// AddCage defines the flags of the cage.
func (o *Options) AddCage() {
	o.Add("cage", "MODE", "confine agents, done_when commands and scripts that are not trusted: on, require (fail where the system can't) or off (default off)",
		Into(&o.Cage.Mode, OneOf(CageOn, CageRequire, CageOff)))
	o.Add("network", "LIST", "with a cage, what can be reached: open, none, or hosts such as *.example.com, example.com:8443, "+
		strings.Join(forward.Presets(), ", ")+" (default open)", func(s string) error {
		list, err := forward.Parse(s)
		if o.Cage.Network = s; list.IsOpen() {
			o.Cage.Network = ""
		}
		return err
	})
	o.Add("cage-write", "DIR", "with a cage, a further folder that may be written (repeatable)", Into(&o.Cage.Writable, Each(path)))
	o.Add("cage-read", "PATH", "with a cage, a further file or folder that may be read (repeatable)", Into(&o.Cage.Readable, Each(path)))
}
