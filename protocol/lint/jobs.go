package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/protocol"
)

// Jobs compares the workflow at an absolute path with the workflow files of GitHub Actions whose
// steps run it. If no step names that path, all steps count, because a file may name the workflow
// by another path. Jobs returns findings about the steps and findings about the states.
func Jobs(path string, w *protocol.Workflow, files []*JobFile) (ofSteps, ofStates []Finding) {
	c := jobs{flow: w, chart: w.Chart(), files: files, steps: StepsOf(path, files)}
	c.checkRun()
	c.checkOrder()
	c.checkPrompts()
	c.checkWorkspace()
	c.checkRedispatch()
	c.checkTimes()
	c.checkKeys()
	c.checkTokens()
	c.checkPermissions()
	return c.ofSteps, c.ofStates
}

// StepsOf returns the steps that run the workflow at an absolute path or, if no step names that
// path, all steps that run a workflow.
func StepsOf(path string, files []*JobFile) (steps []Step) {
	var named []Step
	for _, f := range files {
		for _, s := range f.RaymondSteps() {
			if !slices.Contains([]string{"", "run"}, s.Input("mode")) {
				continue
			}
			if steps = append(steps, s); s.names(path) {
				named = append(named, s)
			}
		}
	}
	if len(named) > 0 {
		return named
	}
	return steps
}

// jobs compares a workflow with the steps that run it, and collects findings.
type jobs struct {
	flow  *protocol.Workflow
	chart *protocol.Chart
	files []*JobFile
	steps []Step // steps that run the workflow

	ofSteps, ofStates []Finding
}

// reportStep adds a finding about an input of a step, or about the step if the input is missing.
func (c *jobs) reportStep(severity Severity, s Step, input string, p protocol.Problem) {
	p.File, p.Pos = s.file.Path, s.Pos(input)
	c.ofSteps = append(c.ofSteps, Finding{severity, p})
}

// warnState adds a warning about a state.
func (c *jobs) warnState(state string, pos protocol.Pos, p protocol.Problem) {
	p.File, p.Pos = state, protocol.Pos{Line: max(1, pos.Line), Col: max(1, pos.Col)}
	c.ofStates = append(c.ofStates, Finding{Warning, p})
}

// mayRun returns the steps that may run the states of a job.
func (c *jobs) mayRun(job string) []Step {
	return slices.DeleteFunc(slices.Clone(c.steps), func(s Step) bool { return !s.MayRun(job) })
}

// checkRun finds jobs that states name but no step runs.
func (c *jobs) checkRun() {
	left := map[string][]string{}
	for _, name := range c.chart.States() {
		if job := c.flow.JobOf(name); len(c.mayRun(job)) == 0 {
			left[job] = append(left[job], name)
		}
	}
	first := append(slices.Clone(c.steps), Step{file: c.files[0], at: protocol.Pos{Line: 1, Col: 1}})[0]
	for _, job := range slices.Sorted(maps.Keys(left)) {
		c.reportStep(Error, first, "job", protocol.Problem{Code: "job-not-run", Message: fmt.Sprintf("no step runs the job %s of %s", job, strings.Join(left[job], ", ")),
			Hint: "a step of the action runs it with the input job: " + job})
	}
}

// checkOrder finds transitions to a state of another job if no later step runs that job.
func (c *jobs) checkOrder() {
	for _, name := range c.chart.States() {
		reported := map[string]bool{}
		for _, e := range c.chart.Exits(name) {
			// Each pair contains two states between which the transition moves an agent in one run of the GitHub
			// workflow. An ask has no pair, because its answer is a comment, which starts another run.
			pairs := [][2]string{{name, e.Target.State}, {name, e.Next.State}}
			switch e.Verb {
			case protocol.Ask:
				continue
			case protocol.Call, protocol.Function:
				pairs[1][0] = e.Target.State
			}
			for _, move := range pairs {
				from, to := c.flow.JobOf(move[0]), c.flow.JobOf(move[1])
				if move[0] == "" || move[1] == "" || from == to || reported[to] || c.canFollow(from, to) {
					continue
				}
				reported[to] = true
				c.warnState(name, e.Pos, protocol.Problem{Code: "job-order",
					Message: fmt.Sprintf("%s of the job %s comes after the job %s, and no later step runs it", move[1], to, from),
					Hint:    fmt.Sprintf("add a job that needs that one and has job: %s, or write job: %s in %s", to, from, move[1])})
			}
		}
	}
}

