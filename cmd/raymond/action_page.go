package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// owed is what a step has begun to show to people and not brought to its end. It
// is kept in a file beside the run, for the post part of the step.
type owed struct {
	Step    string `json:"step"` // of which job: a folder may have runs of several
	Summary bool   `json:"summary"`
	Comment bool   `json:"comment"`
}

const owedFile = "owed.json"

// maxNote bounds what is read of a note, in bytes.
const maxNote = 4 << 10

// openPage prepares what people read after the run: the step summary, and the
// comment with the same words.
func (x *action) openPage(d *drive) error {
	commenting := x.wantsComment()
	if !x.in.Summary && !commenting {
		return nil
	}
	id := d.run.WorkflowID
	x.readFlow()
	x.summary = report.NewSummary(report.SummaryOptions{
		Write: x.writeSummary, WorkflowID: id, Workflow: d.scope.workflow, Next: x.outlook(d.run).Text, Found: x.differs, Notes: x.notes, Site: x.site(),
	})
	if err := x.retell(d, x.summary); err != nil {
		return err
	}
	d.fan.Add("step summary", x.summary)
	x.owed, x.owedBy = owed{Step: x.stepName(), Summary: x.in.Summary, Comment: commenting}, id
	if err := writeNote(x.fileOfRun(id, owedFile), x.owed); err != nil {
		return err
	}
	if !commenting {
		return nil
	}
	how := "From"
	if d.resumed {
		how = "Resumed in"
	}
	var err error
	if x.comment, err = x.startComment(id, x.summary.Glance, how); err != nil {
		return err
	}
	d.fan.Add("comment", x.comment)
	return nil
}

// finishPage has summary and comment say how the step ended, with what no event
// of the run has told.
func (x *action) finishPage(all []*problem.Problem) {
	if x.summary == nil {
		x.pageOfError(all)
		return
	}
	if i := slices.IndexFunc(all, func(f *problem.Problem) bool { return !x.isToldByEvents(f) }); i >= 0 {
		x.summary.SetError(x.shown(all[i].Error())) // before it is cut
		if err := x.summary.Close(); err != nil {
			x.warn("step summary: " + err.Error())
		}
	}
	x.finishComment()
}

// site is the address of the repository, "" where it is not known.
func (x *action) site() string {
	server := strings.TrimSuffix(x.app.Getenv("GITHUB_SERVER_URL"), "/")
	if server == "" || x.event.Repository.Name == "" {
		return ""
	}
	return server + "/" + x.event.Repository.Name + "/"
}

// pageOfError is the page of a step that has failed before its run began, or for
// an error that no event of a run tells. The comment says the same, unless the
// step was refused, which is nobody's business but the step's, or another one has
// the run: then the comment is that one's.
func (x *action) pageOfError(all []*problem.Problem) {
	i := slices.IndexFunc(all, func(f *problem.Problem) bool { return !f.Told })
	if i < 0 || x.files == nil || x.in.Mode != job.ModeRun {
		return
	}
	title := x.in.Workflow
	if title == "" {
		title = "raymond"
	}
	x.summary = report.NewSummary(report.SummaryOptions{Write: x.writeSummary, Title: title, Notes: x.notes})
	var lines []string
	for _, f := range all[i:] {
		if !f.Told {
			lines = append(lines, f.Error())
		}
	}
	x.summary.SetError(x.shown(strings.Join(lines, "\n")))
	if err := x.summary.Close(); err != nil {
		x.warn("step summary: " + err.Error())
	}
	if f := all[i]; !x.allowed || f.Class == problem.ClassDenied || f.Class == problem.ClassConflict || !x.wantsComment() {
		return
	}
	id := "before"
	c, err := x.startComment(id, x.summary.Glance, "From")
	if err != nil {
		x.warn(err.Error())
		return
	}
	x.comment = c
	x.finishComment()
}

// writeSummary writes the step summary, if there is to be one. The comment is not
// to suffer when it can't be written.
func (x *action) writeSummary(text string) error {
	if !x.in.Summary || x.mute {
		return nil
	}
	err := x.files.WriteSummary(x.shown(text))
	if err == nil || x.comment == nil {
		return err
	}
	x.mute = true
	x.warn("step summary: " + err.Error())
	return nil
}

// stepName tells this step from all others.
func (x *action) stepName() string {
	var parts []string
	for _, name := range []string{"GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB", "GITHUB_ACTION"} {
		parts = append(parts, x.app.Getenv(name))
	}
	return strings.Join(parts, "/")
}

// fileOfRun is a file of a run beside its state.
func (x *action) fileOfRun(id, name string) string {
	return filepath.Join(x.dir, id, filepath.FromSlash(name))
}

