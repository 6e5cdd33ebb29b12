package action

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/raymond-action/raymond-action/artifacts"
	"github.com/raymond-action/raymond-action/artifacts/slots"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/checkpoints"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/runs"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/session"
	"github.com/raymond-action/raymond-action/internal/untrusted/archive"
	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	webpage "github.com/raymond-action/raymond-action/runner/insight/page"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

// reportTime is the time limit for storing a report.
const reportTime = time.Minute

// wantsReport reports whether a run that has stopped gets a report. The default is yes for a run
// with prompts in a private repository.
func wantsReport(s *step, run *state.Run) bool {
	switch {
	case s.part() != nil:
		return false
	case s.in.Report != nil:
		return *s.in.Report
	}
	return (s.note.get().Prompts || checkpoints.HasPrompted(run)) && !s.in.IsLocal() && !isPublic(s.event, s.in, s.api)
}

// expectsPrompts reports whether a run has executed a prompt, or its workflow's files lead to one.
func expectsPrompts(f *flow, run *state.Run) bool {
	return f.LeadsToPrompt() || checkpoints.HasPrompted(run)
}

// storeReport creates and stores the report of a run, if it is wanted and was not tried before.
// next is the text about the user's next steps. The link is zero without a report.
func storeReport(ctx context.Context, s *step, run *state.Run, next string) (report.Link, error) {
	if s.note.get().Reported || !wantsReport(s, run) {
		return report.Link{}, nil
	}
	if err := s.note.change(func(d *noteData) { d.Reported = true }); err != nil {
		return report.Link{}, err
	}
	if s.stored.runtime == nil {
		return report.Link{}, s.stored.err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, reportTime, fmt.Errorf("it took longer than %v", reportTime))
	defer cancel()
	f, err := os.CreateTemp(s.dirs.own, "report-*.zip")
	if err != nil {
		return report.Link{}, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	logins := secrets.NewRedactor(nil).Text // hides passwords in URLs, which the mask doesn't know
	from := runs.ReportSource{
		StateDir: s.dirs.state, Run: run, Agents: conversationsOf(s), Hide: func(text string) string { return s.log.shown(logins(text)) }, Next: next,
	}
	if s.in.Workspace == job.WorkspaceGit {
		from.Snapshots = s.git.OpenSnapshots(session.SnapshotsPath(s.dirs.run(run.WorkflowID)))
	}
	if err := writeReport(f, from); err != nil {
		return report.Link{}, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return report.Link{}, err
	}
	name := slots.Place{Key: s.key}.ReportName(s.event.Attempt, s.event.Job)
	stored, err := replaceArtifact(ctx, s.stored.runtime, artifacts.NewArtifact{
		Name: name, Content: f, Size: size, Expires: time.Now().Add(time.Duration(s.in.RetentionDays) * 24 * time.Hour),
	})
	if err != nil {
		return report.Link{}, err
	}
	link := report.Link{Name: name}
	if at := s.event.RunURL(s.event.RunID); at != "" && stored.ID != 0 && !s.event.IsGitea && !s.event.IsUnderAct() {
		link.URL = fmt.Sprintf("%s/artifacts/%d", at, stored.ID)
	}
	return link, nil
}

// writeReport writes the archive of a report. The report is made from untrusted text: a panic
// becomes an error, so that it can't end the step.
func writeReport(to *os.File, from runs.ReportSource) (err error) {
	defer func() {
		if failed := recover(); failed != nil {
			err = fmt.Errorf("internal error: %v", failed)
		}
	}()
	data, err := runs.BuildReport(from)
	if err != nil {
		return err
	}
	var html bytes.Buffer
	if err := webpage.Write(&html, data); err != nil {
		return err
	}
	p := archive.NewPacker(to)
	return errors.Join(p.Add(from.Run.WorkflowID+".html", &html), p.Close())
}

// replaceArtifact stores an artifact and deletes one with the same name that an earlier step of the
// job has stored.
func replaceArtifact(ctx context.Context, to *artifacts.Runtime, n artifacts.NewArtifact) (artifacts.Artifact, error) {
	old, err := to.List(ctx, n.Name)
	for _, a := range old {
		n.NameFreed, err = true, errors.Join(err, to.Delete(ctx, a))
	}
	if err != nil {
		return artifacts.Artifact{}, err
	}
	return to.Upload(ctx, n)
}
