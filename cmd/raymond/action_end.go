package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// conclude tells how the step ended: outputs, annotations, and the faults that
// decide on its exit code. Agents and scripts are gone.
func (x *action) conclude(err error) error {
	var all []*fault
	for _, f := range faults(err) {
		all = append(all, x.worded(f))
	}
	if x.run != nil && x.run.Progress.Status != state.Completed && x.run.Progress.Status != state.Running && x.claim.conflict() == nil {
		all = append(all, x.verdict())
	}
	all = append(all, x.verify()...)
	for _, f := range all {
		x.tell(f)
	}
	if err := x.output(all); err != nil {
		all = append(all, &fault{class: classRuntime, where: "outputs", what: err.Error()})
	}
	x.finishPage(all)
	if len(all) == 1 && all[0].class == classSuspended && !x.in.SuspendedIsFailure {
		return nil
	}
	if err := x.log.Close(); err != nil {
		return err
	}
	var out []error
	for _, f := range all {
		out = append(out, f)
	}
	return errors.Join(out...)
}

// worded is a fault as the log of a job may show it.
func (x *action) worded(f *fault) *fault {
	c := *f
	if x.mask != nil {
		c.where, c.what, c.hint = x.shown(f.where), x.shown(f.what), x.shown(f.hint)
	}
	switch f.class {
	case classUsage, classConflict, classWorkflow:
		c.where, c.what, c.hint = asInput(c.where), inputsNamed(c.what), inputsNamed(c.hint)
	}
	return &c
}

// asInput is what a step has in place of an argument or a flag of the program.
func asInput(where string) string {
	if where == "PATH" {
		return "input workflow"
	}
	if name := job.FlagInput(where); name != "" {
		return "input " + name
	}
	return where
}

var flagNames = regexp.MustCompile(`--[a-z]+(-[a-z]+)*`)

// inputsNamed replaces flags by the inputs of a step.
func inputsNamed(text string) string {
	return flagNames.ReplaceAllStringFunc(text, func(flag string) string { return cmp.Or(job.FlagInput(flag), flag) })
}

// verdict words why the run is not completed, for somebody who reads a job.
func (x *action) verdict() *fault {
	f := x.worded(verdict(x.run))
	f.hint = "next: " + x.shown(x.next.Plain())
	if f.class == classCancelled {
		f.what, f.code = x.shown(x.run.Progress.Reason), x.code
	}
	return f
}

// verify puts the runner's command files back as they were. An agent that wrote
// to them tried to reach beyond its state.
func (x *action) verify() []*fault {
	if x.files == nil {
		return nil
	}
	changed, err := x.files.Verify()
	var out []*fault
	if err != nil {
		out = append(out, &fault{class: classRuntime, where: "command files", what: err.Error()})
	}
	if len(changed) > 0 {
		out = append(out, &fault{
			class: classDenied, where: strings.Join(changed, ", "), what: "an agent or a script wrote to a file that tells the runner what to do; it was put back",
			hint: "results leave a workflow by the result tag",
		})
	}
	return out
}

// tell makes an annotation of a fault. What the run's own events have told is
// not told again.
func (x *action) tell(f *fault) {
	if f.told {
		return
	}
	switch f.class {
	case classRunFailed, classOverLimit, classSuspended, classCancelled:
		if x.run != nil && x.in.Annotations {
			return
		}
	}
	a := annotation(report.LevelError, f.Error())
	a.Title = "raymond: " + string(f.class)
	if f.class == classWorkflow {
		a.File, a.Line = x.placeOf(f.where)
	}
	x.log.Annotate(a)
}

func annotation(level, text string) report.Annotation {
	return report.Annotation{Level: level, Title: "raymond", Text: text}
}

// placeOf finds file and line in what a fault of a workflow says about where.
func (x *action) placeOf(where string) (string, int) {
	parts := strings.Split(where, ":")
	line := 0
	if len(parts) > 1 {
		line, _ = strconv.Atoi(parts[1])
	}
	path := parts[0]
	if !filepath.IsAbs(path) {
		dir := x.source
		if ext := filepath.Ext(dir); ext != "" {
			dir = filepath.Dir(dir)
		}
		path = filepath.Join(dir, path)
	}
	return path, line
}

