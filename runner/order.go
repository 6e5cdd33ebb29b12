package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// maxVarPayload is the largest payload that scripts get in a variable, in bytes.
// Larger ones are in RAYMOND_RESULT_FILE only.
const maxVarPayload = 64 << 10

// start adds the next invocation of an agent to the step and returns its order.
func (r *Runner) start(step *state.Step, a *state.Agent) Order {
	st, ok := r.cfg.Workflow.State(a.State)
	if !ok {
		panic("internal error: the workflow has no state " + a.State)
	}
	plan := a.Plan(st)
	l := state.Launch{State: st, Plan: plan, Cwd: r.dir(a)}
	switch plan.Mode {
	case state.Fresh, state.Branch:
		l.SessionID = r.cfg.NewID()
	case state.Resume:
		l.SessionID, l.Length = plan.Session.ID, plan.Cut
		if n, ok := r.cfg.Sessions.Length(plan.Session.ID, l.Cwd); ok && l.Length == nil {
			l.Length = &n
		}
	}
	if c := st.Policy.Convergence; c != nil && a.Exec == nil && len(c.Protect) > 0 {
		l.Protected = r.cfg.Verifier.Digest(l.Cwd, c.Protect)
	}
	return r.order(step, step.Start(a.ID, l), l)
}

// dir is where an agent works.
func (r *Runner) dir(a *state.Agent) string {
	if a.Dir != "" {
		return a.Dir
	}
	return r.run.Dir
}

// order says everything a worker needs. step has the agent started already.
func (r *Runner) order(step *state.Step, a *state.Agent, l state.Launch) Order {
	st, opt, run := l.State, step.Options(), a.Exec.Running
	o := Order{
		Agent: a.ID, State: st.Name, Kind: st.Kind, Dir: l.Cwd,
		Mark:    r.run.Mark + "." + strconv.Itoa(run.N),
		Timeout: pick(st.Policy.Timeout, opt.Timeout), Idle: pick(st.Policy.IdleTimeout, idle(st.Kind, opt)),
		Telling: r.cfg.Telling, Hide: r.cfg.Redact,
	}
	if r.cfg.DebugDir != "" {
		o.DebugDir = DebugFolder(r.cfg.DebugDir, DebugStep{N: a.Exec.Iteration, Agent: a.ID, State: a.State, Attempt: a.Exec.Attempt})
	}
	if st.Kind == protocol.Script {
		o.Script.Path = filepath.Join(r.cfg.ScriptDir, st.Name)
		o.Script.Payload = string(a.Payload)
		o.Script.PayloadFile = filepath.Join(r.cfg.PayloadDir, a.ID)
	}
	o.Env = r.environ(a, o)
	if a.Exec.Phase == state.PhaseVerify {
		o.Checks = r.checks(a, st, o.Env)
		return o
	}
	if st.Kind == protocol.Prompt {
		r.promptOrder(&o, a, l, opt)
		o.Prompt.BudgetCap = step.InvocationBudget()
	}
	return o
}

