package job

import (
	"regexp"
	"testing"
)

func TestKeysNameWhatARunIsAbout(t *testing.T) {
	const ref = "o/r/.github/workflows/agent.v2.yml@refs/heads/main"
	for _, test := range []struct {
		event     Event
		env       []string
		key, file string
	}{
		{Event{Kind: "issue", Number: 7}, []string{"GITHUB_WORKFLOW_REF", ref}, "agent.v2-issue-7", ".github/workflows/agent.v2.yml"},
		{Event{Kind: "pr", Number: 8}, []string{"GITHUB_WORKFLOW_REF", ref, "GITHUB_REF_NAME", "8/merge"}, "agent.v2-pr-8", ".github/workflows/agent.v2.yml"},
		{Event{}, []string{"GITHUB_WORKFLOW_REF", ref, "GITHUB_REF_NAME", "feature/x"}, "agent.v2-feature/x", ".github/workflows/agent.v2.yml"},
		{Event{}, []string{"GITHUB_WORKFLOW_REF", "o/r/.github/workflows/a.yaml@refs/heads/b@refs/c", "GITHUB_REF_NAME", "b@refs/c"}, "a-b@refs/c", ".github/workflows/a.yaml"},
		{Event{}, []string{"GITHUB_WORKFLOW_REF", "o/r/.github/workflows/a.yml@0123abcd", "GITHUB_REF_NAME", "v1"}, "a-v1", ".github/workflows/a.yml"},
		{Event{}, []string{"GITHUB_WORKFLOW", "My CI: build/test!", "GITHUB_REF_NAME", "main"}, "My-CI-build-test-main", ""},
		{Event{}, []string{"GITHUB_WORKFLOW", "ci.yml", "GITHUB_REF_NAME", "main"}, "ci-main", ""},
		{Event{}, []string{"GITHUB_WORKFLOW", "ci.yml", "GITEA_ACTIONS", "true", "GITHUB_REF_NAME", "main"}, "ci-main", "ci.yml"},
		{Event{}, []string{"GITHUB_WORKFLOW", "../ci.yml", "GITEA_ACTIONS", "true"}, "ci", ""},
		{Event{Kind: "issue", Number: 1}, nil, "workflow-issue-1", ""},
	} {
		getenv := env(test.env...)
		if got := DefaultKey(getenv, test.event); got != test.key {
			t.Errorf("%q: got the key %q, want %q", test.env, got, test.key)
		}
		if got := WorkflowFile(getenv); got != test.file {
			t.Errorf("%q: got the file %q, want %q", test.env, got, test.file)
		}
	}
}

func TestWorkflowIDs(t *testing.T) {
	for key, want := range map[string]string{
		"agent-issue-7":  "agent-issue-7-0a1b2c3d",
		"Agent.V2/a b--": "agent-v2-a-b-0a1b2c3d",
		"--é--":          "run-0a1b2c3d",
		"/.nightly":      "nightly-0a1b2c3d",
		"":               "run-0a1b2c3d",
		"a234567890123456789012345678901234567890123456789012345-89": "a234567890123456789012345678901234567890123456789012345-0a1b2c3d",
		"a23456789012345678901234567890123456789012345678901234-89":  "a23456789012345678901234567890123456789012345678901234-0a1b2c3d",
	} {
		if got := WorkflowID(key, "0a1b2c3d"); got != want {
			t.Errorf("%q: got %q, want %q", key, got, want)
		}
	}
}

func FuzzWorkflowIDs(f *testing.F) {
	valid := regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)
	f.Add("Nightly/İx")
	f.Fuzz(func(t *testing.T, key string) {
		if got := WorkflowID(key, "0a1b2c3d"); !valid.MatchString(got) {
			t.Fatalf("%q: got %q, want a workflow id", key, got)
		}
	})
}
