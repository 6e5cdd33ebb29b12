//go:build linux

package action_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// TestSecretsWithOddNamesAreMasked checks that secrets are masked that no input names, because an
// agent may learn them from another step's files. Variables that inputs name are masked whatever
// their names. A warning about short values lists only secrets.
func TestSecretsWithOddNamesAreMasked(t *testing.T) {
	t.Parallel()
	odd := map[string]string{
		"SIGNING_PASSPHRASE": "canary-one-1", "DATABASE_URL": "postgres://app:canary-seven-7@db/x",
	}
	f := sitetest.NewForge(t)
	values := strings.Join(slices.Sorted(maps.Values(odd)), " ")
	said := "canary-nine-9 canary-ten-10 " + strings.ReplaceAll(strings.ReplaceAll(values, "postgres://app:", ""), "@db/x", "")
	flow := "-- wf/START.sh --\necho \"log: " + said + "\"\necho \"<goto input='" + said + "'>AGENT.md</goto>\"\n" +
		"-- wf/AGENT.md --\nYou know {{result}}\nreply:\n<result>" + said + "</result>\nend.\n-- wf/PUSH.sh --\n# raymond: trusted=true\n"
	j := newJob(t, f, folder(t, flow), 1).with("env", "SETTING SHORT SHORT_TOKEN", "script-env", "FOR_SCRIPTS").
		set("SETTING", "canary-nine-9", "FOR_SCRIPTS", "canary-ten-10", "SHORT", "brief", "SHORT_TOKEN", "1234567", "ACTIONS_DEPLOY_KEY", odd["SIGNING_PASSPHRASE"], "RUNNER_PASSWORD", "canary-two-2")
	for name, value := range odd {
		j.set(name, value)
	}
	e := j.do(0)
	e.WantOutputs(t, "status", "completed")
	texts := map[string]string{
		"log": e.Unmasked(), "stderr": e.Stderr, "page": e.Summary, "events": sitetest.Read(j.T, e.Outputs["events-file"]), "result": e.Outputs["result"],
	}
	for _, c := range f.Checkpoints(t, nil) {
		for _, name := range []string{"state.json", "events.jsonl"} {
			texts[name+" of the checkpoint"] = sitetest.Read(j.T, filepath.Join(c.Dir, name))
		}
	}
	e.WantAnnotation(t, "warning", "too short", ": SHORT_TOKEN")
	e.WantAnnotation(t, "warning", "not masked", "RUNNER_PASSWORD")
	assert.Check(t, !e.HasAnnotation("warning", "SHORT,") && !e.HasAnnotation("warning", "SETTING"), "warnings: got %q, want none about settings", e.Annotations("warning"))
	for _, secret := range strings.Fields(said)[2:] { // without the first two, which are settings
		assert.Check(t, is.Contains(e.Stdout, "::add-mask::"+secret+"\n"), "what the runner is told to mask")
	}
	for what, text := range texts {
		if i := strings.Index(text, "canary"); i >= 0 {
			t.Errorf("%s: got a secret: %q", what, text[max(0, i-100):min(len(text), i+100)])
		}
	}
}