func (r *Runner) promptOrder(o *Order, a *state.Agent, l state.Launch, opt *state.Options) {
	run := a.Exec.Running
	o.Prompt.Text = r.prompt(a, l.State)
	o.Prompt.Session, o.Prompt.SessionID, o.Prompt.From, o.Prompt.Cut = run.Mode, run.SessionID, run.From, l.Plan.Cut
	if l.Plan.Session != nil {
		o.Prompt.Reached = l.Plan.Session.Reached
	}
	o.Prompt.Model = run.Model
	o.Prompt.Effort = first(l.State.Policy.Effort, opt.Effort)
	// The agent CLI heeds no mode beside the flag: a state with a mode of its own
	// goes without the flag.
	own := l.State.Policy.PermissionMode
	switch {
	case !opt.SkipPermissions:
		o.Prompt.PermissionMode = permission(own, opt.PermissionMode)
	case own == "" || own == bypass:
		o.Prompt.SkipPermissions = true
	default:
		o.Prompt.PermissionMode = own
	}
	o.Prompt.AllowedTools = allowed(l.State.Policy.AllowedTools, opt.AllowedTools)
	o.Prompt.DisallowedTools = append(append([]string{}, opt.DisallowedTools...), l.State.Policy.DisallowedTools...)
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// idle is how long a state may be silent that does not say so itself. Scripts may
// be as long as they like.
func idle(kind protocol.Kind, opt *state.Options) state.Duration {
	if kind == protocol.Script {
		return 0
	}
	return opt.IdleTimeout
}

func pick(own *time.Duration, run state.Duration) time.Duration {
	if own != nil {
		return *own
	}
	return time.Duration(run)
}

// prompt is the text to send: the state's own first, whatever we add after it.
func (r *Runner) prompt(a *state.Agent, st *protocol.State) string {
	e := a.Exec
	var text string
	switch {
	case e.Reminder != "" && e.Session == nil:
		text = r.stateText(a, st) + "\n\nThe work of this step is done and its checks pass; do not do it again. " +
			"The run that did it broke off before it said how to go on.\n" + e.Reminder
	case e.Reminder != "":
		text = e.Reminder
	case e.Continue:
		text = "The last run of this step ended early, before its work was done. Check what is done already, " +
			"go on from there, and end with exactly one transition tag as the step asked."
	default:
		text = r.stateText(a, st)
	}
	if e.Noted {
		text += "\n\nNote: an earlier try of this step was interrupted and may have left half-done work; check before repeating it."
	}
	return text
}

// stateText is the state's own prompt. A leading slash would make it a command
// of the agent CLI.
func (r *Runner) stateText(a *state.Agent, st *protocol.State) string {
	var text string
	if a.Exec.Attempt > 1 {
		text = r.attemptText(a, st)
	} else {
		text = protocol.Render(st.Body, r.lookup(a, st))
	}
	if strings.HasPrefix(text, "/") {
		return "\n" + text
	}
	return text
}

// lookup finds the value of a template name: the first that matches wins.
func (r *Runner) lookup(a *state.Agent, st *protocol.State) func(string) (string, bool) {
	return func(name string) (string, bool) {
		switch name {
		case "workflow_id":
			return r.run.WorkflowID, true
		case "agent_id":
			return a.ID, true
		case "state":
			return a.State, true
		case "result", "input":
			return string(a.Payload), true
		}
		if v, ok := r.lookupAttempt(a, st, name); ok {
			return v, true
		}
		if v, ok := a.Vars[name]; ok {
			return v, true
		}
		v, ok := r.run.Meta[name]
		return v, ok
	}
}

// environ is what a script learns of its run, in variables; agent CLIs get the
// names only.
func (r *Runner) environ(a *state.Agent, o Order) []string {
	env := []string{
		"RAYMOND_WORKFLOW_ID=" + r.run.WorkflowID, "RAYMOND_AGENT_ID=" + a.ID, "RAYMOND_STATE=" + a.State,
	}
	if o.Kind != protocol.Script {
		return env
	}
	env = append(env, "RAYMOND_SCOPE="+r.cfg.ScriptDir, "RAYMOND_RESULT_FILE="+o.Script.PayloadFile)
	if p := o.Script.Payload; len(p) <= maxVarPayload && !strings.Contains(p, "\x00") {
		env = append(env, "RAYMOND_RESULT="+p, "RAYMOND_INPUT="+p)
	}
	for _, vars := range []map[string]string{r.run.Meta, a.Vars} {
		for _, k := range slices.Sorted(maps.Keys(vars)) {
			if v := vars[k]; !strings.Contains(v, "\x00") {
				env = append(env, "RAYMOND_VAR_"+variable(k)+"="+v)
			}
		}
	}
	return env
}

// variable turns a name into one that shells accept.
func variable(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= utf8.RuneSelf || !(c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') {
			return '_'
		}
		return c
	}, strings.ToUpper(name))
}

// work runs one invocation. It is the only code of this package outside the
// owner; the owner always receives what it sends.
func (r *Runner) work(ctx context.Context, o Order) {
	tell := func(p Progress) { r.mail <- message{agent: o.Agent, progress: &p} }
	if o.Checks != nil {
		if o.Telling != TellNothing {
			o.Checks.Begins = func(command string) { tell(Progress{Doing: "checking " + command}) }
		}
		v := r.cfg.Verifier.Verify(ctx, *o.Checks)
		r.mail <- message{agent: o.Agent, verified: &v}
		return
	}
	answer, err := r.invoke(ctx, o, tell)
	m := message{agent: o.Agent, answer: answer}
	if err != nil && !errors.As(err, &m.failure) {
		m.failure = &Failure{Class: Fatal, Message: err.Error()}
	}
	r.mail <- m
}

func (r *Runner) invoke(ctx context.Context, o Order, tell func(Progress)) (_ Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Failure{Class: Fatal, Message: fmt.Sprintf("internal error: %v", p)}
		}
	}()
	if info, err := os.Stat(o.Dir); err != nil || !info.IsDir() {
		return Answer{Cost: state.Cost{Silent: true}}, &Failure{Class: Fatal, Message: fmt.Sprintf("the working directory %q is no existing directory", o.Dir)}
	}
	if o.Kind == protocol.Script && !filepath.IsAbs(o.Script.Path) {
		return Answer{Cost: state.Cost{Silent: true}}, &Failure{Class: Fatal, Message: "there is no private copy of the workflow's folder to run scripts from; keep it in a folder of its own"}
	}
	if o.Script.PayloadFile != "" {
		if err := writePayload(o); err != nil {
			return Answer{Cost: state.Cost{Silent: true}}, &Failure{Class: Machine, Message: "write payload: " + err.Error()}
		}
	}
	if o.DebugDir != "" {
		if err := os.MkdirAll(o.DebugDir, 0o700); err != nil {
			o.DebugDir = ""
		}
	}
	return r.cfg.Backends[o.Kind].Run(ctx, o, tell)
}

// writePayload makes the payload file of a script. An agent's file serves all of
// its scripts: making and removing one each time costs more than the writing.
func writePayload(o Order) error {
	f, err := os.OpenFile(o.Script.PayloadFile, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteString(o.Script.Payload); err == nil {
		err = f.Truncate(int64(len(o.Script.Payload)))
	}
	return errors.Join(err, f.Close())
}
