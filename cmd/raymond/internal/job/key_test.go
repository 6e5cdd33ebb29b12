package job

import (
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

func TestKeysNameWhatARunIsAbout(t *testing.T) {
	const ref = "o/r/.github/workflows/agent.v2.yml@refs/heads/main"
	for _, test := range []struct {
		event     Event
		env       []string
		key, file string
	}{
		{Event{Subject: Subject{Kind: "issue", Number: 7}}, []string{"GITHUB_WORKFLOW_REF", ref, "GITHUB_JOB", "build"}, "agent.v2-build.issue-7", ".github/workflows/agent.v2.yml"},
		{Event{Subject: Subject{Kind: "pr", Number: 8}}, []string{"GITHUB_WORKFLOW_REF", ref, "GITHUB_REF_NAME", "8/merge", "GITHUB_JOB", "a_b"}, "agent.v2-a_b.pr-8", ".github/workflows/agent.v2.yml"},
		{Event{}, []string{"GITHUB_WORKFLOW_REF", ref, "GITHUB_REF_NAME", "feature/x"}, "agent.v2.ref-feature/x", ".github/workflows/agent.v2.yml"},
		{Event{}, []string{"GITHUB_WORKFLOW_REF", "o/r/.github/workflows/a.yaml@refs/heads/x.yml@c", "GITHUB_REF_NAME", "x.yml@c"}, "a.ref-x.yml@c", ".github/workflows/a.yaml"},
		{Event{}, []string{"GITHUB_WORKFLOW_REF", "o/r/.github/workflows/a.yml@0123abcd", "GITHUB_REF_NAME", "v1"}, "a.ref-v1", ".github/workflows/a.yml"},
		{Event{}, []string{"GITHUB_WORKFLOW", "My CI: build/test!", "GITHUB_REF_NAME", "main"}, "My-CI-build-test.ref-main", ""},
		{Event{}, []string{"GITHUB_WORKFLOW", "ci.yml", "GITEA_ACTIONS", "true", "GITHUB_REF_NAME", "main"}, "ci.ref-main", "ci.yml"},
		{Event{}, []string{"GITHUB_WORKFLOW", "../ci.yml", "GITEA_ACTIONS", "true"}, "ci", ""},
		{Event{Subject: Subject{Kind: "issue", Number: 1}}, nil, "workflow.issue-1", ""},
	} {
		getenv := env(test.env...)
		assert.Check(t, is.Equal(DefaultKey(getenv, test.event, ""), test.key), "%q: the key", test.env)
		assert.Check(t, is.Equal(WorkflowFile(getenv), test.file), "%q: the file", test.env)
	}
}

// TestMatrixJobsHaveDifferentKeys checks that jobs of a matrix have different keys if their values
// differ. The order and layout of the values don't matter. Outside of a matrix, the key has no digest.
func TestMatrixJobsHaveDifferentKeys(t *testing.T) {
	digest := func(values string) string {
		t.Helper()
		s, faults := ReadSettings(env("INPUT_WORKFLOW", "wf", "INPUT_MATRIX-VALUES", values))
		assert.Check(t, is.Len(faults, 0), "matrix-values %q", values)
		return s.Matrix
	}
	for _, none := range []string{"", "null", " null\n", "{}"} {
		assert.Check(t, is.Equal(DefaultKey(env("GITHUB_WORKFLOW", "k"), Event{}, digest(none)), "k"), "values %q: the key: want no digest", none)
	}
	one, same, other := digest(`{"os":"linux","go":"1.25"}`), digest("{\n  \"go\": \"1.25\",\n  \"os\": \"linux\"\n}"), digest(`{"os":"linux","go":"1.24"}`)
	if one == "" || one != same || one == other || DefaultKey(env("GITHUB_WORKFLOW", "k"), Event{}, one) != "k."+one {
		t.Errorf("got the digests %q, %q, %q, want the first two alike", one, same, other)
	}
	if _, faults := ReadSettings(env("INPUT_WORKFLOW", "wf", "INPUT_MATRIX-VALUES", "os: linux")); len(faults) != 1 || faults[0].Input != "matrix-values" {
		t.Errorf("values that are no JSON: got %v, want one that names the input", faults)
	}
}

// TestCalledWorkflowsAreRecognized checks that a job of a reusable workflow is recognized by its workflow file.
func TestCalledWorkflowsAreRecognized(t *testing.T) {
	const own = "o/r/.github/workflows/agent.yml@refs/heads/main"
	for file, want := range map[string]bool{
		"": false, own: false, "o/r/.github/workflows/agent.yml@refs/tags/v1": false,
		"o/r/.github/workflows/called.yml@refs/heads/main": true, "other/r/.github/workflows/agent.yml@refs/heads/main": true,
		"o/r/.github/workflows/agent.yaml@refs/heads/a.yml@b": true,
	} {
		assert.Check(t, is.Equal(isCalled(env("GITHUB_WORKFLOW_REF", own), file), want), "job in %q", file)
	}
	assert.Check(t, !isCalled(env(), own), "without GITHUB_WORKFLOW_REF: got a called workflow")
}

func TestWorkflowIDs(t *testing.T) {
	for key, want := range map[string]string{
		"agent-issue-7":  "agent-issue-7-0a1b2c3d",
		"Agent.V2/a b--": "agent-v2-a-b-0a1b2c3d",
		"--é--":          "run-0a1b2c3d",
		"a234567890123456789012345678901234567890123456789012345-89": "a234567890123456789012345678901234567890123456789012345-0a1b2c3d",
	} {
		assert.Check(t, is.Equal(WorkflowID(key, "0a1b2c3d"), want), "%q", key)
	}
}
