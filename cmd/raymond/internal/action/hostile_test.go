//go:build linux

package action_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// The secrets of a hostile job. JSON and URLs encode the last one differently.
const (
	modelKey  = "sk-ant-api03-Zm9vYmFyYmF6cXV4-0123456789"
	npmSecret = `np"m\tok/en+va&lue<12345>`
)

// forms returns the encodings in which a secret may be written.
func forms(secret string) []string {
	data, _ := json.Marshal(secret)
	return []string{secret, string(data[1 : len(data)-1]), base64.StdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte("user:" + secret))}
}

// leaks returns texts that no output may contain.
func leaks(secret string) []string {
	f := forms(secret)
	return []string{f[0], f[1], strings.TrimRight(f[2], "="), f[3][8 : len(f[3])-4]}
}

// ofSecrets calls of, which is forms or leaks, for all secrets of the job.
func (j *bareJob) ofSecrets(of func(string) []string) []string {
	return slices.Concat(of(modelKey), of(npmSecret), of(j.Inputs["github-token"]))
}

// wantNoLeaks checks that a text contains no form of a secret, and no fragment from which it could
// be restored.
func (j *bareJob) wantNoLeaks(what, text string) {
	j.T.Helper()
	for _, leak := range j.ofSecrets(leaks) {
		if at := strings.Index(text, leak); at >= 0 {
			j.T.Errorf("%s: got the secret %q in %q", what, leak, text[max(0, at-60):min(len(text), at+len(leak)+20)])
		}
	}
}

// hostileFlow is a workflow of an agent, a script and another agent, which all output the contents
// of the workspace's files.
const hostileFlow = `-- wf/START.md --
Begin.
-- wf/NOISE.sh --
cat hostile secrets >&2
t=$(cat token)
printf 'split %s' "${t:0:12}" >&2; printf '%s' "${t:12}" >&2
for ((i = 0; i < 1000; i++)); do echo 'noise ::error::injected' >&2; done
echo '<goto>END.md</goto>'
-- wf/END.md --
End.
`

// TestHostileTextIsHarmless checks that hostile text is shown as text, without secrets, in log,
// outputs, annotations, summary, comment, events and checkpoint.
func TestHostileTextIsHarmless(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, hostileFlow)
	s.memory = nil
	j := s.commented(1, "github-token", "api-token", "anthropic-api-key", modelKey, "env", "NPM_AUTH_TOKEN").set("NPM_AUTH_TOKEN", npmSecret)
	secrets := strings.Join(j.ofSecrets(forms), "\n")
	j.Site.Write(filepath.Join(j.Work, "hostile"), sitetest.Hostile)
	j.Site.Write(filepath.Join(j.Work, "secrets"), secrets)
	j.Site.Write(filepath.Join(j.Work, "token"), modelKey)
	j.says = map[string]says{
		"Begin": {sitetest.Hostile + "\n" + secrets, "<goto>NOISE.sh</goto>"},
		"End":   {secrets, "<result>" + secrets + "\n" + sitetest.Hostile + "</result>"},
	}
	e := j.with("max-iterations", "2").do(problem.ExitCodes[problem.ClassOverLimit])
	j.wantHarmless(e)
	j.wantStoredWithoutSecrets("END.md", e.Outputs["workflow-id"])

	// A later job resumes the run from the checkpoint, on the machine that has the hostile files.
	assert.NilError(t, os.RemoveAll(filepath.Join(j.Temp, "raymond")))
	e = j.with("max-iterations", "3", "key", "agent-build.issue-7").do(0)
	j.wantHarmless(e)
	want := "\n" + strings.ReplaceAll(string([]rune(sitetest.Hostile)), "\x00", "")
	if got := e.Outputs["result"]; !strings.HasSuffix(got, want) || strings.Count(got, "***") < len(j.ofSecrets(forms)) {
		t.Errorf("output result: got %q, want %q and stars for the secrets", got, want)
	}
	e.WantOutputs(t, "status", "completed", "iterations", "3")
	j.wantNoLeaks("comment", s.wantComment(7, "***").Body)
}

// wantHarmless checks everything that a step has written for the runner.
func (j *bareJob) wantHarmless(e stepEnd) {
	j.T.Helper()
	if saved := sitetest.ReadOutputs(j.T, sitetest.Read(j.T, j.CommandFile("GITHUB_STATE"))); len(saved) != 1 || saved[sitetest.PartState] == "" {
		j.T.Errorf("GITHUB_STATE: got %q, want the number of the part and nothing else", saved)
	}
	for name := range e.Outputs {
		isOurs := slices.ContainsFunc(job.Outputs(), func(o job.OutputSpec) bool { return o.Name == name })
		assert.Check(j.T, isOurs, "output %s: got %q, want no such output", name, e.Outputs[name])
	}
	for _, c := range e.Commands {
		switch c.Name {
		case "add-mask":
			if len(c.Data) < 8 && !slices.Contains([]string{"a+b=", "c+d="}, c.Data) { // signatures in URLs
				j.T.Errorf("masked: got %q, want secrets alone", c.Data)
			}
		case "error", "warning", "notice":
			isOurs := c.Properties["title"] != "" && !strings.Contains(fmt.Sprint(c.Properties), "injected")
			assert.Check(j.T, isOurs, "annotation: got %+v, want one of the step's own", c)
		case "group", "endgroup":
			assert.Check(j.T, !strings.Contains(c.Data, "injected"), "group: got %q, want one of the step's own", c.Data)
		default:
			j.T.Errorf("command: got %+v, want none of that name", c)
		}
	}
	for _, name := range []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_ARTIFACTS"} {
		assert.Check(j.T, is.Equal(sitetest.Read(j.T, j.CommandFile(name)), ""), name)
	}
	if len(e.Summary) > 1<<20 || len(e.Summary) == 0 || !utf8.ValidString(e.Summary) || !utf8.ValidString(e.Stdout) {
		j.T.Errorf("summary of %d bytes, valid: %v, log valid: %v", len(e.Summary), utf8.ValidString(e.Summary), utf8.ValidString(e.Stdout))
	}
	j.wantNoLeaks("log", e.Unmasked())
	j.wantNoLeaks("stderr", e.Stderr)
	j.wantNoLeaks("summary", e.Summary)
	j.wantNoLeaks("outputs", fmt.Sprint(e.Outputs))
	j.wantNoLeaks("events", sitetest.Read(j.T, e.Outputs["events-file"]))
	for _, bad := range []string{"\x1b", "\x00", "\u202e", "\u200b"} {
		assert.Check(j.T, !strings.Contains(e.Unmasked(), bad), "log: got the character %q, want none", bad)
	}
}

