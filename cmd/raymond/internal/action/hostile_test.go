//go:build linux

package action_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job/jobtest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/problem"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// The secrets of a hostile job. The last one is changed by JSON and by URLs.
const (
	modelKey  = "sk-ant-api03-Zm9vYmFyYmF6cXV4-0123456789"
	npmSecret = `np"m\tok/en+va&lue<12345>`
)

// forms are how a secret may be said.
func forms(secret string) []string {
	return []string{secret, inJSON(secret), base64.StdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte("user:" + secret))}
}

// leaks are what nothing may have of them.
func leaks(secret string) []string {
	f := forms(secret)
	return []string{f[0], f[1], strings.TrimRight(f[2], "="), f[3][8 : len(f[3])-4]}
}

// inJSON is a text as it stands between the quotes of JSON.
func inJSON(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data[1 : len(data)-1])
}

// ofSecrets are forms or leaks of all secrets of a job.
func (j *bareJob) ofSecrets(of func(string) []string) []string {
	return slices.Concat(of(modelKey), of(npmSecret), of(j.inputs["github-token"]))
}

// wantNoLeaks checks that a text has no form of a secret, and nothing that one
// could be put together of.
func (j *bareJob) wantNoLeaks(what, text string) {
	j.t.Helper()
	for _, leak := range j.ofSecrets(leaks) {
		if at := strings.Index(text, leak); at >= 0 {
			j.t.Errorf("%s: got the secret %q in %q", what, leak, text[max(0, at-60):min(len(text), at+len(leak)+20)])
		}
	}
}

// hostileFlow goes from an agent to a script and to another agent, all of which
// say what is in the workspace's files.
const hostileFlow = `-- wf/START.md --
Begin.
-- wf/NOISE.sh --
cat hostile secrets >&2
# A secret in two writes, and between them time for a reader to see the first.
printf 'split %s' "$(head -c 12 token)" >&2; sleep 0.2; tail -c +13 token >&2
head -c 5242880 /dev/urandom >&2
yes 'noise ::error::injected' | head -c 5242880 >&2
echo '<goto>END.md</goto>'
-- wf/END.md --
End.
`

// hostileJob is a job with secrets, whose agents say the hostile text and all
// forms of the secrets, and whose last one says so as the result.
func hostileJob(t *testing.T, f *sitetest.Forge, run int64, flow string) *bareJob {
	j := newJob(t, f, acttest.Repository(t, flow), run).with(
		"github-token", "api-token", "anthropic-api-key", modelKey, "env", "NPM_AUTH_TOKEN", "workspace", "git",
	).set("NPM_AUTH_TOKEN", npmSecret)
	secrets := strings.Join(j.ofSecrets(forms), "\n")
	j.site.Write(filepath.Join(j.work, "hostile"), sitetest.Hostile)
	j.site.Write(filepath.Join(j.work, "secrets"), secrets)
	j.site.Write(filepath.Join(j.work, "token"), modelKey)
	j.sayer("Begin", sitetest.Hostile+"\n"+secrets, "<goto>NOISE.sh</goto>")
	j.sayer("End", secrets, "<result>"+sitetest.Hostile+"\n"+secrets+"</result>")
	path := filepath.Join(j.root, "claude")
	j.site.Write(path, fmt.Sprintf(`#!/bin/bash
[ "$1" = --version ] && { echo '2.1.197 (sitetest.Hostile)'; exit; }
said=$(cat); said=${said%%%%.*}
[ -e "%[1]s/$said.stream" ] || said=Babble # a reminder
while [ $# -gt 0 ]; do case $1 in --session-id|--resume) id=$2;; esac; shift; done
folder=$HOME/.claude/projects/$(pwd -P | sed 's/[^A-Za-z0-9]/-/g')
mkdir -p "$folder"
cat %[1]s/$said.transcript >>"$folder/$id.jsonl"
cat hostile secrets >&2
sed "s/SESSION/$id/" %[1]s/$said.stream
`, j.root))
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return j.with("claude-path", path)
}

