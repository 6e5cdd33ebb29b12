//go:build linux

package action_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// telling is a workflow whose script and agent say what variables hold.
const telling = `-- wf/START.sh --
echo "log: $FOR_ALL and $FOR_SCRIPTS" >&2
echo "$FOR_ALL" >said.txt
echo "<goto>AGENT.md</goto>"
-- wf/AGENT.md --
reply:
<goto>END.sh</goto>
end.
-- wf/END.sh --
echo "<result>$FOR_ALL, $FOR_SCRIPTS, $SHORT</result>"
`

// TestWhatEnvNamesIsMasked on every way out, whatever its name looks like; of what
// is too short only a secret is told.
func TestWhatEnvNamesIsMasked(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	j := newJob(t, f, acttest.Repository(t, telling), 1).with("claude-path", sitetest.Stub.Path(t), "env", "FOR_ALL SHORT SHORT_TOKEN", "script-env", "FOR_SCRIPTS").
		set("FOR_ALL", "a plain setting", "FOR_SCRIPTS", "another setting", "SHORT", "brief", "SHORT_TOKEN", "1234567")
	e := j.do(0)
	e.wantOutputs(t, "status", "completed", "result", "***, ***, brief")
	for what, text := range map[string]string{"log": e.Stdout, "stderr": e.Stderr, "page": e.summary, "events": j.read(e.outputs["events-file"])} {
		if strings.Contains(text, "setting") {
			t.Errorf("%s: got a value that env or script-env names:\n%s", what, text)
		}
	}
	for _, c := range f.Checkpoints(t, nil) {
		for _, name := range []string{"state.json", "events.jsonl"} {
			if strings.Contains(j.read(filepath.Join(c.Dir, name)), "setting") {
				t.Errorf("%s of the checkpoint: got a value that env names", name)
			}
		}
	}
	e.wantSays(t, "warning", "too short", ": SHORT_TOKEN")
	if e.says("warning", "SHORT,") || e.says("warning", "FOR_ALL") {
		t.Errorf("warnings: got %q, want none about settings", e.texts("warning"))
	}
}

// TestSecretsWithOddNamesAreMasked: an agent may learn a secret of the job that no input
// names, as from another step's files, and say it.
func TestSecretsWithOddNamesAreMasked(t *testing.T) {
	t.Parallel()
	odd := map[string]string{
		"SIGNING_PASSPHRASE": "canary-one-1", "DB_PASSWD": "canary-two-2", "GH_PAT": "canary-three-3", "DBPWD": "canary-four-4", "GCP_CREDS": "canary-five-5",
		"DB_CONNECTION_STRING": "canary-six-6", "DATABASE_URL": "postgres://app:canary-seven-7@db/x", "SSH_PRIVATE": "canary-eight-8",
	}
	f := sitetest.NewForge(t)
	values := strings.Join(slices.Sorted(maps.Values(odd)), " ")
	said := strings.ReplaceAll(strings.ReplaceAll(values, "postgres://app:", ""), "@db/x", "")
	flow := "-- wf/START.sh --\necho \"log: " + said + "\"\necho \"<goto input='" + said + "'>AGENT.md</goto>\"\n" +
		"-- wf/AGENT.md --\nYou know {{result}}\nreply:\n<result>" + said + "</result>\nend.\n"
	j := newJob(t, f, acttest.Repository(t, flow), 1).with("claude-path", sitetest.Stub.Path(t))
	for name, value := range odd {
		j.set(name, value)
	}
	e := j.do(0)
	e.wantOutputs(t, "status", "completed")
	texts := map[string]string{
		"log": withoutMasks(e), "stderr": e.Stderr, "page": e.summary, "events": j.read(e.outputs["events-file"]), "result": e.outputs["result"],
	}
	for _, c := range f.Checkpoints(t, nil) {
		for _, name := range []string{"state.json", "events.jsonl"} {
			texts[name+" of the checkpoint"] = j.read(filepath.Join(c.Dir, name))
		}
	}
	for _, secret := range strings.Fields(said) {
		if !strings.Contains(e.Stdout, "::add-mask::"+secret+"\n") {
			t.Errorf("what the runner is told to mask: got no %s", secret)
		}
	}
	for what, text := range texts {
		if i := strings.Index(text, "canary"); i >= 0 {
			t.Errorf("%s: got a secret: %q", what, text[max(0, i-100):min(len(text), i+100)])
		}
	}
}

// TestOrdinaryWordsBreakNothing: a variable whose value is a word of ours, of the
// agent CLI, a name of a state or a place is not masked, which is said, and the run
// is resumed.
func TestOrdinaryWordsBreakNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t, strings.ReplaceAll(agentAtWork, "EDIT.sh", "make-changes.sh"))
	words := []string{
		"W_STATUS", "completed", "W_OVER", "over_iterations", "W_EVENT", "run_finished", "W_FIELD", "workflow_id", "W_ROLE", "assistant",
		"W_STAGE", "make-changes", "W_PLACE", filepath.Dir(s.repo), "W_REPO", "raymond-action",
	}
	var names []string
	for i := 0; i < len(words); i += 2 {
		names = append(names, words[i])
	}
	inputs := []string{"claude-path", sitetest.Stub.Path(t), "env", strings.Join(append(names, "EFFECTS", "SIDE_EFFECTS"), " ")}
	e := s.job(1, append(inputs, "max-iterations", "1")...).set(words...).do(problem.ExitCodes[problem.ClassOverLimit])
	e.wantOutputs(t, "status", "over_iterations", "outcome", "over_iterations", "resumable", "true")
	e.wantSays(t, "warning", "not masked", "W_EVENT", "W_STATUS")
	e.wantSays(t, "warning", "not masked", "W_STAGE")
	e = s.job(2, append(inputs, "max-iterations", "9")...).set(words...).do(0)
	e.wantOutputs(t, "status", "completed", "outcome", "clean", "result", "all done")
	if _, err := os.Stat(s.effects); err != nil {
		t.Error(err)
	}
}
