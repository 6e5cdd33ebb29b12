package runner

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/internal/cage"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

// maxVar is the size in bytes of the largest value that scripts get in an environment variable.
// Linux starts no program with a variable of 128 KiB. Larger values are only in files.
const maxVar = 64 << 10

// fitsVariable reports whether an environment variable can hold a value.
func fitsVariable(v string) bool { return len(v) <= maxVar && !strings.Contains(v, "\x00") }

// workDir returns the directory that an agent works in.
func workDir(run *state.Run, a *state.Agent) string {
	if a.Dir != "" {
		return a.Dir
	}
	return run.Dir
}

// copies returns the folder for copies of the files that done_when protects from an agent.
func (c *Config) copies(a *state.Agent) string { return filepath.Join(c.CopyDir, a.ID) }

// plan returns whether the agent's next invocation starts or continues a conversation, and which.
// If the invocation can't be started, the plan contains the reason.
func (c *Config) plan(a *state.Agent, st *protocol.State, opt *state.Options) state.Plan {
	if st.Kind == protocol.Script {
		return a.Plan(st, state.CLI{})
	}
	if why := c.Workflow.CheckInput(st.Name, string(a.Payload)); why != "" {
		return state.Plan{FailureReason: why}
	}
	name := a.BackendFor(st, opt)
	cli, ok := c.Agents[name]
	if !ok {
		return state.Plan{FailureReason: "the state " + st.Name + " needs the agent " + name + ", which this run does not have"}
	}
	abilities := cli.Abilities()
	p := a.Plan(st, state.CLI{Name: name, AcceptsSessionID: abilities.ChoosesID})
	if p.Mode != "" && p.FailureReason == "" && opt.HasBudget() && !abilities.ReportsUSD {
		model := p.Model(a, st, opt)
		if _, ok := c.listPrice(state.Usage{Model: model}); !ok || model == "" {
			p.FailureReason = NoPrice(name, model) + "; " + NoPriceHint
		}
	}
	return p
}

// invocation contains what is needed to build the Order for an invocation that a step starts.
type invocation struct {
	cfg   *Config
	run   *state.Run
	agent *state.Agent // includes the changes of the step
	state *protocol.State
}

// order returns the Order for the worker that runs the invocation.
func (x invocation) order(step *state.Step, l state.Launch) Order {
	a, st, opt := x.agent, x.state, step.Options()
	o := Order{
		Agent: a.ID, State: st.Name, Kind: st.Kind, Note: l.Plan.Note, Dir: l.Cwd, Mark: markOf(x.run, x.agent),
		Timeout: pick(st.Policy.Timeout, opt.Timeout), Idle: pick(st.Policy.IdleTimeout, opt.IdleTimeout),
		Verbosity: x.cfg.Verbosity, Hide: x.cfg.Redact,
	}
	if x.cfg.DebugDir != "" {
		o.DebugDir = DebugFolder(x.cfg.DebugDir, DebugStep{N: a.Exec.Iteration, Agent: a.ID, State: a.State, Attempt: a.Exec.Attempt})
	}
	if st.Kind == protocol.Script {
		o.Idle = pick(st.Policy.IdleTimeout, 0) // the run's idle timeout is for agents only
		payload := filepath.Join(x.cfg.PayloadDir, strconv.Itoa(a.Exec.Running.N))
		o.Script = ScriptOrder{
			Path: filepath.Join(x.cfg.ScriptDir, st.Name), PayloadFile: payload, Files: map[string]string{payload: string(a.Payload)},
			IsTrusted: st.Trusted,
		}
		if st.Work {
			o.Script.Work = &Work{Dir: l.Cwd, OtherDirs: map[string]string{}, Since: a.Exec.Started, IncludesWorkflows: st.Workflows}
			for _, other := range x.run.Agents {
				if at := workDir(x.run, other); at != l.Cwd {
					o.Script.Work.OtherDirs[other.ID] = at
				}
			}
		}
	}
	o.Env = x.environ(o.Script)
	o.Cage = x.confine(&o)
	if a.Exec.Phase == state.PhaseVerify {
		c, e := st.Policy.Convergence, a.Exec
		o.Timeout = c.Timeout
		o.Checks = &Checks{
			Commands: c.DoneWhen, Protect: c.Protect, Protected: e.Protected, Copies: x.cfg.copies(a),
			LogFile: filepath.Join(x.cfg.LogDir, a.ID, a.State+".log"), Attempt: e.Attempt, AgentCode: e.AgentCode, Refused: e.MoveProblem,
		}
	} else if st.Kind == protocol.Prompt {
		o.Prompt = x.prompt(l.Plan, opt)
		o.Prompt.BudgetCap = step.InvocationBudget()
	}
	return o
}

