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
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/prices"
	"github.com/raymond-action/raymond-action/state"
	"github.com/raymond-action/raymond-action/state/journal"
)

// The values of --cage.
const (
	CageOn      = "on"      // confined as much as the system can
	CageRequire = "require" // confined; if the system can't do that, the run does not start
	CageOff     = "off"
)

// The values of --workspace.
const (
	WorkspaceGit  = "git"  // snapshots are taken of the git worktrees that agents work in
	WorkspaceNone = "none" // no snapshots are taken
)

// Endless is a value of Options.Hold that means no limit.
const Endless time.Duration = -1

// Limits of flags. maxInput is the maximum size of a prompt for an agent CLI and maxPrices is the maximum size
// of a price file, both in bytes. maxDoneWhen is the maximum number of --done-when commands.
const (
	maxInput    = 10 << 20
	maxPrices   = 1 << 20
	maxDoneWhen = 64
)

// AddAll defines all flags of a run.
func (o *Options) AddAll() {
	o.AddSimulated()
	o.AddStateDir()
	o.Add("changed-workflow", "WORD", "what a resume does if state files have changed since the run used them: take (use the current files; default) or refuse", func(s string) error {
		o.RefuseChanged = s == "refuse"
		_, err := OneOf("take", "refuse")(s)
		return err
	})
	o.AddPrices()
	// The values of these flags are not saved in the run, so a resume uses its own values.
	o.Hold, o.History, o.Workspace = Endless, journal.DefaultHistory, WorkspaceNone
	o.Add("hold", "DUR", "if all agents wait for a time: how long to wait before the run is suspended (default: no limit, but 5m for the end of a usage limit; 0: suspend at once)", Into(&o.Hold, duration))
	o.Add("job", "LIST", "run only the states of these jobs, separated by commas; agents in other states wait for their job (default: all jobs)", Into(&o.Jobs, each(jobs)))
	o.Add("history", "SIZE", "how much of the run's steps is saved, for history and rerun; 0: nothing (default 64MiB)", Into(&o.History, size))
	o.Add("workspace", "WHAT", "git: take a snapshot of the agents' git worktrees after each prompt state, for rerun and report; none: take none (default none)",
		Into(&o.Workspace, OneOf(WorkspaceGit, WorkspaceNone)))
	// The flags that choose the program for prompts and its permissions.
	names, modes := protocol.Backends(), protocol.PermissionModes()
	o.Add("agent", "NAME", "what runs prompts whose states name no agent: "+strings.Join(names, ", ")+" (default "+names[0]+")",
		ofRun(o, OneOf(names...), func(run *state.Options, s string) { run.Backend = s }))
	o.Add("agent-command", "CMD", "shell command that runs prompts of the agent "+protocol.BackendCommand+"; without --agent it runs all prompts", func(s string) error {
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
	for _, c := range clis.Installable() {
		name := c.Abilities.Backend
		o.Add(name, "PATH", "the "+c.Program()+" (default: $"+c.PathVariable()+", else "+name+" on PATH)", func(s string) (err error) {
			o.CLIs[name], err = NotEmpty(s)
			return err
		})
	}
	o.Add("claude-arg", "ARG", "additional argument for the Claude Code CLI (repeatable)",
		ofRun(o, Each(oneArgument), func(run *state.Options, list []string) { run.ClaudeArgs = list }))
	o.AddCage()
	o.Add("script-env", "NAMES", "names of variables that only trusted scripts get when there is a cage, separated by commas or spaces", Into(&o.ScriptEnv, each(variables)))
}

// AddSimulated defines those flags of a run that simulations have too.
func (o *Options) AddSimulated() {
	o.Add("input", "TEXT", "payload of the first state", Into(&o.Input, anything))
	o.Add("input-file", "FILE", "like --input, but read from FILE", Into(&o.InputFile, func(s string) (string, error) {
		data, err := files.ReadTarget(s, maxInput)
		return string(data), err
	}))
	o.Add("meta", "KEY=VALUE", "template variable of every state (repeatable)", func(s string) error {
		key, v, ok := strings.Cut(s, "=")
		if _, err := MetaKey(key); !ok || err != nil {
			return errors.New("use KEY=VALUE with a key of letters, digits and _")
		}
		if _, twice := o.Meta[key]; twice {
			return fmt.Errorf("the key %s is given twice", key)
		}
		o.Meta[key] = v
		return nil
	})
	o.Add("name", "PREFIX", "first part of the workflow id (default: the name of the workflow)", Into(&o.Name, anything))
	o.Add("workflow-id", "ID", "the complete id of the new run", func(s string) error {
		o.WorkflowID = s
		if !state.ValidID(s) {
			return errors.New("use 1 to 64 lowercase letters, digits or hyphens, not beginning with a hyphen, and no name reserved by Windows, such as con")
		}
		return nil
	})
	o.Switch("skip-lint", "start even if lint finds errors about tags in prompts and scripts", Into(&o.SkipLint, ParseBool))
	// The flags that limit cost, time and the number of agents, executions and retries.
	o.Add("budget", "USD", "limit on the cost of the run (default 10.00; 0: no limit)", ofRun(o, dollars, func(run *state.Options, v state.USD) { run.BudgetUSD = v }))
	number := func(name, text string, least int, at func(*state.Options) *int) {
		o.Add(name, "N", "limit on "+text, ofRun(o, from(least), func(run *state.Options, n int) { *at(run) = n }))
	}
	number("max-iterations", "the state executions of all agents (default: no limit)", 0, func(run *state.Options) *int { return &run.MaxIterations })
	number("max-parallel", "the agents that execute at once (default 4)", 1, func(run *state.Options) *int { return &run.MaxParallel })
	number("max-agents", "the agents alive at once (default 256)", 1, func(run *state.Options) *int { return &run.MaxAgents })
	number("max-depth", "the depth of an agent's return stack (default 64)", 1, func(run *state.Options) *int { return &run.MaxDepth })
	number("max-retries", "retries of failed invocations in a state execution (default 3)", 0, func(run *state.Options) *int { return &run.MaxRetries })
	number("max-reminders", "reminders in a state execution (default 3)", 0, func(run *state.Options) *int { return &run.MaxReminders })
	span := func(name, text string, at func(*state.Options, state.Duration)) {
		o.Add(name, "DUR", text, ofRun(o, duration, func(run *state.Options, d time.Duration) { at(run, state.Duration(d)) }))
	}
	span("overload-wait", "how long to wait while the model's service fails (default 10m; 0: failures count as retries)", func(run *state.Options, d state.Duration) { run.OverloadWait = &d })
	span("timeout", "maximum time for one invocation of a state (default: none)", func(run *state.Options, d state.Duration) { run.Timeout = d })
	span("idle-timeout", "maximum time that a prompt may produce no output (default 15m)", func(run *state.Options, d state.Duration) { run.IdleTimeout = d })
	span("grace", "time that running states get at the deadline (default 30s)", func(run *state.Options, d state.Duration) { run.Grace = d })
	o.Add("on-overload", "WORD", "what to do if the model's service fails for longer than --overload-wait: suspend (the run, for 15m, doubling to 4h, at most six times) or fail (the agent; default)",
		ofRun(o, OneOf(state.SuspendOnOverload, "fail"), func(run *state.Options, s string) { run.OnOverload = strings.TrimPrefix(s, "fail") }))
	o.Add("deadline", "DUR", "suspend the run after this time (default: none)", Into(&o.Deadline, duration))
	o.Switch("keep-going", "let the other agents finish when one fails", ofRun(o, ParseBool, func(run *state.Options, b bool) { run.KeepGoing = b }))
	// The flags that repeat a plain prompt file.
	commands := Each(notBlank)
	o.Add("done-when", "CMD", "repeat a plain prompt file until this command exits 0 (repeatable)", ofRun(o, func(s string) ([]string, error) {
		list, err := commands(s)
		if len(list) > maxDoneWhen {
			err = fmt.Errorf("is command %d; use at most %d", len(list), maxDoneWhen)
		}
		return list, err
	}, func(run *state.Options, list []string) { run.DoneWhen = list }))
	o.Add("max-attempts", "N", "limit on attempts with --done-when (default 6)", ofRun(o, attempts, func(run *state.Options, n int) { run.MaxAttempts = n }))
	o.Add("events", "FILE", "file to which the event log is copied, in JSON Lines format (-: stdout)", Into(&o.Events, logFile))
	o.Add("debug-dir", "DIR", "directory for prompts, commands and outputs of every state", Into(&o.DebugDir, folder))
	o.Switch("quiet", "show only failures and the result", Into(&o.Quiet, ParseBool))
	o.Switch("verbose", "show and log the messages of agents", func(s string) error {
		b, err := ParseBool(s)
		if o.Verbosity = runner.VerbosityNone; b {
			o.Verbosity = runner.VerbosityFull
		}
		return err
	})
}

// AddStateDir defines the flag for the directory of state files.
func (o *Options) AddStateDir() {
	o.StateDir = state.DefaultDir
	o.Add("state-dir", "DIR", "directory of the state files (default .raymond/state)", Into(&o.StateDir, folder))
}

// AddPrices defines the flag for a file of prices. If the flag is not given, a resume keeps the run's prices.
func (o *Options) AddPrices() {
	o.Add("prices", "FILE", "file with prices of models, which extends and overrides raymond's list: for agents that report tokens rather than cost", func(s string) error {
		data, err := files.ReadTarget(s, maxPrices)
		if err != nil {
			return err
		}
		given, err := prices.Read(bytes.NewReader(data))
		o.change(func(run *state.Options) { run.Prices = given })
		return err
	})
}

// Paths returns the paths of agent CLIs that a flag or the environment sets. The keys are elements of
// protocol.Backends.
func (o *Options) Paths(getenv func(string) string) map[string]string {
	paths := map[string]string{}
	for _, c := range clis.Installable() {
		if path := cmp.Or(o.CLIs[c.Abilities.Backend], getenv(c.PathVariable())); path != "" {
			paths[c.Abilities.Backend] = path
		}
	}
	return paths
}

// AddCage defines the flags of the cage.
func (o *Options) AddCage() {
	o.Add("cage", "MODE", "confine agents, done_when commands and untrusted scripts: on, require (fail if the system can't) or off (default off)",
		Into(&o.Cage.Mode, OneOf(CageOn, CageRequire, CageOff)))
	o.Add("network", "LIST", "with a cage, the reachable network: open, none, or hosts such as *.example.com, example.com:8443, "+
		strings.Join(forward.Presets(), ", ")+" (default open)", func(s string) error {
		list, err := forward.Parse(s)
		if o.Cage.Network = s; list.IsOpen() {
			o.Cage.Network = ""
		}
		return err
	})
	o.Add("cage-write", "DIR", "with a cage, a further directory that may be written (repeatable)", Into(&o.Cage.Writable, Each(path)))
	o.Add("cage-read", "PATH", "with a cage, a further file or directory that may be read (repeatable)", Into(&o.Cage.Readable, Each(path)))
}
