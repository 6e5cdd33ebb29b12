package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// maxInput bounds --input-file, in bytes: what an agent CLI takes as a prompt.
const maxInput = 10 << 20

// options are the flags of run and resume. Every bad value is kept, so that all
// are reported at once.
type options struct {
	cmd  *cobra.Command
	set  map[string]bool        // flags that were given
	over []func(*state.Options) // what they change in the options of a run
	errs []error
	// label names a flag in errors; nil for the flag as it is written.
	label func(name string) string

	input, inputFile string
	meta             map[string]string
	name, workflowID string
	stateDir         string
	deadline         time.Duration
	claude           string
	allowChanged     bool
	skipLint         bool
	events, debugDir string
	quiet            bool
	telling          runner.Telling // of what agents say
}

// defaults are the options of a run for which no flag says otherwise.
func defaults() state.Options {
	return state.Options{
		BudgetUSD: 10 * state.Dollar, MaxParallel: 4, MaxAgents: 256, MaxDepth: 64, MaxRetries: 3, MaxReminders: 3,
		IdleTimeout: state.Duration(15 * time.Minute), Grace: state.Duration(30 * time.Second),
		PermissionMode: "acceptEdits",
	}
}

// value is a flag that never fails to parse: what is wrong is collected.
type value struct {
	o    *options
	name string
	kind string
	text string
	set  func(string) error
}

// String implements pflag.Value.
func (v *value) String() string { return v.text }

// Type implements pflag.Value.
func (v *value) Type() string { return v.kind }

// Set implements pflag.Value.
func (v *value) Set(s string) error {
	v.o.set[v.name] = true
	if err := v.set(s); err != nil {
		v.o.errs = append(v.o.errs, problem.Usage(v.o.called(v.name), fmt.Sprintf("%q: %v", problem.Shorten(s), err), ""))
	}
	return nil
}

// called is what the user calls a flag.
func (o *options) called(name string) string {
	if o.label != nil {
		return o.label(name)
	}
	return "--" + name
}

// addFlags gives cmd the flags of a run.
func (a *App) addFlags(cmd *cobra.Command) *options {
	o := a.newOptions(cmd)
	o.addInputFlags()
	o.addStateDir()
	o.flag("allow-changed-workflow", "go on though state files have changed since the start", func(b bool) { o.allowChanged = b })
	o.addSkipLint()
	o.addLimitFlags()
	o.addAgentFlags()
	o.addLoopFlags()
	o.addOutputFlags()
	return o
}

func (a *App) newOptions(cmd *cobra.Command) *options {
	o := &options{cmd: cmd, set: map[string]bool{}, meta: map[string]string{}}
	a.options[cmd] = o
	return o
}

// add defines one flag.
func (o *options) add(name, kind, text string, set func(string) error) {
	o.cmd.Flags().Var(&value{o: o, name: name, kind: kind, set: set}, name, text)
}

// addSkipLint defines the flag that lets a workflow start though lint has errors.
func (o *options) addSkipLint() {
	o.flag("skip-lint", "start though lint finds errors about tags in prompts and scripts", func(b bool) { o.skipLint = b })
}

// flag defines one flag that is on when it is named.
func (o *options) flag(name, text string, set func(bool)) {
	o.add(name, "", text, func(s string) error {
		if s != "true" && s != "false" {
			return errors.New("want true or false")
		}
		set(s == "true")
		return nil
	})
	o.cmd.Flags().Lookup(name).NoOptDefVal = "true"
}

// change notes what a flag changes in the options of a run.
func (o *options) change(f func(*state.Options)) { o.over = append(o.over, f) }

func (o *options) addInputFlags() {
	o.add("input", "TEXT", "payload of the first state", func(s string) error { o.input = s; return nil })
	o.add("input-file", "FILE", "the same, from a file", func(s string) error { return o.readInput(s) })
	o.add("meta", "KEY=VALUE", "template variable of every state (repeatable)", o.addMeta)
	o.add("name", "PREFIX", "first part of the workflow id (default: the scope's name)", func(s string) error { o.name = s; return nil })
	o.add("workflow-id", "ID", "the whole id of the new run", func(s string) error {
		o.workflowID = s
		if !state.ValidID(s) {
			return errors.New("want 1 to 64 of a-z, 0-9 and -, not beginning with -")
		}
		return nil
	})
}