// sayer makes what the agent CLI writes when its prompt begins with a word.
func (j *bareJob) sayer(word, says, tag string) {
	j.t.Helper()
	record := func(v map[string]any) string {
		data, err := json.Marshal(v)
		if err != nil {
			j.t.Fatal(err)
		}
		return string(data) + "\n"
	}
	text := func(s string) map[string]any {
		return map[string]any{"type": "assistant", "message": map[string]any{
			"id": "m", "model": "stub", "content": []any{map[string]any{"type": "text", "text": s}},
		}}
	}
	stream := record(map[string]any{"type": "system", "subtype": "init", "session_id": "SESSION", "model": "stub"}) + sitetest.Hostile + "\n" +
		record(text(says)) + record(map[string]any{"type": "user", "message": map[string]any{"content": []any{map[string]any{
		"type": "tool_result", "tool_use_id": "t", "content": says,
	}}}}) + record(text(tag)) + record(map[string]any{
		"type": "result", "subtype": "success", "is_error": false, "result": tag, "stop_reason": "end_turn",
		"num_turns": 1, "session_id": "SESSION", "total_cost_usd": 0.01,
	})
	j.site.Write(filepath.Join(j.root, word+".stream"), stream)
	transcript := record(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": word}}) +
		record(map[string]any{"type": "assistant", "message": map[string]any{"role": "assistant", "content": says + tag}})
	j.site.Write(filepath.Join(j.root, word+".transcript"), transcript)
}

// TestHostileTextChangesNothing: in log, outputs, annotations, summary, events
// and checkpoint it is text, and the secrets in it are gone.
func TestHostileTextChangesNothing(t *testing.T) {
	t.Parallel()
	f := sitetest.NewForge(t)
	j := hostileJob(t, f, 1, hostileFlow)
	e := j.with("max-iterations", "2").do(problem.ExitCodes[problem.ClassOverLimit])
	j.wantHarmless(e)
	j.wantStoredWithoutSecrets("END.md", e.outputs["workflow-id"])

	// What was stored is resumed, on this machine, which has the rest.
	e = j.with("max-iterations", "3", "key", "agent-build.ref-main").do(0)
	j.wantHarmless(e)
	want := strings.ReplaceAll(string([]rune(sitetest.Hostile)), "\x00", "") + "\n"
	if got := e.outputs["result"]; !strings.HasPrefix(got, want) || strings.Count(got, "***") < len(j.ofSecrets(forms)) {
		t.Errorf("output result: got %q, want %q and stars for the secrets", got, want)
	}
	e.wantOutputs(t, "status", "completed", "iterations", "3")
}

// failingFlow forks an agent that never finds a transition, and ends in a script
// whose last words are an error's.
const failingFlow = `-- wf/START.sh --
echo '<fork next="FAIL.sh">BABBLE.md</fork>'
-- wf/FAIL.sh --
cat hostile secrets >&2; cat hostile secrets; exit 3
-- wf/BABBLE.md --
Babble.
`

// TestHostileErrorsAreText: what is quoted of a script or an agent that failed
// stands in log, annotations and outputs, and is obeyed nowhere.
func TestHostileErrorsAreText(t *testing.T) {
	t.Parallel()
	j := hostileJob(t, sitetest.NewForge(t), 1, failingFlow).with("keep-going", "true")
	tagged := "<goto>" + strings.ReplaceAll(sitetest.Hostile, "\n", "\r") + "</goto>\n<goto>##[error]injected</goto>"
	j.sayer("Babble", sitetest.Hostile, tagged)
	e := j.do(problem.ExitCodes[problem.ClassRunFailed])
	e.wantOutputs(t, "status", "failed", "error-class", "run_failed")
	j.wantHarmless(e)
	if got := strings.Join(e.lines, "\n"); strings.Count(got, "injected") < 10 || !strings.Contains(got, "***") {
		t.Errorf("log: got %s\nwant what the script has written to stderr", got)
	}
	for _, text := range e.texts("error") {
		if strings.Contains(text, "##[error]") {
			t.Errorf("annotation: got %q, want no old command in it", text)
		}
	}
	if len(e.texts("error")) != 2 || len(e.texts("warning")) != 1 || len(e.texts("notice")) != 1 {
		t.Errorf("annotations: got %q, %q, %q, want an error for each agent, a warning of the reminders, and the end of the run",
			e.texts("error"), e.texts("warning"), e.texts("notice"))
	}
}

// wantHarmless checks what a step has told its runner.
func (j *bareJob) wantHarmless(e ended) {
	j.t.Helper()
	if saved := jobtest.ReadOutputs(j.t, j.read(j.commandFile("GITHUB_STATE"))); len(saved) != 1 || saved[partState] == "" {
		j.t.Errorf("GITHUB_STATE: got %q, want the number of the part and nothing else", saved)
	}
	var names []string
	for _, o := range job.Outputs() {
		names = append(names, o.Name)
	}
	for name := range e.outputs {
		if !slices.Contains(names, name) {
			j.t.Errorf("output %s: got %q, want no such output", name, e.outputs[name])
		}
	}
	for _, c := range e.commands {
		j.wantOwn(c)
	}
	for _, name := range []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_ARTIFACTS"} {
		if got := j.read(j.commandFile(name)); got != "" {
			j.t.Errorf("%s: got %q, want nothing", name, got)
		}
	}
	if len(e.summary) > 1<<20 || len(e.summary) == 0 || !utf8.ValidString(e.summary) || !utf8.ValidString(e.Stdout) {
		j.t.Errorf("summary of %d bytes, valid: %v, log valid: %v", len(e.summary), utf8.ValidString(e.summary), utf8.ValidString(e.Stdout))
	}
	j.wantNoLeaks("log", withoutMasks(e))
	j.wantNoLeaks("stderr", e.Stderr)
	j.wantNoLeaks("summary", e.summary)
	j.wantNoLeaks("outputs", fmt.Sprint(e.outputs))
	j.wantNoLeaks("events", j.read(e.outputs["events-file"]))
	for _, bad := range []string{"\x1b", "\x00", "\u202e", "\u200b"} {
		if strings.Contains(withoutMasks(e), bad) {
			j.t.Errorf("log: got the character %q, want none", bad)
		}
	}
}

