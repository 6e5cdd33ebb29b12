//go:build linux

package examplestest

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

// jobsDispatch is what the button "Run workflow" sends.
func jobsDispatch(t testing.TB, example string, inputs map[string]string) string {
	t.Helper()
	return jobsPayload(t, map[string]any{"workflow": ".github/workflows/" + example + ".yml", "inputs": inputs, "ref": "refs/heads/main"})
}

// jobsPayload is an event of the stage's repository, which is private.
func jobsPayload(t testing.TB, fields map[string]any) string {
	t.Helper()
	payload := map[string]any{
		"sender": map[string]any{"login": "ann", "type": "User"},
		"repository": map[string]any{
			"id": RepositoryID, "full_name": Repository, "private": true, "default_branch": "main",
			"owner": map[string]any{"login": "acme", "type": "Organization"},
		},
	}
	maps.Copy(payload, fields)
	data, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// jobsWantSummary checks that a step's summary begins with how it went, and has the
// path of the run as a diagram and some texts.
func jobsWantSummary(t testing.TB, s *acttest.Step, headline string, parts ...string) {
	t.Helper()
	first, _, _ := strings.Cut(strings.TrimSpace(s.Summary), "\n")
	if !strings.Contains(first, headline) {
		t.Errorf("headline of job %s: got %q, want %q in it", s.Job, first, headline)
	}
	for _, part := range append(parts, "```mermaid\n") {
		if !strings.Contains(s.Summary, part) {
			t.Errorf("summary of job %s: got\n%s\nwant %q in it", s.Job, s.Summary, part)
		}
	}
}

// jobsWant checks how the jobs of a run ended; one that was skipped has no end.
func jobsWant(t testing.TB, r *acttest.Result, want map[string]string) {
	t.Helper()
	if !maps.Equal(r.Jobs, want) {
		t.Errorf("jobs: got %v, want %v\n%s", r.Jobs, want, Shown(r))
	}
}