// confine returns the cage of an invocation, or nil if it runs without a cage. Agents, commands
// that check their work, and untrusted scripts run in cages of the same kind. For such a cage,
// confine adds the environment variables in Cages.Env to the order. The cages of trusted scripts
// are of another kind.
func (x invocation) confine(o *Order) *cage.Cage {
	cages := x.cfg.Cages
	switch {
	case cages == nil:
		return nil
	case o.Script.IsTrusted:
		return cages.Trusted(o.Script)
	}
	in := cages.Agent(o.Dir)
	if o.Kind == protocol.Script {
		in = cages.Script(o.Dir, o.Script)
	}
	if in != nil {
		o.Env = append(o.Env, cages.Env()...)
	}
	return in
}

// markOf returns the mark of an agent's running invocation. All processes of the invocation carry
// the mark in their environment.
func markOf(run *state.Run, a *state.Agent) string {
	return run.Mark + "." + strconv.Itoa(a.Exec.Running.N)
}

// prompt returns the fields of an order that only prompts have.
func (x invocation) prompt(plan state.Plan, opt *state.Options) PromptOrder {
	run, policy := x.agent.Exec.Running, x.state.Policy
	effort := policy.Effort
	if plan.Backend == opt.BackendName() {
		effort = cmp.Or(effort, opt.Effort)
	}
	o := PromptOrder{
		Backend: plan.Backend, Text: x.text(),
		Session: run.Mode, SessionID: run.SessionID, From: run.From, Cut: plan.Cut,
		Model: run.Model, Effort: effort, Permissions: permissions(policy, opt), ReportsTools: x.cfg.Traced,
		IsChecked: policy.Convergence != nil,
	}
	if opt.OverloadWait != nil {
		o.OverloadWait = time.Duration(*opt.OverloadWait)
	}
	if plan.Session != nil {
		o.Reached, o.CLIID = plan.Session.RunningTotal, plan.Session.CLIID
	}
	return o
}

// pick returns the state's own duration if it is set, or else the run's duration.
func pick(own *time.Duration, run state.Duration) time.Duration {
	if own != nil {
		return *own
	}
	return time.Duration(run)
}

// environ returns the environment variables that describe the run to a script. Values that don't
// fit into a variable are added to the script's files instead. An agent CLI gets only variables
// with the run, the agent, the state and the attempt's span. The user's own program
// (protocol.BackendCommand) also gets the folder of the states, because it may be saved there.
func (x invocation) environ(script ScriptOrder) []string {
	env := []string{
		"RAYMOND_WORKFLOW_ID=" + x.run.WorkflowID, "RAYMOND_AGENT_ID=" + x.agent.ID, "RAYMOND_STATE=" + x.agent.State,
	}
	if e := x.agent.Exec; x.cfg.Traced && x.run.Trace != nil {
		env = append(env, TraceparentVar+"="+x.run.Trace.AttemptSpan(x.agent.ID, e.Iteration, e.Attempt).String())
	}
	scope := ScopeVar + "=" + x.cfg.ScriptDir
	switch {
	case x.state.Kind == protocol.Script:
		env = append(env, scope, "RAYMOND_RESULT_FILE="+script.PayloadFile,
			"RAYMOND_BY="+x.agent.By, "RAYMOND_VISITS="+strconv.Itoa(x.agent.Visits[x.agent.State]))
	case x.agent.Exec.Running.Backend == protocol.BackendCommand:
		return append(env, scope)
	default:
		return env
	}
	if p := string(x.agent.Payload); fitsVariable(p) {
		env = append(env, "RAYMOND_RESULT="+p, "RAYMOND_INPUT="+p)
	}
	for _, vars := range []map[string]string{x.run.Meta, x.agent.Vars} {
		for _, k := range slices.Sorted(maps.Keys(vars)) {
			name, v := protocol.VariableName(k), vars[k]
			if fitsVariable(v) {
				env = append(env, "RAYMOND_VAR_"+name+"="+v)
				continue
			}
			path := script.PayloadFile + "-" + name
			script.Files[path] = v
			env = append(env, "RAYMOND_VAR_"+name+"_FILE="+path)
		}
	}
	return env
}

// DebugStep identifies one attempt of a state execution.
type DebugStep struct {
	N            int // number of the execution in the run
	Agent, State string
	Attempt      int
}

// DebugFolder returns the folder inside dir for the files about a step. Slashes in the names of
// agents and states are replaced, so that the folder can't be outside of dir.
func DebugFolder(dir string, s DebugStep) string {
	name := fmt.Sprintf("%04d_%s_%s_%d", s.N, s.Agent, s.State, s.Attempt)
	return filepath.Join(dir, strings.NewReplacer("/", "_", `\`, "_", "\x00", "_").Replace(name))
}
