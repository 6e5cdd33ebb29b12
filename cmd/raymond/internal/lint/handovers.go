package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/jobfile"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/scope"
	"github.com/raymond-action/raymond-action/protocol"
)

// handovers compares a workflow with the steps that run it.
type handovers struct {
	*Run
	path  string // of the workflow
	scope *scope.Scope
	flow  *protocol.Workflow
	chart *protocol.Chart
	uses  []use
}

// aboutStep adds a finding about an input of a step.
func (c *handovers) aboutStep(severity protocol.Severity, u *use, input string, p protocol.Problem) {
	at := u.Place(input)
	c.add(remark{File: u.file.Path, Line: at.Line, Col: at.Col, Severity: severity, Code: p.Code, Message: p.Message, Hint: p.Hint})
}

// aboutState adds a warning about a state, whose file the problem names.
func (c *handovers) aboutState(p protocol.Problem) {
	p.Pos = protocol.Pos{Line: max(1, p.Pos.Line), Col: max(1, p.Pos.Col)}
	c.add(c.remark(c.path, c.scope, protocol.Finding{Severity: protocol.SeverityWarning, Problem: p}))
}

// mayRun returns the steps that run the states of a job, or may.
func (c *handovers) mayRun(job string) []use {
	return slices.DeleteFunc(slices.Clone(c.uses), func(u use) bool {
		runs, known := u.Runs(job)
		return known && !runs
	})
}

// checkRun finds jobs of states that no step runs.
func (c *handovers) checkRun() {
	left := map[string][]string{}
	for _, name := range c.chart.States() {
		if job := c.flow.JobOf(name); len(c.mayRun(job)) == 0 {
			left[job] = append(left[job], name)
		}
	}
	for _, job := range slices.Sorted(maps.Keys(left)) {
		p := protocol.Problem{Code: "job-not-run", Message: fmt.Sprintf("no step runs the job %s, to which %s", job, belong(left[job])),
			Hint: "a step of the action runs it with the input job: " + job}
		first := &use{file: c.files[0], Use: jobfile.Use{At: jobfile.Pos{Line: 1, Col: 1}}} // no step runs any
		if len(c.uses) > 0 {
			first = &c.uses[0]
		}
		c.aboutStep(protocol.SeverityError, first, "job", p)
	}
}

// belong says that states belong to something, of many the first three by name.
func belong(states []string) string {
	const most = 3
	switch n := len(states); {
	case n == 1:
		return states[0] + " belongs"
	case n > most:
		return fmt.Sprintf("%s and %d more states belong", strings.Join(states[:most], ", "), n-most)
	default:
		return strings.Join(states[:n-1], ", ") + " and " + states[n-1] + " belong"
	}
}

// checkOrder finds states to which a run is handed by a job that no step with their own
// job comes after.
func (c *handovers) checkOrder() {
	for _, name := range c.chart.States() {
		told := map[string]bool{}
		for _, e := range c.chart.Exits(name) {
			for _, move := range moves(name, e) {
				from, to := c.flow.JobOf(move[0]), c.flow.JobOf(move[1])
				if move[0] == "" || move[1] == "" || from == to || told[to] || c.isTaken(from, to) {
					continue
				}
				told[to] = true
				hint := fmt.Sprintf("add a job that needs that one and has job: %s, or write job: %s in %s", to, from, move[1])
				c.aboutState(protocol.Problem{File: name, Pos: e.Pos, Code: "job-order", Hint: hint,
					Message: fmt.Sprintf("%s of the job %s comes after the job %s, and no later step runs it", move[1], to, from)})
			}
		}
	}
}

// moves are the states between which an agent goes by a transition in the same workflow
// run, in pairs. What follows a question begins with a comment, in another one.
func moves(from string, e protocol.Exit) [][2]string {
	to, back := e.Target.State, e.After.State
	if e.Verb == protocol.Ask {
		return nil
	}
	if e.Verb == protocol.Call || e.Verb == protocol.Function {
		return [][2]string{{from, to}, {to, back}}
	}
	return [][2]string{{from, to}, {from, back}}
}