// wantOwn checks that a command is one of the step's own.
func (j *bareJob) wantOwn(c jobtest.Command) {
	j.t.Helper()
	switch c.Name {
	case "add-mask":
		if len(c.Data) < 8 && !slices.Contains([]string{"a+b=", "c+d="}, c.Data) { // signatures of addresses
			j.t.Errorf("masked: got %q, want secrets alone", c.Data)
		}
	case "error", "warning", "notice":
		if c.Properties["title"] == "" || strings.Contains(fmt.Sprint(c.Properties), "injected") {
			j.t.Errorf("annotation: got %+v, want one of the step's own", c)
		}
	case "group", "endgroup":
		if strings.Contains(c.Data, "injected") {
			j.t.Errorf("group: got %q, want one of the step's own", c.Data)
		}
	default:
		j.t.Errorf("command: got %+v, want none of that name", c)
	}
}

// wantStoredWithoutSecrets checks every byte of the newest checkpoint: no file
// has a secret, transcripts have the length of those on disk.
func (j *bareJob) wantStoredWithoutSecrets(at, id string) {
	j.t.Helper()
	all := j.forge.Checkpoints(j.t, nil)
	last := all[len(all)-1]
	kinds := map[string]int{}
	err := fs.WalkDir(os.DirFS(last.Dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		kinds[strings.Split(name, "/")[0]]++
		text := j.read(filepath.Join(last.Dir, name))
		j.wantNoLeaks("checkpoint, "+name, text)
		if filepath.Dir(name) == "transcripts" {
			j.wantSameLength(name, text)
		}
		return nil
	})
	if err != nil {
		j.t.Fatal(err)
	}
	if kinds["transcripts"] != 1 || kinds["state.json"] != 1 || kinds["events.jsonl"] != 1 || kinds["workspace"] < 2 {
		j.t.Errorf("checkpoint: got files %v, want state, events, one transcript and the workspace", kinds)
	}
	if last.Run.WorkflowID != id || last.Run.Agents[0].State != at {
		j.t.Errorf("checkpoint: got run %s in state %s, want %s in %s", last.Run.WorkflowID, last.Run.Agents[0].State, id, at)
	}
	for _, a := range j.forge.All() {
		j.wantNoLeaks("artifact "+a.Name, string(a.Content))
	}
}

// wantSameLength compares a stored transcript with the one on disk: only secrets
// differ, by as many stars.
func (j *bareJob) wantSameLength(name, stored string) {
	j.t.Helper()
	paths, err := filepath.Glob(filepath.Join(j.env["HOME"], ".claude", "projects", "*", filepath.Base(name)))
	if err != nil || len(paths) != 1 {
		j.t.Fatalf("transcripts on disk: got %q, %v, want one", paths, err)
	}
	disk := []byte(j.read(paths[0]))
	if len(disk) != len(stored) || !bytes.Contains(disk, []byte(modelKey)) {
		j.t.Fatalf("transcript: got %d bytes, want the %d of the one on disk, with secrets", len(stored), len(disk))
	}
	for i := range disk {
		if disk[i] != stored[i] && stored[i] != '*' {
			j.t.Fatalf("transcript, byte %d: got %q, want %q or a star", i, stored[i], disk[i])
		}
	}
}
