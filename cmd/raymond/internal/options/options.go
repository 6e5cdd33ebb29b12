// Package options has the flags of a run: what their values mean, and all that is
// wrong with them at once. The Action's inputs are read as these flags too.
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
	Verbosity        runner.Verbosity // of what agents say
	Cage             Cage             // how agents are confined
	ScriptEnv        []string         // variables that trusted scripts get, and where agents are confined nobody else
	Hold             time.Duration    // how long a run stays for a time that its agents wait for; negative for without end
	Jobs             []string         // whose states run here; nil for all
	History          int64            // how much is kept of the steps of a run, in bytes; 0: nothing
	Workspace        string           // of what files snapshots are taken: one of the Workspace constants
	Resumes          bool             // the command continues a run, so Keep checks the flags of the cage

	// Label names a flag in problems; nil for the flag as it is written.
	Label func(name string) string

	flags   *pflag.FlagSet
	given   map[string]bool
	changes []func(*state.Options) // of the options of a run
	errs    []error
}

// Cage says what agents, done_when commands and caged scripts are confined to.
type Cage struct {
	Mode     string   // one of the Cage constants
	Network  string   // what forward.Parse takes; "" for open
	Writable []string // folders that may be written too, as they were given
	Readable []string // files and folders that may be read too, as they were given
}

// IsOff reports whether nothing is confined.
func (c *Cage) IsOff() bool { return c.Mode == CageOff }

// New returns the options that flags will hold.
func New(flags *pflag.FlagSet) *Options {
	return &Options{flags: flags, given: map[string]bool{}, Meta: map[string]string{}, CLIs: map[string]string{}, Cage: Cage{Mode: CageOff}}
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
	run.Cage, run.Network, run.Workspace, run.ScriptEnv = o.Cage.Mode, o.Cage.Network, o.Workspace, o.ScriptEnv
	return run
}

// InheritProtection takes the values of flags that protect a run, and that this command does not name, from an earlier part of the
// run. Agents may have written its file, so flags that give access, such as --cage-write, are not taken from it. Keep
// then reports flags that contradict each other.
func (o *Options) InheritProtection(run state.Options) error {
	for _, f := range []struct{ name, value string }{
		{"cage", run.Cage}, {"network", run.Network}, {"workspace", run.Workspace}, {"script-env", strings.Join(run.ScriptEnv, ",")},
	} {
		isUseless := f.name == "network" && o.Cage.IsOff() // the cage is off, so the network of the earlier part has no meaning
		if f.value == "" || o.IsGiven(f.name) || isUseless {
			continue
		}
		if err := o.flags.Lookup(f.name).Value.(*value).set(f.value); err != nil {
			return problem.Usage(o.FlagName(f.name), fmt.Sprintf("%q, which the run has kept: %v", problem.Shorten(f.value), err), "give another value")
		}
	}
	return errors.Join(o.checkCage()...)
}

// ForNewRun returns the options that the flags give a run of which nothing else is
// known: what no flag says has its default.
func (o *Options) ForNewRun() state.Options {
	return o.Apply(state.Options{
		BudgetUSD: 10 * state.Dollar, MaxParallel: 4, MaxAgents: 256, MaxDepth: 64, MaxRetries: 3, MaxReminders: 3,
		IdleTimeout: state.Duration(15 * time.Minute), Grace: state.Duration(30 * time.Second),
		PermissionMode: "acceptEdits",
	})
}

// jobHold is how long a run in a job stays for a time that its agents wait for.
const jobHold = 5 * time.Minute

// SetJobDefaults sets the defaults of a step of a job where they differ from those of a command
// line. It must be called before the flags are read.
func (o *Options) SetJobDefaults() {
	o.Cage.Mode, o.Hold = CageOn, jobHold
	o.change(func(run *state.Options) { run.OnOverload = state.SuspendOnOverload })
}

// ReadJob reads the inputs of the action that are flags, one argument each; label returns the name of a flag for problems.
func ReadJob(args []string, label func(flag string) string) (*Options, error) {
	flags := pflag.NewFlagSet("action", pflag.ContinueOnError)
	o := New(flags)
	o.AddAll()
	o.SetJobDefaults()
	o.Label = label
	return o, flags.Parse(args)
}

// change notes what a flag changes in the options of a run.
func (o *Options) change(f func(*state.Options)) { o.changes = append(o.changes, f) }

// value is a flag that never fails to parse: what is wrong is collected.
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

// FlagName is what the user calls a flag.
func (o *Options) FlagName(name string) string {
	if o.Label != nil {
		return o.Label(name)
	}
	return "--" + name
}

// Add defines one flag. What is wrong with its value, according to set, is
// reported by Check.
func (o *Options) Add(name, kind, text string, set func(string) error) {
	o.flags.Var(&value{o: o, name: name, kind: kind, set: set}, name, text)
}

// Switch defines one flag that is true when it is named.
func (o *Options) Switch(name, text string, set func(string) error) {
	o.Add(name, "", text, set)
	o.flags.Lookup(name).NoOptDefVal = "true"
}

// Verbose says that people see all that agents say.
func (o *Options) Verbose() bool { return o.Verbosity == runner.VerbosityFull }

// Check reports everything that is wrong with the flags.
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

// checkCage reports flags that need a cage where there is none.
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
			errs = append(errs, problem.Usage(o.FlagName(flag), "is of no use without a cage", hint))
		}
	}
	return errs
}

// rejectBoth reports a flag that does not go with another one.
func (o *Options) rejectBoth(flag, other string) {
	o.Reject(problem.Usage(o.FlagName(flag), "--"+other+" is given too", "give one of them"))
}