func (o *options) addStateDir() {
	o.stateDir = ".raymond/state"
	o.add("state-dir", "DIR", "folder of the state files (default .raymond/state)", func(s string) error {
		o.stateDir = s
		return checkFolder(s)
	})
}

func notEmpty(s string) error {
	if s == "" {
		return errors.New("is empty")
	}
	return nil
}

func (o *options) readInput(path string) error {
	data, err := files.ReadTarget(path, maxInput)
	o.inputFile = string(data)
	return err
}

var metaKey = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

func (o *options) addMeta(s string) error {
	key, v, ok := strings.Cut(s, "=")
	if !ok || !metaKey.MatchString(key) {
		return errors.New("want KEY=VALUE with a key of letters, digits and _")
	}
	if _, twice := o.meta[key]; twice {
		return fmt.Errorf("the key %s is given twice", key)
	}
	o.meta[key] = v
	return nil
}

// count reads a whole number strictly.
func count(s string, least int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || strconv.Itoa(n) != s || n < least || n > 1e9 {
		return 0, fmt.Errorf("want a whole number from %d", least)
	}
	return n, nil
}

// duration reads a Go duration that is not negative.
func duration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		return 0, errors.New("want a duration such as 90s, 15m or 2h30m")
	}
	return d, nil
}

func (o *options) addLimitFlags() {
	o.add("budget", "USD", "most that the run may cost (default 10.00; 0: no limit)", func(s string) error {
		v, err := state.ParseUSD(s)
		if strings.ContainsAny(s, "eE") {
			err = errors.New("want a plain decimal number of US dollars")
		}
		o.change(func(opt *state.Options) { opt.BudgetUSD = v })
		return err
	})
	o.count("max-iterations", "most state executions of all agents (default: no limit)", 0, func(opt *state.Options, n int) { opt.MaxIterations = n })
	o.count("max-parallel", "agents that execute at once (default 4)", 1, func(opt *state.Options, n int) { opt.MaxParallel = n })
	o.count("max-agents", "agents alive at once (default 256)", 1, func(opt *state.Options, n int) { opt.MaxAgents = n })
	o.count("max-depth", "depth of the return stack (default 64)", 1, func(opt *state.Options, n int) { opt.MaxDepth = n })
	o.count("max-retries", "retries of failed invocations per state execution (default 3)", 0, func(opt *state.Options, n int) { opt.MaxRetries = n })
	o.duration("overload-wait", "how long to wait while the model's service fails (default 10m; 0: its failures count as retries)", func(opt *state.Options, d state.Duration) { opt.OverloadWait = &d })
	o.count("max-reminders", "reminders per state execution (default 3)", 0, func(opt *state.Options, n int) { opt.MaxReminders = n })
	o.duration("timeout", "longest time for one invocation of a state (default: none)", func(opt *state.Options, d state.Duration) { opt.Timeout = d })
	o.duration("idle-timeout", "longest time without output of a prompt (default 15m)", func(opt *state.Options, d state.Duration) { opt.IdleTimeout = d })
	o.duration("grace", "time for states in flight at the deadline (default 30s)", func(opt *state.Options, d state.Duration) { opt.Grace = d })
	o.add("deadline", "DUR", "suspend the run after this time (default: none)", func(s string) (err error) {
		o.deadline, err = duration(s)
		return err
	})
	o.flag("keep-going", "let other agents run to their end when one fails", func(b bool) {
		o.change(func(opt *state.Options) { opt.KeepGoing = b })
	})
}

func (o *options) count(name, text string, least int, set func(*state.Options, int)) {
	o.add(name, "N", text, func(s string) error {
		n, err := count(s, least)
		o.change(func(opt *state.Options) { set(opt, n) })
		return err
	})
}

func (o *options) duration(name, text string, set func(*state.Options, state.Duration)) {
	o.add(name, "DUR", text, func(s string) error {
		d, err := duration(s)
		o.change(func(opt *state.Options) { set(opt, state.Duration(d)) })
		return err
	})
}

