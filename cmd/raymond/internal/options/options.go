// Package options has the flags of a run: what their values mean, and all that is
// wrong with them at once. The Action's inputs are read as these flags too.
package options

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"

	"github.com/spf13/pflag"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// maxInput bounds --input-file, in bytes: what an agent CLI takes as a prompt.
const maxInput = 10 << 20

// Options are the values of the flags of one command. Every bad value is kept, so
// that Check reports all of them at once.
type Options struct {
	Input, InputFile string
	Meta             map[string]string // the template variables
	Name, WorkflowID string
	StateDir         string
	Deadline         time.Duration     // 0: none
	CLIs             map[string]string // paths of agent CLIs, by protocol.Backends; none for the default
	RefuseChanged    bool              // a resume is refused if files of states have changed
	SkipLint         bool
	Events, DebugDir string // "" for none
	Quiet            bool
	Telling          runner.Telling // of what agents say
	Cage             Cage           // how agents are confined
	ScriptEnv        []string       // variables that trusted scripts get, and where agents are confined nobody else
	Hold             time.Duration  // how long a run stays for a time that its agents wait for; negative for without end
	Jobs             []string       // whose states run here; nil for all
	History          int64          // how much is kept of the steps of a run, in bytes; 0: nothing
	Workspace        string         // of what files snapshots are taken: one of the Workspace constants

	// Label names a flag in problems; nil for the flag as it is written.
	Label func(name string) string

	flags   *pflag.FlagSet
	given   map[string]bool
	changes []func(*state.Options) // of the options of a run
	errs    []error
}

// New returns the options that flags will hold.
func New(flags *pflag.FlagSet) *Options {
	return &Options{flags: flags, given: map[string]bool{}, Meta: map[string]string{}, CLIs: map[string]string{}, Cage: Cage{Mode: CageOff}, Workspace: WorkspaceNone}
}

// IsGiven reports whether a flag was given.
func (o *Options) IsGiven(name string) bool { return o.given[name] }

// Reject adds problems to those that Check reports.
func (o *Options) Reject(problems ...error) { o.errs = append(o.errs, problems...) }

// HasProblems reports whether Check would report some that are known by now.
func (o *Options) HasProblems() bool { return len(o.errs) > 0 }

// NumGiven is the number of flags that were given, right or wrong.
func (o *Options) NumGiven() int { return len(o.given) + len(o.errs) }

// Apply returns the options of a run as the flags change them. Limits that held for one part
// of the run are left out.
func (o *Options) Apply(run state.Options) state.Options {
	run.Caps = nil
	for _, change := range o.changes {
		change(&run)
	}
	return run
}

// Alone returns the options that the flags give a run of which nothing else is
// known: what no flag says has its default.
func (o *Options) Alone() state.Options {
	return o.Apply(state.Options{
		BudgetUSD: 10 * state.Dollar, MaxParallel: 4, MaxAgents: 256, MaxDepth: 64, MaxRetries: 3, MaxReminders: 3,
		IdleTimeout: state.Duration(15 * time.Minute), Grace: state.Duration(30 * time.Second),
		PermissionMode: "acceptEdits",
	})
}

// jobHold is how long a run in a job stays for a time that its agents wait for.
const jobHold = 5 * time.Minute

// InJob sets the defaults of a step of a job where they differ from those of a command
// line. It must be called before the flags are read.
func (o *Options) InJob() {
	o.Cage.Mode, o.Hold = CageOn, jobHold
	o.change(func(opt *state.Options) { opt.OnOverload = state.SuspendOnOverload })
}

// value is a flag that never fails to parse: what is wrong is collected.
type value struct {
	o    *Options
	name string
	kind string
	text string
	set  func(string) error
}

func (v *value) String() string { return v.text }

func (v *value) Type() string { return v.kind }

func (v *value) Set(s string) error {
	v.o.given[v.name] = true
	if err := v.set(s); err != nil {
		v.o.errs = append(v.o.errs, problem.Usage(v.o.Called(v.name), fmt.Sprintf("%q: %v", problem.Shorten(s), err), ""))
	}
	return nil
}

// Called is what the user calls a flag.
func (o *Options) Called(name string) string {
	if o.Label != nil {
		return o.Label(name)
	}
	return "--" + name
}

// AddAll defines all flags of a run.
func (o *Options) AddAll() {
	o.AddInput()
	o.AddStateDir()
	o.Add("changed-workflow", "WORD", "what a resume does if files of states have changed since the run used them: take (them as they are now; default) or refuse", func(s string) error {
		o.RefuseChanged = s == "refuse"
		return OneOf(s, "take", "refuse")
	})
	o.AddSkipLint()
	o.AddLimits()
	AddPrices(o)
	o.AddWaits()
	o.addAgents()
	o.AddCage()
	o.Add("script-env", "NAMES", "with a cage, variables that trusted scripts get and agents don't, separated by commas or blanks", func(s string) error {
		o.ScriptEnv = append(o.ScriptEnv, strings.FieldsFunc(s, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })...)
		if strings.Contains(s, "=") {
			return errors.New("want names of variables")
		}
		return NotEmpty(s)
	})
	o.AddKept()
	o.AddLoop()
	o.AddOutput()
}