// canFollow reports whether, for two jobs, a step that runs the second one (to) may come after a
// step that runs the first one (from), or whether the same step may run both. It also returns true
// if no step runs one of the jobs, because checkRun reports that.
func (c *jobs) canFollow(from, to string) bool {
	before, after := c.mayRun(from), c.mayRun(to)
	if len(before) == 0 || len(after) == 0 {
		return true
	}
	return slices.ContainsFunc(after, func(b Step) bool {
		return slices.ContainsFunc(before, func(a Step) bool {
			return a.file != b.file || a.Job == b.Job && a.Index <= b.Index || a.Job != b.Job && b.file.Needs(b.Job, a.Job)
		})
	})
}

// isPrompt reports whether a state is a prompt.
func (c *jobs) isPrompt(state string) bool {
	return c.chart.Analysis(state).State.Kind == protocol.Prompt
}

// RefusesPrompts reports whether the step has prompts: false, so that it runs no prompts.
func (s Step) RefusesPrompts() bool { return strings.EqualFold(s.Input("prompts"), "false") }

// checkPrompts finds prompts whose job is run by a step that has prompts: false.
func (c *jobs) checkPrompts() {
	for _, s := range c.steps {
		for _, name := range c.chart.States() {
			if job := c.flow.JobOf(name); s.RefusesPrompts() && c.isPrompt(name) && s.Runs(job) {
				c.reportStep(Error, s, "prompts", protocol.Problem{Code: "prompt-refused",
					Message: fmt.Sprintf("the prompt state %s of the job %s is refused by this step, which has prompts: false", name, job),
					Hint:    "give the state another job, or make it a script"})
			}
		}
	}
}

// checkWorkspace finds steps that may be harmed by files which agents write into the workspace.
// These are later steps with secrets, and caches of folders in the workspace.
func (c *jobs) checkWorkspace() {
	reported := map[protocol.Pos]bool{}
	isInWorkspace := func(path string) bool { return !strings.ContainsAny(path[:1], "/~!$") }
	for _, ours := range c.steps {
		hasPrompts := !ours.RefusesPrompts() && slices.ContainsFunc(c.chart.States(), func(name string) bool {
			return c.isPrompt(name) && ours.MayRun(c.flow.JobOf(name))
		})
		for _, s := range ours.file.Steps {
			p := protocol.Problem{Code: "after-agents", Hint: "run it in a separate job: docs/security.md#known-gaps"}
			switch {
			case s.CallsWorkflow || s.Job != ours.Job || s.isRaymond() || reported[s.at] || !hasPrompts:
				continue
			case strings.HasPrefix(s.Action, "actions/cache") && slices.ContainsFunc(strings.Fields(s.Input("path")), isInWorkspace):
				p.Message = "this cache has files of the workspace, which agents can write, and passes them to other jobs"
			case s.Index > ours.Index && s.HasSecret:
				p.Message = "this step has secrets and runs after agents, which can write every file in the workspace"
			default:
				continue
			}
			reported[s.at] = true
			c.reportStep(Warning, s, "", p)
		}
	}
}

// dispatchInput is the name of the workflow_dispatch input with which a step starts its own
// workflow again.
const dispatchInput = "raymond-key"

// checkRedispatch finds steps that start their own workflow again with an input that the workflow
// does not define.
func (c *jobs) checkRedispatch() {
	for _, s := range c.steps {
		given := protocol.MapValue(protocol.MapValue(protocol.MapValue(s.file.on, "workflow_dispatch"), "inputs"), dispatchInput)
		// A workflow that only other workflows call is not started again itself: its caller is.
		isCalled := s.file.has("workflow_call") && !s.file.has("workflow_dispatch")
		if s.Input("continue") == "redispatch" && !isCalled && given == nil {
			c.reportStep(Error, s, "continue", protocol.Problem{Code: "redispatch-input",
				Message: "continue: redispatch starts this workflow by workflow_dispatch with the input " + dispatchInput + ", which it does not have",
				Hint:    "add on: workflow_dispatch: inputs: " + dispatchInput})
		}
	}
}

