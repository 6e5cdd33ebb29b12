package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/snapshots"
	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/runner/insight"
	webpage "github.com/raymond-action/raymond-action/runner/insight/page"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// reportTime is how long making and storing a report may take.
const reportTime = time.Minute

// The states of a step's report, as its note has them.
const (
	reportDue   = "due"     // the run was begun, and is to have one
	reportIfRun = "prompts" // the same, if a prompt has run: its files lead to none
	reportDone  = "done"    // it was stored, or that was tried
)

// planReport decides whether the run is to have a report, and notes it for the post part. It
// says what everybody will be able to read, before there is anything to read.
func planReport(s *step, b *readyRun) error {
	if s.part() != nil || s.in.Report != nil && !*s.in.Report {
		return nil
	}
	if s.in.Report == nil && (!b.flow.HasPrompts() || s.isLocal() || isPublic(s)) {
		return nil
	}
	if s.in.Report != nil && isPublic(s) {
		s.voice.warn("report: true: anybody may read the artifacts of this repository, which is public or not known to be private, and so the report of this run: " +
			"the conversations of its agents, and what they changed")
	}
	plan := reportDue
	if s.in.Report == nil && !expectsPrompts(b.flow, b.run) {
		plan = reportIfRun
	}
	return s.note.change(func(d *noteData) { d.Report = plan })
}

// expectsPrompts reports whether a run has executed a prompt, or the files of its workflow lead
// to one.
func expectsPrompts(f *flow, run *state.Run) bool { return f.LeadsToPrompt() || hasPrompted(run) }

// hasPrompted reports whether a run has executed a prompt.
func hasPrompted(run *state.Run) bool {
	return slices.ContainsFunc(run.Used, func(file string) bool { return protocol.KindOf(file) == protocol.Prompt })
}

// reportEnd stores the report of a run that has stopped. Where there is no time, the post part
// does it. That it can't be done is no reason to fail. Of a run whose key is another's nothing is
// stored.
func reportEnd(ctx context.Context, s *step, r *result) {
	if r.stops.Since() >= 0 || r.claim.Conflict() != nil {
		return
	}
	link, err := storeReport(ctx, s, r.run)
	if err != nil {
		r.remarks.notes = append(r.remarks.notes, sentence(notReported(err)))
		s.voice.notice(notReported(err))
	}
	r.kept.report = link
}

func notReported(err error) string {
	return "the report of the run could not be stored: " + err.Error()
}

// storeReport makes and stores the report of a run, if it is to have one that is not stored
// yet. The link is zero where there is none.
func storeReport(ctx context.Context, s *step, run *state.Run) (report.Link, error) {
	if plan := s.note.get().Report; plan != reportDue && (plan != reportIfRun || !hasPrompted(run)) {
		return report.Link{}, nil
	}
	if err := s.note.change(func(d *noteData) { d.Report = reportDone }); err != nil {
		return report.Link{}, err
	}
	v, err := s.openServices()
	if err != nil || v.runtime == nil {
		return report.Link{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reportTime, fmt.Errorf("it takes longer than %v", reportTime))
	defer cancel()
	f, err := os.CreateTemp(s.dirs.own, "report-*.zip")
	if err != nil {
		return report.Link{}, err
	}
	defer os.Remove(f.Name())
	size, err := writeReport(ctx, reporting{sourceOf(s, run), f})
	if err != nil {
		return report.Link{}, err // whoever writes it after the time is over closes the file
	}
	defer f.Close()
	name := slots.Place{Key: s.key}.ReportName(s.event.Attempt, s.getenv("GITHUB_JOB"))
	stored, err := replaceArtifact(ctx, v.runtime, artifacts.New{
		Name: name, Content: f, Size: size, Expires: time.Now().Add(time.Duration(s.in.RetentionDays) * 24 * time.Hour),
	})
	if err != nil {
		return report.Link{}, err
	}
	return report.Link{Name: name, URL: artifactPage(s, stored.ID)}, nil
}

// sourceOf is where the report of a run comes from. It does not change when the step learns
// of further secrets.
func sourceOf(s *step, run *state.Run) runs.Source {
	logins, mask := secrets.NewRedactor(nil).Text, s.voice.now() // passwords in URLs are no secrets that the mask knows
	from := runs.Source{
		StateDir: s.dirs.state, Run: run, Agents: conversationsOf(s), Hide: func(text string) string { return mask(logins(text)) },
	}
	if s.in.Workspace == job.WorkspaceGit {
		from.Snapshots = s.git().OpenSnapshots(snapshots.Path(s.runDir(run.WorkflowID)))
	}
	return from
}

// reporting is a report that is made, and the archive that it becomes.
type reporting struct {
	from runs.Source
	to   *os.File
}

// writeReport writes the archive of a report and returns its size. What takes too long is
// left to itself.
func writeReport(ctx context.Context, x reporting) (int64, error) {
	done := make(chan error, 1)
	go func() {
		err := x.write()
		if ctx.Err() != nil {
			err = errors.Join(err, x.to.Close())
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil {
			return 0, errors.Join(err, x.to.Close())
		}
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	return x.to.Seek(0, io.SeekEnd)
}

// write writes the archive.
func (x reporting) write() error {
	var data *insight.Report
	err := safely(func() (err error) {
		data, err = runs.BuildReport(x.from)
		return err
	})
	if err != nil {
		return err
	}
	html, pipe := io.Pipe()
	go func() { pipe.CloseWithError(safely(func() error { return webpage.Write(pipe, data) })) }()
	p := archive.NewPacker(x.to)
	return errors.Join(p.Add(x.from.Run.WorkflowID+".html", html), p.Close(), html.Close())
}

// safely makes a panic an error. What a report is made from was written by strangers: if no
// page can be made of it, the step must not end for that.
func safely(do func() error) (err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("a bug of raymond: %v", failed)
		}
	}()
	return do()
}

// replaceArtifact stores an artifact in the place of one that an earlier step of the job has
// stored.
func replaceArtifact(ctx context.Context, to *artifacts.Runtime, n artifacts.New) (artifacts.Artifact, error) {
	stored, err := to.Upload(ctx, n)
	if !errors.Is(err, artifacts.ErrExists) {
		return stored, err
	}
	old, err := to.List(ctx, n.Name)
	if err != nil {
		return stored, err
	}
	for _, a := range slices.Backward(old) {
		if err := to.Delete(ctx, a); err != nil {
			return stored, err
		}
	}
	n.Freed = true
	return to.Upload(ctx, n)
}

// artifactPage is where people fetch an artifact of this workflow run; "" where that is not
// known.
func artifactPage(s *step, id int64) string {
	if at := s.pageOf(s.number("GITHUB_RUN_ID")); at != "" && id != 0 && !s.event.Gitea && !s.underAct() {
		return fmt.Sprintf("%s/artifacts/%d", at, id)
	}
	return ""
}
