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

// reportResult reports how the step ended: outputs, annotations, page, and the problems that determine
// the exit code, which it returns. It runs after agents and scripts have ended.
func reportResult(p *prepared, s *scratch, d *driver, c Conclusion, err error) error {
	j := p.job
	var all []*problem.Problem
	for _, p := range problem.Flatten(err) {
		all = append(all, forJob(s.log, p))
	}
	stopped := stopProblem(s.log, c) // the events of the run have reported it
	if stopped != nil {
		all = append(all, stopped)
	}
	all = append(all, checkCommandFiles(s.files)...)
	for _, one := range all {
		isOfAgent := one == stopped && one.Class != problem.ClassRuntime && one.Class != problem.ClassDenied
		if !isOfAgent { // the failed agent has its own annotation
			annotate(s.log, p.source.path, one)
		}
	}
	a := d.advisor
	a.job = j
	all = append(all, problem.Flatten(writeOutputs(j, s, a, c, all))...)
	others := slices.DeleteFunc(slices.Clone(all), func(p *problem.Problem) bool { return p == stopped || p.IsReported })
	reportOnPage(j, s, d, c, others)
	if len(all) == 1 && all[0].Class == problem.ClassSuspended {
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

// forJob returns a problem as the log of a job may show it: without secrets, and with the names of
// inputs instead of flags.
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

// asInput returns the name of the input that corresponds to an argument or flag of the program.
func asInput(where string) string {
	if where == "PATH" {
		return "input workflow"
	}
	if job.InputOfFlag(where) != "" {
		return job.FlagLabel(strings.TrimPrefix(where, "--"))
	}
	return where
}

var flagNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`--[a-z]+(-[a-z]+)*`) })

// inputsNamed replaces flags in a text by the names of inputs. Flags of the input args stay.
func inputsNamed(text string) string {
	return flagNames().ReplaceAllStringFunc(text, func(flag string) string {
		if name := job.InputOfFlag(flag); name != "args" {
			return cmp.Or(name, flag)
		}
		return flag
	})
}

// stopProblem returns the problem that keeps the run from being completed, or nil for none.
func stopProblem(log *jobLog, c Conclusion) *problem.Problem {
	if c.run == nil || c.run.Progress.Status == state.Completed || c.run.Progress.Status == state.Running || c.conflict != nil {
		return nil
	}
	p := forJob(log, session.StopProblem(c.run, ""))
	p.Hint = "next: " + log.shown(c.next.Plain())
	if p.Class == problem.ClassCancelled {
		p.What, p.Code = log.shown(c.run.Progress.Reason), c.exitCode
	}
	return p
}

// checkCommandFiles restores the runner's command files, and reports the files that an agent or a
// script has changed.
func checkCommandFiles(files *job.Files) []*problem.Problem {
	changed, err := files.Verify()
	out := problem.Flatten(problem.OfMachine("command files", err))
	if len(changed) > 0 {
		out = append(out, &problem.Problem{
			Class: problem.ClassDenied, Where: strings.Join(changed, ", "), What: "an agent or a script wrote to this command file of the runner; the file was restored",
			Hint: "return results with the result tag",
		})
	}
	return out
}

// annotate adds an annotation for a problem that has not been reported yet.
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

// placeOf returns the file and the line in the position of a problem of a workflow.
func placeOf(source, where string) (string, int) {
	path, rest, _ := strings.Cut(where, ":")
	number, _, _ := strings.Cut(rest, ":")
	line, _ := strconv.Atoi(number)
	if filepath.Ext(source) != "" {
		source = filepath.Dir(source)
	}
	return within(source, path), line
}

// reportOnPage writes how the step ended to the summary and the comment, with the problems that have
// not been reported yet.
func reportOnPage(j *Job, s *scratch, d *driver, c Conclusion, all []*problem.Problem) {
	p := d.page
	switch {
	case p == nil && c.isIdle:
		return
	case p == nil:
		if p = pageOfProblems(j, s, all); p == nil {
			return
		}
	case len(all) > 0:
		p.addError(all[0].Error())
	}
	limit, _ := d.advisor.deadline.within(lastComment)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	p.finish(ctx, d.advisor.deadline.isFinal())
}

// pageOfProblems returns the page of a step that failed before its run began, that failed with an
// error that no event of the run reports, or that left the run unchanged because of its head. It
// returns nil if there is nothing to show. The comment shows the same, unless the sender was
// refused, or another job has the run and maintains the comment.
func pageOfProblems(j *Job, s *scratch, all []*problem.Problem) *page {
	if len(all)+len(s.log.changes) == 0 || j.in.Mode != job.ModeRun {
		return nil
	}
	var lines []string
	for _, p := range all {
		lines = append(lines, p.Error())
	}
	p := &page{job: j, s: s}
	p.summary = report.NewSummary(report.NewLiveModel(), report.SummaryOptions{Write: p.write, Title: cmp.Or(j.in.Workflow, "raymond"), Notes: s.log.notes, Differences: s.log.changes, Skipped: len(all) == 0})
	p.addError(strings.Join(lines, "\n"))
	others := []problem.Class{problem.ClassDenied, problem.ClassConflict}
	if len(all) == 0 || !j.isAllowed || slices.Contains(others, all[0].Class) || !wantsComment(j, s.log) {
		return p
	}
	p.comment = newComment(j, s.log, p.summary.Overview, "From")
	return p
}
