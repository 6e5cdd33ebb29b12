// Package options defines the flags of a run, parses their values, and reports all problems with them together.
// The inputs of the Action that set flags are parsed in the same way.
package options

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

// Options are the values of one command's flags. Problems with the values are collected while they are
// parsed, so that Check can report all of them together.
type Options struct {
	Input, InputFile string
	Meta             map[string]string // the template variables
	Name, WorkflowID string
	StateDir         string
	Deadline         time.Duration     // 0 means no deadline
	CLIs             map[string]string // paths of agent CLIs, by backend; others have their default paths
	RefuseChanged    bool              // a resume fails if state files have changed
	SkipLint         bool
	Events, DebugDir string // may be empty
	Quiet            bool
	Verbosity        runner.Verbosity // which messages of agents are shown
	Cage             Cage             // how agents are confined
	ScriptEnv        []string         // variables that, with a cage, only trusted scripts get
	Hold             time.Duration    // how long a run waits before it is suspended if all agents wait for a time; negative means no limit
	Jobs             []string         // the jobs whose states run here; nil means all jobs
	History          int64            // how much of a run's steps is saved, in bytes; 0 means nothing
	Workspace        string           // whether snapshots are taken; a Workspace constant
	Resumes          bool             // the command continues a run; InheritProtection then checks the flags of the cage

	// Label returns the name that problems use for a flag. If it is nil, they use --NAME.
	Label func(name string) string

	flags   *pflag.FlagSet
	given   map[string]bool
	changes []func(*state.Options) // the changes that Apply makes to the options of a run
	errs    []error
}

// Cage describes how agents, done_when commands and untrusted scripts are confined.
type Cage struct {
	Mode     string   // a Cage constant
	Network  string   // a list for forward.Parse; empty if the network is open
	Writable []string // further directories that may be written, as given
	Readable []string // further files and directories that may be read, as given
}

// IsOff reports whether the cage is off.
func (c *Cage) IsOff() bool { return c.Mode == CageOff }

// New returns options that define their flags in flags.
func New(flags *pflag.FlagSet) *Options {
	return &Options{flags: flags, given: map[string]bool{}, Meta: map[string]string{}, CLIs: map[string]string{}, Cage: Cage{Mode: CageOff}}
}

// IsGiven reports whether a flag was given.
func (o *Options) IsGiven(name string) bool { return o.given[name] }

// Reject adds problems, which Check will report.
func (o *Options) Reject(problems ...error) { o.errs = append(o.errs, problems...) }

// HasProblems reports whether any problem has been collected so far.
func (o *Options) HasProblems() bool { return len(o.errs) > 0 }

// NumGiven returns the number of flags that were given, valid or not.
func (o *Options) NumGiven() int { return len(o.given) + len(o.errs) }

// Apply returns the options of a run, changed by the flags that were given. Spending limits that an
// earlier segment of the run had are removed.
func (o *Options) Apply(run state.Options) state.Options {
	run.Caps = nil
	for _, change := range o.changes {
		change(&run)
	}
	run.Cage, run.Network, run.Workspace, run.ScriptEnv = o.Cage.Mode, o.Cage.Network, o.Workspace, o.ScriptEnv
	return run
}

// InheritProtection sets the flags that protect a run to the values of the run's earlier segment, unless
// this command sets them. It does not copy flags that give access, such as --cage-write, because agents
// may have written the file that contains the run. It returns an error if an earlier value is invalid, or if
// this command sets flags that need a cage and the cage is off.
func (o *Options) InheritProtection(run state.Options) error {
	for _, f := range []struct{ name, value string }{
		{"cage", run.Cage}, {"network", run.Network}, {"workspace", run.Workspace}, {"script-env", strings.Join(run.ScriptEnv, ",")},
	} {
		isUseless := f.name == "network" && o.Cage.IsOff() // without a cage, the flag network has no effect
		if f.value == "" || o.IsGiven(f.name) || isUseless {
			continue
		}
		if err := o.flags.Lookup(f.name).Value.(*value).set(f.value); err != nil {
			return problem.Usage(o.FlagName(f.name), fmt.Sprintf("%q, from the earlier run: %v", problem.Shorten(f.value), err), "give another value")
		}
	}
	return errors.Join(o.checkCage()...)
}