// wantStoredWithoutSecrets checks that no file of the newest checkpoint and no artifact contains a
// secret.
func (j *bareJob) wantStoredWithoutSecrets(at, id string) {
	j.T.Helper()
	all := j.Forge.Checkpoints(j.T, nil)
	last := all[len(all)-1]
	kinds := map[string]int{}
	err := fs.WalkDir(os.DirFS(last.Dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		kinds[strings.Split(name, "/")[0]]++
		j.wantNoLeaks("checkpoint, "+name, sitetest.Read(j.T, filepath.Join(last.Dir, name)))
		return nil
	})
	assert.NilError(j.T, err)
	if kinds["transcripts"] != 1 || kinds["state.json"] != 1 || kinds["events.jsonl"] != 1 || kinds["workspace"] < 2 {
		j.T.Errorf("checkpoint: got files %v, want state, events, one transcript and the workspace", kinds)
	}
	assert.Check(j.T, is.Equal(last.Run.WorkflowID, id), "checkpoint")
	assert.Check(j.T, is.Equal(last.Run.Agents[0].State, at), "checkpoint")
	for _, a := range j.Forge.All() {
		j.wantNoLeaks("artifact "+a.Name, string(a.Content))
	}
}

// TestSecretsWithOddNamesAreMasked checks that secrets are masked that no input names, because an
// agent may learn them from another step's files. Variables that inputs name are masked whatever
// their names. A warning about short values lists only secrets.
func TestSecretsWithOddNamesAreMasked(t *testing.T) {
	t.Parallel()
	odd := map[string]string{
		"SIGNING_PASSPHRASE": "canary-one-1", "DATABASE_URL": "postgres://app:canary-seven-7@db/x",
	}
	values := strings.Join(slices.Sorted(maps.Values(odd)), " ")
	known := "canary-nine-9 canary-ten-10 " + strings.ReplaceAll(strings.ReplaceAll(values, "postgres://app:", ""), "@db/x", "")
	flow := "-- wf/START.sh --\necho \"log: " + known + "\"\necho \"<goto input='" + known + "'>AGENT.md</goto>\"\n" +
		"-- wf/AGENT.md --\nYou know {{result}}\nreply:\n<result>" + known + "</result>\nend.\n-- wf/PUSH.sh --\n# raymond: trusted=true\n"
	s := newScene(t, flow)
	j := s.job(1, "env", "SETTING SHORT SHORT_TOKEN", "script-env", "FOR_SCRIPTS").
		set("SETTING", "canary-nine-9", "FOR_SCRIPTS", "canary-ten-10", "SHORT", "brief", "SHORT_TOKEN", "1234567", "ACTIONS_DEPLOY_KEY", odd["SIGNING_PASSPHRASE"], "RUNNER_PASSWORD", "canary-two-2")
	for name, value := range odd {
		j.set(name, value)
	}
	e := j.do(0)
	e.WantOutputs(t, "status", "completed")
	texts := map[string]string{
		"log": e.Unmasked(), "stderr": e.Stderr, "page": e.Summary, "events": sitetest.Read(j.T, e.Outputs["events-file"]), "result": e.Outputs["result"],
	}
	for _, name := range []string{"state.json", "events.jsonl"} {
		texts[name+" of the checkpoint"] = sitetest.Read(t, filepath.Join(s.newest("agent-build.ref-main").Dir, name))
	}
	e.WantAnnotation(t, "warning", "too short", ": SHORT_TOKEN")
	e.WantAnnotation(t, "warning", "not masked", "RUNNER_PASSWORD")
	assert.Check(t, !e.HasAnnotation("warning", "SHORT,") && !e.HasAnnotation("warning", "SETTING"), "warnings: got %q, want none about settings", e.Annotations("warning"))
	for _, secret := range strings.Fields(known)[2:] { // without the first two, which are settings
		assert.Check(t, is.Contains(e.Stdout, "::add-mask::"+secret+"\n"), "masked by the runner")
	}
	for what, text := range texts {
		if i := strings.Index(text, "canary"); i >= 0 {
			t.Errorf("%s: got a secret: %q", what, text[max(0, i-100):min(len(text), i+100)])
		}
	}
}
