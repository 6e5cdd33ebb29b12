package action

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// tell says how the step ended: outputs, annotations, page, and the problems that
// decide on its exit code, which it returns. Agents and scripts are gone.
func tell(s *step, from prepared, e *ending, err error) error {
	var all []*problem.Problem
	for _, p := range problem.Flatten(err) {
		all = append(all, forJob(s.log, p))
	}
	stopped := outcome(s.log, e) // of which the events of the run have told
	if stopped != nil {
		all = append(all, stopped)
	}
	all = append(all, checkCommandFiles(s.files)...)
	for _, p := range all {
		isOfAgent := p == stopped && p.Class != problem.ClassRuntime && p.Class != problem.ClassDenied
		if !isOfAgent || !s.in.Annotations { // which have one of the agent that failed
			annotate(s.log, from.source.path, p)
		}
	}
	all = append(all, problem.Flatten(writeOutputs(s, e, all))...)
	others := slices.DeleteFunc(slices.Clone(all), func(p *problem.Problem) bool { return p == stopped || p.IsReported })
	finishPage(s, from.isAllowed, e, others)
	if len(all) == 1 && all[0].Class == problem.ClassSuspended && !s.in.SuspendedIsFailure {
		return nil
	}
	if err := s.log.out.Close(); err != nil {
		return err
	}
	return joined(all)
}

func joined(all []*problem.Problem) error {
	var out []error
	for _, p := range all {
		out = append(out, p)
	}
	return errors.Join(out...)
}

// forJob is a problem as the log of a job may show it.
func forJob(log *jobLog, p *problem.Problem) *problem.Problem {
	c := *p
	if log.mask != nil {
		c.Where, c.What, c.Hint = log.shown(p.Where), log.shown(p.What), log.shown(p.Hint)
	}
	switch p.Class {
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
	if name := job.InputOfFlag(where); name != "" {
		return "input " + name
	}
	return where
}

var flagNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`--[a-z]+(-[a-z]+)*`) })

// inputsNamed replaces flags by the inputs of a step.
func inputsNamed(text string) string {
	return flagNames().ReplaceAllStringFunc(text, func(flag string) string { return cmp.Or(job.InputOfFlag(flag), flag) })
}

// outcome says why the run is not completed, for somebody who reads a job; nil where there is nothing to say.
func outcome(log *jobLog, e *ending) *problem.Problem {
	if e.run == nil || e.run.Progress.Status == state.Completed || e.run.Progress.Status == state.Running || e.conflict() != nil {
		return nil
	}
	p := forJob(log, session.StopProblem(e.run, ""))
	p.Hint = "next: " + log.shown(e.next.Plain())
	if p.Class == problem.ClassCancelled {
		p.What, p.Code = log.shown(e.run.Progress.Reason), e.stops.ExitCode()
	}
	return p
}

// checkCommandFiles puts the runner's command files back as they were. An agent
// that wrote to them tried to reach beyond its state.
func checkCommandFiles(files *job.Files) []*problem.Problem {
	changed, err := files.Verify()
	out := problem.Flatten(problem.OfMachine("command files", err))
	if len(changed) > 0 {
		out = append(out, &problem.Problem{
			Class: problem.ClassDenied, Where: strings.Join(changed, ", "), What: "an agent or a script wrote to a file that tells the runner what to do; it was put back",
			Hint: "results leave a workflow by the result tag",
		})
	}
	return out
}

// annotate makes an annotation of a problem that is not told yet.
func annotate(log *jobLog, source string, p *problem.Problem) {
	if p.IsReported {
		return
	}
	a := report.Annotation{Level: report.LevelError, Title: "raymond: " + string(p.Class), Text: p.Error()}
	if p.Class == problem.ClassWorkflow {
		a.File, a.Line = placeOf(source, p.Where)
	}
	log.out.Annotate(a)
}

// placeOf finds file and line in what a problem of a workflow says about where.
func placeOf(source, where string) (string, int) {
	path, rest, _ := strings.Cut(where, ":")
	number, _, _ := strings.Cut(rest, ":")
	line, _ := strconv.Atoi(number)
	if filepath.Ext(source) != "" {
		source = filepath.Dir(source)
	}
	return within(source, path), line
}

// finishPage has summary and comment say how the step ended, with the problems that nothing
// has told yet.
func finishPage(s *step, isAllowed bool, e *ending, all []*problem.Problem) {
	p := e.page
	switch {
	case p == nil && e.isIdle:
		return
	case p == nil:
		if p = pageOfProblems(s, isAllowed, all); p == nil {
			return
		}
	case len(all) > 0:
		p.addError(all[0].Error())
	}
	limit, _ := e.within(lastComment)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	p.finish(ctx)
}

// pageOfProblems is the page of a step that has failed before its run began, or for
// an error that no event of a run reports, or that left the run alone because of its head; nil for none. The comment says the same,
// unless the step was refused, which is nobody's business but the step's, or another
// one has the run: then the comment is that one's.
func pageOfProblems(s *step, isAllowed bool, all []*problem.Problem) *page {
	if len(all)+len(s.log.differs) == 0 || s.in.Mode != job.ModeRun {
		return nil
	}
	var lines []string
	for _, p := range all {
		lines = append(lines, p.Error())
	}
	page := &page{step: s}
	page.summary = report.NewSummary(report.NewLiveModel(), report.SummaryOptions{Write: page.write, Title: cmp.Or(s.in.Workflow, "raymond"), Notes: s.log.notes, Differences: s.log.differs, Skipped: len(all) == 0})
	page.addError(strings.Join(lines, "\n"))
	others := []problem.Class{problem.ClassDenied, problem.ClassConflict}
	if len(all) == 0 || !isAllowed || slices.Contains(others, all[0].Class) || !wantsComment(s.event, s.in, s.log) {
		return page
	}
	page.comment = startComment(s, page.summary.Overview, "From")
	return page
}