// isTaken reports whether a step that runs a job may come after one that runs another, or
// the same step runs both. Of a job that nobody runs checkRun tells.
func (c *handovers) isTaken(from, to string) bool {
	before, after := c.mayRun(from), c.mayRun(to)
	if len(before) == 0 || len(after) == 0 {
		return true
	}
	return slices.ContainsFunc(after, func(b use) bool {
		return slices.ContainsFunc(before, func(a use) bool {
			return a.file != b.file || a.Job == b.Job && a.Step == b.Step || a.file.Follows(b.Use, a.Use)
		})
	})
}

// checkPrompts finds prompts of jobs whose steps refuse them.
func (c *handovers) checkPrompts() {
	for i := range c.uses {
		u := &c.uses[i]
		if !strings.EqualFold(u.Input("prompts"), "false") {
			continue
		}
		for _, name := range c.chart.States() {
			st, ok := c.flow.State(name)
			runs, _ := u.Runs(c.flow.JobOf(name))
			if ok && runs && st.Kind == protocol.Prompt {
				c.aboutStep(protocol.SeverityError, u, "prompts", protocol.Problem{Code: "prompt-refused",
					Message: fmt.Sprintf("the prompt state %s of the job %s is refused by this step, which has prompts: false", name, c.flow.JobOf(name)),
					Hint:    "give the state another job, or make it a script"})
			}
		}
	}
}

// dispatchInput is the input with which a step starts its own workflow again.
const dispatchInput = "raymond-key"

// checkRedispatch finds steps that start their workflow again with an input that it does
// not have.
func (c *handovers) checkRedispatch() {
	for i := range c.uses {
		u := &c.uses[i]
		isCalled := u.file.Has("workflow_call") && !u.file.Has("workflow_dispatch") // its caller is started again
		if u.Input("continue") == "redispatch" && !isCalled && !u.file.HasDispatchInput(dispatchInput) {
			c.aboutStep(protocol.SeverityError, u, "continue", protocol.Problem{Code: "redispatch-input",
				Message: "continue: redispatch starts this workflow by workflow_dispatch with the input " + dispatchInput + ", which it does not have",
				Hint:    "add on: workflow_dispatch: inputs: " + dispatchInput})
		}
	}
}

// jobHold is how long a step stays for a time when its input hold says nothing.
const jobHold = "5m"

// checkTimes finds times that come when no step waits for them any more, in files that
// no schedule starts.
func (c *handovers) checkTimes() {
	if len(c.uses) == 0 || slices.ContainsFunc(c.uses, func(u use) bool { return u.file.Has("schedule") }) {
		return
	}
	for _, name := range c.chart.States() {
		hold, text := c.holdOf(c.flow.JobOf(name))
		for _, e := range c.chart.Exits(name) {
			d, err := time.ParseDuration(e.Delay)
			if err != nil || d <= hold && !e.TimedOut {
				continue
			}
			what := fmt.Sprintf("waits for %s, and a step stays for %s at most", e.Delay, text)
			if e.TimedOut {
				what = fmt.Sprintf("asks a question with a timeout of %s, for which no step stays", e.Delay)
			}
			c.aboutState(protocol.Problem{File: name, Pos: e.Pos, Code: "no-schedule",
				Message: what + ": " + c.uses[0].file.Path + " has no schedule that resumes the run then",
				Hint:    "add on: schedule, with resume: auto in the step"})
		}
	}
}

// holdOf is the longest time for which a step of a job stays, also as it is written.
func (c *handovers) holdOf(job string) (longest time.Duration, text string) {
	for _, u := range c.mayRun(job) {
		written := u.Input("hold")
		hold, err := time.ParseDuration(written)
		if err != nil {
			written = jobHold
			hold, _ = time.ParseDuration(jobHold)
		}
		if hold >= longest {
			longest, text = hold, written
		}
	}
	return longest, text
}