// jobHold is how long a step waits for the next time at which an agent can continue, unless its input
// args contains the flag --hold. holdFlag matches that flag.
const jobHold = "5m"

var holdFlag = pattern(`(?:^|\s)--hold(?:=|\s+)['"]?([^\s'"]+)`)

// checkTimes finds delays that are longer than any step waits, and questions with a timeout. It
// finds nothing if a schedule resumes the run.
func (c *jobs) checkTimes() {
	if len(c.steps) == 0 || slices.ContainsFunc(c.steps, func(s Step) bool { return s.noScheduleReason() == "" }) {
		return
	}
	for _, name := range c.chart.States() {
		hold, text := c.holdOf(c.flow.JobOf(name))
		for _, e := range c.chart.Exits(name) {
			d, err := time.ParseDuration(e.Delay)
			if err != nil || d <= hold && !e.TimedOut {
				continue
			}
			what := fmt.Sprintf("waits for %s, but a step stays for %s at most", e.Delay, text)
			if e.TimedOut {
				what = fmt.Sprintf("asks a question with a timeout of %s, and no job will be running when this question times out", e.Delay)
			}
			c.warnState(name, e.Pos, protocol.Problem{Code: "no-schedule",
				Message: what + ": " + c.steps[0].noScheduleReason(),
				Hint:    "add on: schedule, with an if: that lets it start the job, and in the step the same key on all events and resume: auto"})
		}
	}
}

// holdOf returns the longest time that a step of a job waits, and that time as written.
func (c *jobs) holdOf(job string) (longest time.Duration, text string) {
	for _, s := range c.mayRun(job) {
		written := jobHold
		for _, m := range holdFlag().FindAllStringSubmatch(s.Input("args"), -1) {
			written = m[1]
		}
		hold, _ := time.ParseDuration(written) // lint reports an invalid value of the step
		if hold >= longest {
			longest, text = hold, written
		}
	}
	return longest, text
}

// checkKeys finds steps that should share a run but have different keys.
func (c *jobs) checkKeys() {
	// isShared reports whether a step shares its run with other steps.
	isShared := func(s Step) bool { return s.Input("job") != "" || s.Input("part") != "" }
	first := slices.IndexFunc(c.steps, func(s Step) bool { return isShared(s) && s.Key() != "" })
	begins := slices.IndexFunc(c.steps, func(s Step) bool { return !s.handlesComments() })
	for _, s := range c.steps {
		switch {
		case isShared(s) && s.Key() == "":
			c.reportStep(Error, s, "job", protocol.Problem{Code: "key-missing",
				Message: fmt.Sprintf("this step of job %s has no key: it shares its run with other jobs, and the default key is this job's alone", s.Job),
				Hint:    "give the same key to all jobs of the run"})
		case first >= 0 && s.Key() != c.steps[first].Key():
			c.reportStep(Warning, s, "key", protocol.Problem{Code: "different-keys",
				Message: fmt.Sprintf("job %s has %s, and job %s has %s: neither finds the other's run", s.Job, keyText(s), c.steps[first].Job, keyText(c.steps[first])),
				Hint:    "give the same key to all jobs of the run"})
		case begins >= 0 && s.handlesComments() && s.Job != c.steps[begins].Job && !c.beginsWith(s.Key()):
			c.reportStep(Warning, s, "key", protocol.Problem{Code: "comment-key",
				Message: fmt.Sprintf("job %s handles comments but has no key in common with job %s, so it does not find that job's run", s.Job, c.steps[begins].Job),
				Hint:    "give both jobs the same key"})
		}
	}
}

// keyText describes the key of a step in messages.
func keyText(s Step) string {
	if s.Key() == "" {
		return "the default key"
	}
	return "key: " + s.Input("key")
}

// beginsWith reports whether this is the key of a step that doesn't handle comments.
func (c *jobs) beginsWith(key string) bool {
	return key != "" && slices.ContainsFunc(c.steps, func(s Step) bool { return !s.handlesComments() && s.Key() == key })
}
