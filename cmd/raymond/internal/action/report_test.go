//go:build linux

package action_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// report returns the only report that the forge has stored, with its HTML file.
func (s *scene) report() (a artifactstest.Artifact, file, html string) {
	s.t.Helper()
	all := s.stored("-report-")
	if len(all) != 1 {
		s.t.Fatalf("reports: got %q, want one", names(all))
	}
	r, err := zip.NewReader(bytes.NewReader(all[0].Content), int64(len(all[0].Content)))
	assert.NilError(s.t, err, "report")
	assert.Assert(s.t, is.Len(r.File, 1), "report")
	f, err := r.File[0].Open()
	assert.NilError(s.t, err)
	defer f.Close()
	data, err := io.ReadAll(f)
	assert.NilError(s.t, err)
	return all[0], r.File[0].Name, string(data)
}

// TestReportIsStored checks that a run with prompts in a private repository has a report with the
// conversations and without secrets, and that summary and comment link to it.
func TestReportIsStored(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, "-- wf/START.md --\nreply:\n<goto>END.md</goto> they say a-secret-of-many-letters\nend.\n-- wf/END.md --\nreply:\n<result>all done</result>\nend.\n")
	j := s.job(1, "comment", "sticky").set("MY_TOKEN", "a-secret-of-many-letters").with("env", "EFFECTS SIDE_EFFECTS MY_TOKEN")
	j.on("issues", "{"+inPrivate+`,"action":"opened","sender":{"login":"ann","type":"User"},"issue":{"number":7,"user":{"login":"ann"}}}`)
	e := j.do(0)
	stored, file, html := s.report()
	assert.Check(t, is.Equal(stored.Name, "raymond-agent-build.issue-7-report-1-build"))
	assert.Check(t, is.Equal(file, e.Outputs["workflow-id"]+".html"))
	for part, want := range map[string]bool{`id="timeline"`: true, `id="e2"`: true, "they say ***": true, "a-secret-of-many-letters": false} {
		assert.Check(t, is.Equal(strings.Contains(html, part), want), "report: %q in it: got %v, want %v", part, !want, want)
	}
	link := fmt.Sprintf("[`%s`](https://example.test/o/r/actions/runs/1/artifacts/%d)", stored.Name, stored.ID)
	comments := s.forge.Comments.By(7, sitetest.JobsAccount)
	if !strings.Contains(e.Summary, link) || len(comments) != 1 || !strings.Contains(comments[0].Body, link) {
		t.Errorf("got the summary\n%s\nand the comments %v\nwant the link %s in both", e.Summary, comments, link)
	}
	j.post()
	assert.Check(t, is.Equal(len(s.stored("-report-")), 1), "reports after the post part: want the one")
}

// TestLaterStepReplacesTheReport checks that a step that resumes a run replaces the report of the
// earlier step.
func TestLaterStepReplacesTheReport(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, threePrompts)
	first := s.job(1, "key", "k", "max-iterations", "1", "workflow", s.repo+"/wf")
	first.do(problem.ExitCodes[problem.ClassOverLimit])
	_, _, before := s.report()
	first.step("second").with("max-iterations", "9").do(0)
	if _, _, html := s.report(); strings.Contains(before, `id="e3"`) || !strings.Contains(html, `id="e3"`) {
		t.Error("the second report lacks the states that have run since, or the first has them")
	}
	assert.Check(t, is.Contains(before, "Raise <code>max-iterations</code> above <code>1</code>"))
}

// TestWhichRunsHaveAReport checks which runs have a report by default: runs with prompts in private
// repositories. In a public repository, report: true causes one warning.
func TestWhichRunsHaveAReport(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		archive, payload string
		inputs           []string
		want, warns      bool
	}{
		"prompts, private":       {threePrompts, inPrivate, nil, true, false},
		"prompts, public":        {threePrompts, inPublic, nil, false, false},
		"public, with it":        {threePrompts, inPublic, []string{"report", "true"}, true, true},
		"scripts":                {threeScripts, inPrivate, nil, false, false},
		"a prompt not reached":   {"-- wf/START.sh --\n[ -e no ] && echo '<goto>P.md</goto>' || echo '<result>x</result>'\n-- wf/P.md --\nreply:\n<result>p</result>\nend.\n", inPrivate, nil, true, false},
		"prompts, may be public": {threePrompts, `"repository":{"id":4711,"full_name":"o/r"}`, nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newForgeScene(t, c.archive)
			j := s.job(1, c.inputs...)
			j.Payload = "{" + c.payload + "}"
			e := j.do(0)
			j.post()
			assert.Check(t, is.Equal(len(s.stored("-report-")) == 1, c.want), "report")
			assert.Check(t, is.Equal(e.HasAnnotation("warning", "report: true", "anyone can read"), c.warns), "warning:\n%v", e)
		})
	}
}

// TestPostStoresTheReport checks that the post phase stores the report if the main phase was
// cancelled.
func TestPostStoresTheReport(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, "-- wf/START.md --\nreply:\n<goto>HOLD.sh</goto> they said this\nend.\n-- wf/HOLD.sh --\necho held >>\"$EFFECTS\"; while :; do sleep 0.1; done\n")
	j := s.job(1)
	c := j.start()
	c.Until("the state that holds", func() bool { return s.done() == "held" })
	c.Signal(syscall.SIGINT)
	j.end(c)
	n := len(s.stored("-report-"))
	assert.Check(t, n <= 0, "after the main part: got %d reports, want the time left to what matters more", n)
	e := j.post()
	stored, _, html := s.report()
	assert.Check(t, strings.Contains(html, "they said this") && strings.Contains(e.Summary, stored.Name), "got the summary %q, and %d bytes of report; want it to lead to the report, with what was said", e.Summary, len(html))
}

// TestFailedReportDoesNotFailTheStep checks that a failure to store the report does not fail the
// step.
func TestFailedReportDoesNotFailTheStep(t *testing.T) {
	t.Parallel()
	s := newForgeScene(t, threePrompts)
	s.forge.Put(artifactstest.Artifact{Run: 1, Name: "raymond-agent-build.ref-main-report-1-build"})
	s.forge.Fail(artifactstest.Fault{Op: "DeleteArtifact", Times: 2, Status: 403})
	e := s.job(1).do(0) // the claim can't be deleted either
	e.WantOutputs(t, "status", "completed")
	e.WantAnnotation(t, "notice", "the report of the run could not be stored")
	assert.Check(t, is.Contains(e.Summary, "The report of the run could not be stored"), "summary")
}