// Add defines one flag. What is wrong with its value, according to set, is
// reported by Check.
func (o *Options) Add(name, kind, text string, set func(string) error) {
	o.flags.Var(&value{o: o, name: name, kind: kind, set: set}, name, text)
}

// AddSkipLint defines the flag that lets a workflow start though lint has errors.
func (o *Options) AddSkipLint() {
	o.Switch("skip-lint", "start even if lint finds errors about tags in prompts and scripts", func(b bool) { o.SkipLint = b })
}

// Switch defines one flag that is on when it is named.
func (o *Options) Switch(name, text string, set func(bool)) {
	o.Add(name, "", text, func(s string) error {
		if s != "true" && s != "false" {
			return errors.New("want true or false")
		}
		set(s == "true")
		return nil
	})
	o.flags.Lookup(name).NoOptDefVal = "true"
}

// change notes what a flag changes in the options of a run.
func (o *Options) change(f func(*state.Options)) { o.changes = append(o.changes, f) }

// AddInput defines the flags that say what the first state gets.
func (o *Options) AddInput() {
	o.Add("input", "TEXT", "payload of the first state", func(s string) error { o.Input = s; return nil })
	o.Add("input-file", "FILE", "the same, read from a file", func(s string) error {
		data, err := files.ReadTarget(s, maxInput)
		o.InputFile = string(data)
		return err
	})
	o.Add("meta", "KEY=VALUE", "template variable of every state (repeatable)", o.addMeta)
	o.Add("name", "PREFIX", "first part of the workflow id (default: the scope's name)", func(s string) error { o.Name = s; return nil })
	o.Add("workflow-id", "ID", "the whole id of the new run", func(s string) error {
		o.WorkflowID = s
		if !state.ValidID(s) {
			return errors.New("want 1 to 64 of a-z, 0-9 and -, not beginning with -")
		}
		return nil
	})
}

// AddStateDir defines the flag of the folder of state files.
func (o *Options) AddStateDir() {
	o.StateDir = state.DefaultDir
	o.Add("state-dir", "DIR", "folder of the state files (default .raymond/state)", func(s string) error {
		o.StateDir = s
		return checkFolder(s)
	})
}

// NotEmpty checks that a value has at least one character.
func NotEmpty(s string) error {
	if s == "" {
		return errors.New("is empty")
	}
	return nil
}

// IsMetaKey reports whether a template variable may have this name.
func IsMetaKey(name string) bool { return regexp.MustCompile(`^[A-Za-z0-9_]+$`).MatchString(name) }

func (o *Options) addMeta(s string) error {
	key, v, ok := strings.Cut(s, "=")
	if !ok || !IsMetaKey(key) {
		return errors.New("want KEY=VALUE with a key of letters, digits and _")
	}
	if _, twice := o.Meta[key]; twice {
		return fmt.Errorf("the key %s is given twice", key)
	}
	o.Meta[key] = v
	return nil
}

// AddOutput defines the flags that say what is shown and logged.
func (o *Options) AddOutput() {
	o.Add("events", "FILE", "copy of the event log, JSON lines (-: stdout)", func(s string) error {
		o.Events = s
		return checkLogFile(s)
	})
	o.Add("debug-dir", "DIR", "folder for prompts, commands and outputs of every state", func(s string) error {
		o.DebugDir = s
		return checkFolder(s)
	})
	o.Switch("quiet", "show only failures and the end", func(b bool) { o.Quiet = b })
	o.Switch("verbose", "show and log what agents say", func(b bool) {
		if o.Telling = runner.TellNothing; b {
			o.Telling = runner.TellAll
		}
	})
}

// Verbose says that people see all that agents say.
func (o *Options) Verbose() bool { return o.Telling == runner.TellAll }

// Check reports everything that is wrong with the flags.
func (o *Options) Check() error {
	if o.given["input"] && o.given["input-file"] {
		o.errs = append(o.errs, problem.Usage(o.Called("input-file"), "--input is given too", "give one of them"))
	}
	if o.given["name"] && o.given["workflow-id"] {
		o.errs = append(o.errs, problem.Usage(o.Called("name"), "--workflow-id is given too", "give one of them"))
	}
	if o.Quiet && o.Verbose() {
		o.errs = append(o.errs, problem.Usage(o.Called("quiet"), "--verbose is given too", "give one of them"))
	}
	o.checkCage()
	return errors.Join(o.errs...)
}