// output writes the outputs of the step.
func (x *action) output(all []*fault) error {
	if x.files == nil || x.app.Getenv("GITHUB_OUTPUT") == "" {
		return nil // not in a job
	}
	values := map[string]string{"error-class": ""}
	if len(all) > 0 {
		values["error-class"] = string(all[0].class)
	}
	if x.skipped {
		values["status"] = "skipped"
	}
	if x.run != nil {
		x.describe(values)
	}
	for _, o := range job.Outputs() {
		v, ok := values[o.Name]
		if !ok {
			continue
		}
		if err := x.files.SetOutput(o.Name, x.mask.Text(v)); err != nil {
			return err
		}
	}
	return nil
}

// describe adds what the outputs say of the run.
func (x *action) describe(values map[string]string) {
	p := &x.run.Progress
	values["workflow-id"], values["status"], values["outcome"] = x.run.WorkflowID, string(p.Status), string(p.Status)
	if p.Status == state.Running { // its state could not be written any more
		values["status"], values["outcome"] = string(state.Failed), string(state.Failed)
	}
	for _, e := range x.run.Events {
		if end, ok := e.Body.(*state.RunFinished); ok {
			values["outcome"] = end.Outcome
		}
	}
	result, _ := x.run.Result()
	values["result"] = string(result)
	values["cost-usd"], values["iterations"] = p.TotalUSD.String(), strconv.Itoa(p.Iterations)
	values["agents"] = agentsOutput(x.run)
	values["resumable"] = strconv.FormatBool(x.outlook(x.run).Resumable)
	values["state-artifact"] = x.stored
	values["events-file"] = filepath.Join(x.dir, x.run.WorkflowID, "events.jsonl")
}

// agentOutput is an agent in the output agents.
type agentOutput struct {
	Agent  string `json:"agent"`
	Status string `json:"status"`
	State  string `json:"state,omitempty"`
	Result string `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

// agentsOutput lists the agents: those that ended with their results, then the
// others with where they stand.
func agentsOutput(run *state.Run) string {
	list := []agentOutput{}
	for _, e := range run.Ended {
		list = append(list, agentOutput{Agent: e.Agent, Status: "completed", Result: strings.ToValidUTF8(string(e.Result), "\uFFFD")})
	}
	for _, a := range run.Agents {
		o := agentOutput{Agent: a.ID, Status: string(a.Status), State: a.State}
		if a.Fault != nil {
			o.Error = report.Unfold(a.Fault.Message)
		}
		list = append(list, o)
	}
	data, err := json.Marshal(list)
	if err != nil {
		return "[]"
	}
	return string(data)
}

// fenced is text in a code block that it can't end.
func fenced(text, language string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
}

// beginAnew is what to do where nobody can say whether there is a run to take up.
const beginAnew = "run the job again later; resume: never begins a new run without looking"

// judgeStore gives the errors of storing and finding checkpoints their class.
func judgeStore(err error) *fault {
	var conflict *slots.Conflict
	var unavailable *slots.Unavailable
	var access *slots.NoAccess
	var gone *slots.Gone
	switch {
	case errors.As(err, &conflict):
		return &fault{class: classConflict, what: err.Error(), hint: "give each use a key of its own, and the workflow a concurrency group"}
	case errors.Is(err, slots.ErrFull):
		return &fault{class: classStore, where: "checkpoints", what: err.Error()}
	case errors.As(err, &unavailable):
		return &fault{class: classStore, where: "checkpoints", what: err.Error(), hint: beginAnew}
	case errors.As(err, &gone), errors.Is(err, slots.ErrListTooLong):
		return &fault{class: classUsage, where: "input resume", what: err.Error(), hint: "resume: auto or never begins anew; retention-days says how long runs are kept"}
	case errors.As(err, &access) && access.Act:
		return &fault{class: classStore, where: "checkpoints", what: err.Error(), hint: beginAnew}
	case errors.As(err, &access):
		return &fault{class: classStore, where: "checkpoints", what: err.Error(), hint: "give the job permissions: actions: read"}
	}
	return judgeCheckpoint(err)
}