// noteOwed keeps what is still owed. The note is of use to nobody but the post
// part, which at worst does something again.
func (x *action) noteOwed() {
	if x.owedBy == "" {
		return
	}
	file := x.fileOfRun(x.owedBy, owedFile)
	if x.owed.Summary || x.owed.Comment {
		_ = writeNote(file, x.owed)
		return
	}
	_ = os.Remove(file)
}

// leftPage is what the main part has begun to show and was not left the time to
// end.
type leftPage struct {
	x       *action
	summary *report.Summary // of all that is known by now
}

// completeSummary says how the run ended, unless the main part has, and what the
// post part has stored. The summary of the main part stays on the page as it was
// last written, and so there is only what it lacks. It returns what is left to be
// shown, nil for nothing.
func (x *action) completeSummary(run *state.Run) (*leftPage, error) {
	var o owed
	err := readNote(x.fileOfRun(run.WorkflowID, owedFile), &o)
	isOwed := err == nil && o.Step == x.stepName()
	if !isOwed && !x.byPost {
		return nil, nil // nothing, or nothing of this step, is owed
	}
	if !isOwed {
		o = owed{}
	}
	p := &leftPage{x: x}
	if p.summary, err = x.retold(run); err != nil {
		return nil, err
	}
	o.Comment = o.Comment || x.byPost
	x.owed, x.owedBy = o, run.WorkflowID
	if (o.Summary || x.byPost) && x.in.Summary {
		text := p.summary.Glance()
		if x.byPost && run.Progress.Status == state.Completed {
			text += "Stored as `" + x.stored + "` by the post part.\n"
		}
		err = x.files.WriteSummary(x.shown(text))
	}
	x.owed.Summary = false
	x.noteOwed()
	return p, err
}

// completeComment writes the last text of the comment. That it can't be written
// is no reason to fail.
func (p *leftPage) completeComment(ctx context.Context) error {
	if p == nil || !p.x.owed.Comment || !p.x.wantsComment() {
		return nil
	}
	x := p.x
	c, err := x.startComment(x.owedBy, p.summary.Glance, "From")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lastComment)
	defer cancel()
	if err := c.poster.Finish(ctx, c.text()); err != nil {
		x.warn(x.commentRefused(err))
	}
	x.owed.Comment = false
	x.noteOwed()
	return nil
}

// retold is the summary of a run that is at rest or was killed.
func (x *action) retold(run *state.Run) (*report.Summary, error) {
	if err := x.completeLog(run); err != nil {
		return nil, err
	}
	s := report.NewSummary(report.SummaryOptions{
		Write: func(string) error { return nil }, Every: time.Hour, WorkflowID: run.WorkflowID, Site: x.site(),
	})
	t := &teller{to: s}
	if err := x.retell(x.leftDrive(run), t); err != nil {
		return nil, err
	}
	if run.Progress.Status == state.Running {
		if err := s.Report(t.cutOff(run)); err != nil {
			return nil, err
		}
	}
	return s, s.Next(x.outlook(run).Text)
}

// teller passes events on and keeps when the last part of the run was.
type teller struct {
	to    report.Reporter
	seq   int
	began time.Time
	last  time.Time
}

// Report implements report.Reporter.
func (t *teller) Report(e state.Event) error {
	if _, ok := e.Body.(*state.RunStarted); ok {
		t.began = e.Time
	}
	t.seq, t.last = max(t.seq, e.Seq), e.Time
	return t.to.Report(e)
}

// Close implements report.Reporter.
func (t *teller) Close() error { return nil }

// cutOff is the end that a killed run could not tell. It is in no log: whoever
// takes the run up goes on where it was.
func (t *teller) cutOff(run *state.Run) state.Event {
	p, spent := &run.Progress, run.Spent()
	return state.Event{Seq: t.seq + 1, Time: t.last, Body: &state.RunFinished{
		Status: state.Cancelled, Reason: "the step was killed before the run came to rest", CostUSD: p.TotalUSD,
		Estimated: spent.Estimated, Unknown: spent.Unknown, Unfinished: run.Unfinished(),
		Iterations: p.Iterations, DurationMS: t.last.Sub(t.began).Milliseconds(),
	}}
}

// writeNote keeps a value in a file, wholly or not at all.
func writeNote(file string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	temp := file + ".tmp"
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.RemoveAll(temp)); err != nil {
		return err
	}
	// It must be a new one: a pipe that an agent put there would never take it.
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, file)
}

// readNote reads what writeNote has kept. Agents know the folder, so anything may
// be there.
func readNote(file string, value any) error {
	data, _, err := files.Read(file, maxNote)
	if err != nil {
		return fmt.Errorf("read note: %w", err)
	}
	if err := json.Unmarshal(data, value); err != nil {
		return fmt.Errorf("read note: %w", err)
	}
	return nil
}