var (
	permissionModes = []string{"plan", "default", "dontAsk", "acceptEdits", "auto", "bypassPermissions"}
	modelName       = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]*$`)
)

func (o *options) addAgentFlags() {
	o.word("model", "NAME", "model of the agents (default: the agent CLI's)", func(opt *state.Options, s string) { opt.Model = s })
	o.word("effort", "LEVEL", "effort of the agents (default: the agent CLI's)", func(opt *state.Options, s string) { opt.Effort = s })
	o.add("permission-mode", "MODE", "what agents may do unasked: "+strings.Join(permissionModes, ", ")+" (default acceptEdits)", func(s string) error {
		o.change(func(opt *state.Options) { opt.PermissionMode = s })
		return oneOf(s, permissionModes...)
	})
	o.flag("dangerously-skip-permissions", "let agents do everything unasked", func(b bool) {
		o.change(func(opt *state.Options) { opt.SkipPermissions = b })
	})
	o.tools("allowed-tools", "tools that agents may use unasked", func(opt *state.Options, list []string) { opt.AllowedTools = list })
	o.tools("disallowed-tools", "tools that agents may not use", func(opt *state.Options, list []string) { opt.DisallowedTools = list })
	o.add("claude", "PATH", "the Claude Code CLI (default: $RAYMOND_CLAUDE, else claude on PATH)", func(s string) error {
		o.claude = s
		return notEmpty(s)
	})
	var args []string
	o.add("claude-arg", "ARG", "one more argument for the agent CLI (repeatable)", func(s string) error {
		args = append(args, s)
		o.change(func(opt *state.Options) { opt.ClaudeArgs = args })
		return nil
	})
}

// maxDoneWhen is how many commands --done-when may be given: convergence.md.
const maxDoneWhen = 64

// addLoopFlags defines the flags that make a loop of a plain prompt file.
func (o *options) addLoopFlags() {
	var commands []string
	o.add("done-when", "CMD", "repeat a plain prompt file until this command exits 0 (repeatable)", func(s string) error {
		commands = append(commands, s)
		o.change(func(opt *state.Options) { opt.DoneWhen = commands })
		if len(commands) > maxDoneWhen {
			return fmt.Errorf("is command %d, want at most %d", len(commands), maxDoneWhen)
		}
		return notEmpty(strings.TrimSpace(s))
	})
	o.add("max-attempts", "N", "most attempts with --done-when (default 6)", func(s string) error {
		n, err := count(s, 1)
		if err == nil && n > 100 {
			err = errors.New("want at most 100")
		}
		o.change(func(opt *state.Options) { opt.MaxAttempts = n })
		return err
	})
}

func (o *options) word(name, kind, text string, set func(*state.Options, string)) {
	o.add(name, kind, text, func(s string) error {
		o.change(func(opt *state.Options) { set(opt, s) })
		if !modelName.MatchString(s) || len(s) > 200 {
			return errors.New("want a name of at most 200 characters without blanks")
		}
		return nil
	})
}

func (o *options) tools(name, text string, set func(*state.Options, []string)) {
	var list []string
	o.add(name, "LIST", text+", separated by commas", func(s string) error {
		list = append(list, splitTools(s)...)
		o.change(func(opt *state.Options) { set(opt, list) })
		return notEmpty(strings.TrimSpace(s))
	})
}

// splitTools splits a list at commas and blanks outside of parentheses.
func splitTools(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth == 0 && (r == ',' || r == ' ' || r == '\t' || r == '\n')
	})
}

func (o *options) addOutputFlags() {
	o.add("events", "FILE", "copy of the event log, JSON lines (-: stdout)", func(s string) error {
		o.events = s
		return checkLogFile(s)
	})
	o.add("debug-dir", "DIR", "folder for prompts, commands and outputs of every state", func(s string) error {
		o.debugDir = s
		return checkFolder(s)
	})
	o.flag("quiet", "show failures and the end only", func(b bool) { o.quiet = b })
	o.flag("verbose", "show and log what agents say", func(b bool) {
		if o.telling = runner.TellNothing; b {
			o.telling = runner.TellAll
		}
	})
}

// verbose says that people see all that agents say.
func (o *options) verbose() bool { return o.telling == runner.TellAll }

// check reports everything that is wrong with the flags.
func (o *options) check() error {
	if o.set["input"] && o.set["input-file"] {
		o.errs = append(o.errs, problem.Usage(o.called("input-file"), "--input is given too", "give one of them"))
	}
	if o.set["name"] && o.set["workflow-id"] {
		o.errs = append(o.errs, problem.Usage(o.called("name"), "--workflow-id is given too", "give one of them"))
	}
	if o.quiet && o.verbose() {
		o.errs = append(o.errs, problem.Usage(o.called("quiet"), "--verbose is given too", "give one of them"))
	}
	return errors.Join(o.errs...)
}