// ForNewRun returns the options of a new run: the values of the flags, or else the defaults.
func (o *Options) ForNewRun() state.Options {
	return o.Apply(state.Options{
		BudgetUSD: 10 * state.Dollar, MaxParallel: 4, MaxAgents: 256, MaxDepth: 64, MaxRetries: 3, MaxReminders: 3,
		IdleTimeout: state.Duration(15 * time.Minute), Grace: state.Duration(30 * time.Second),
		PermissionMode: "acceptEdits",
	})
}

// jobHold is the default of --hold in a job: the time after which a run is suspended if all agents wait.
const jobHold = 5 * time.Minute

// SetJobDefaults sets the defaults for a step of a job, which differ from the defaults of the command line. It
// must be called before the flags are parsed.
func (o *Options) SetJobDefaults() {
	o.Cage.Mode, o.Hold = CageOn, jobHold
	o.change(func(run *state.Options) { run.OnOverload = state.SuspendOnOverload })
}

// ReadJob parses the flags that the Action's inputs set. label returns the name that problems use for a flag.
func ReadJob(args []string, label func(flag string) string) (*Options, error) {
	flags := pflag.NewFlagSet("action", pflag.ContinueOnError)
	o := New(flags)
	o.AddAll()
	o.SetJobDefaults()
	o.Label = label
	return o, flags.Parse(args)
}

// change adds a change that Apply makes to the options of a run.
func (o *Options) change(f func(*state.Options)) { o.changes = append(o.changes, f) }

// value is a flag's value for pflag. Set never returns an error, because problems are collected for Check.
type value struct {
	o    *Options
	name string
	kind string
	set  func(string) error
}

func (v *value) String() string { return "" }

func (v *value) Type() string { return v.kind }

func (v *value) Set(s string) error {
	v.o.given[v.name] = true
	if err := v.set(s); err != nil {
		v.o.Reject(problem.Usage(v.o.FlagName(v.name), fmt.Sprintf("%q: %v", problem.Shorten(s), err), ""))
	}
	return nil
}

// FlagName returns the name under which the user knows a flag: the flag with its hyphens, or an input.
func (o *Options) FlagName(name string) string {
	if o.Label != nil {
		return o.Label(name)
	}
	return "--" + name
}

// Add defines a flag. set is called with each value; if it returns an error, Check reports it.
func (o *Options) Add(name, kind, text string, set func(string) error) {
	o.flags.Var(&value{o: o, name: name, kind: kind, set: set}, name, text)
}

// Switch defines a flag that is true if it is given without a value.
func (o *Options) Switch(name, text string, set func(string) error) {
	o.Add(name, "", text, set)
	o.flags.Lookup(name).NoOptDefVal = "true"
}

// Verbose reports whether the user sees the full messages of agents.
func (o *Options) Verbose() bool { return o.Verbosity == runner.VerbosityFull }

// Check returns all problems with the flags as one error. It returns nil if all flags are valid.
func (o *Options) Check() error {
	for _, two := range [][2]string{{"input-file", "input"}, {"name", "workflow-id"}} {
		if o.given[two[0]] && o.given[two[1]] {
			o.rejectBoth(two[0], two[1])
		}
	}
	if o.Quiet && o.Verbose() {
		o.rejectBoth("quiet", "verbose")
	}
	if !o.Resumes {
		o.Reject(o.checkCage()...)
	}
	return errors.Join(o.errs...)
}

// checkCage returns an error for each flag that needs a cage if the cage is off.
func (o *Options) checkCage() (errs []error) {
	if !o.Cage.IsOff() {
		return nil
	}
	hint := fmt.Sprintf("set %s to on or require", o.FlagName("cage"))
	if o.Cage.Network != "" {
		errs = append(errs, problem.Usage(o.FlagName("network"), "needs a cage", hint))
	}
	for flag, paths := range map[string][]string{"cage-write": o.Cage.Writable, "cage-read": o.Cage.Readable} {
		if len(paths) > 0 {
			errs = append(errs, problem.Usage(o.FlagName(flag), "has no effect without a cage", hint))
		}
	}
	return errs
}

// rejectBoth adds the problem that a flag can't be combined with another one.
func (o *Options) rejectBoth(flag, other string) {
	o.Reject(problem.Usage(o.FlagName(flag), "can't be combined with --"+other, "use only one of them"))
}
