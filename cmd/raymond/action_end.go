package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// conclude tells how the step ended: outputs, annotations, and the faults that
// decide on its exit code. Agents and scripts are gone.
func (x *action) conclude(err error) error {
	var all []*problem.Problem
	for _, f := range problem.All(err) {
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
		all = append(all, &problem.Problem{Class: problem.ClassRuntime, Where: "outputs", What: err.Error()})
	}
	x.finishPage(all)
	if len(all) == 1 && all[0].Class == problem.ClassSuspended && !x.in.SuspendedIsFailure {
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
func (x *action) worded(f *problem.Problem) *problem.Problem {
	c := *f
	if x.mask != nil {
		c.Where, c.What, c.Hint = x.shown(f.Where), x.shown(f.What), x.shown(f.Hint)
	}
	switch f.Class {
	case problem.ClassUsage, problem.ClassConflict, problem.ClassWorkflow:
		c.Where, c.What, c.Hint = asInput(c.Where), inputsNamed(c.What), inputsNamed(c.Hint)
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
func (x *action) verdict() *problem.Problem {
	f := x.worded(verdict(x.run))
	f.Hint = "next: " + x.shown(x.next.Plain())
	if f.Class == problem.ClassCancelled {
		f.What, f.Code = x.shown(x.run.Progress.Reason), x.code
	}
	return f
}

// verify puts the runner's command files back as they were. An agent that wrote
// to them tried to reach beyond its state.
func (x *action) verify() []*problem.Problem {
	if x.files == nil {
		return nil
	}
	changed, err := x.files.Verify()
	var out []*problem.Problem
	if err != nil {
		out = append(out, &problem.Problem{Class: problem.ClassRuntime, Where: "command files", What: err.Error()})
	}
	if len(changed) > 0 {
		out = append(out, &problem.Problem{
			Class: problem.ClassDenied, Where: strings.Join(changed, ", "), What: "an agent or a script wrote to a file that tells the runner what to do; it was put back",
			Hint: "results leave a workflow by the result tag",
		})
	}
	return out
}

// tell makes an annotation of a fault. What the run's own events have told is
// not told again.
func (x *action) tell(f *problem.Problem) {
	if f.Told {
		return
	}
	switch f.Class {
	case problem.ClassRunFailed, problem.ClassOverLimit, problem.ClassSuspended, problem.ClassCancelled:
		if x.run != nil && x.in.Annotations {
			return
		}
	}
	a := annotation(report.LevelError, f.Error())
	a.Title = "raymond: " + string(f.Class)
	if f.Class == problem.ClassWorkflow {
		a.File, a.Line = x.placeOf(f.Where)
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
func (x *action) output(all []*problem.Problem) error {
	if x.files == nil || x.app.Getenv("GITHUB_OUTPUT") == "" {
		return nil // not in a job
	}
	values := map[string]string{"error-class": ""}
	if len(all) > 0 {
		values["error-class"] = string(all[0].Class)
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
		if a.Failure != nil {
			o.Error = report.ErrorLines(a.Failure.Message)
		}
		list = append(list, o)
	}
	data, err := json.Marshal(list)
	if err != nil {
		return "[]"
	}
	return string(data)
}
