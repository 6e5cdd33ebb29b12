//go:build linux

package action_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// meddling is a workflow whose script writes to all command files that it finds,
// one of them by a link and one replaced by a link to a victim, and leaves a
// daemon without the run's mark that goes on doing so.
const meddling = `-- wf/START.sh --
folder=$RUNNER_TEMP/_runner_file_commands
echo precious >victim
for f in $(find "$RUNNER_TEMP" -type f -not -path '*/raymond/*' -not -name event.json); do
	printf 'evil<<E\ninjected\nE\nresult=injected\n' >>"$f"
done
ln -s "$folder/output" way
echo 'status=injected' >>way
rm "$folder/path" && ln -s "$PWD/victim" "$folder/path"
rm "$folder/state" && mkdir "$folder/state"
echo 'echo $$ >"$1/daemon.pid"
while :; do
	echo result=late >>"$2/output"; echo LD_PRELOAD=/late.so >>"$2/env"; /bin/sleep 0.01
done' >daemon
env -i /usr/bin/setsid /bin/bash daemon "$PWD" "$folder" </dev/null >/dev/null 2>&1 &
until [ -s daemon.pid ]; do sleep 0.01; done
echo '<result>honest</result>'
`

// TestCommandFilesAreTheStepsOwn: what a script writes to them has no effect, and
// the step fails and names them.
func TestCommandFilesAreTheStepsOwn(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	j := f.job(t, acttest.Repository(t, meddling), 1)
	e := j.do(exitCodes[classDenied])
	for _, name := range runnerFiles {
		e.wantSays(t, "error", "raymond: denied", name)
		if !strings.Contains(e.Stderr, name) {
			t.Errorf("stderr: got %q, want %s named", e.Stderr, name)
		}
	}
	e.wantOutputs(t, "result", "honest", "status", "completed", "error-class", "denied", "evil", "")
	for _, name := range []string{"GITHUB_ENV", "GITHUB_PATH", "GITHUB_ARTIFACTS"} {
		info, err := os.Lstat(j.commandFile(name))
		if err != nil || !info.Mode().IsRegular() || info.Size() > 0 {
			t.Errorf("%s: got %v, %v, want an empty file", name, info, err)
		}
	}
	if saved := fileOutputs(t, j.read(j.commandFile("GITHUB_STATE"))); len(saved) != 1 || saved[partState] != "1" {
		t.Errorf("GITHUB_STATE: got %q, want the number of the part and nothing else", saved)
	}
	if got := j.read(filepath.Join(j.work, "victim")); got != "precious\n" {
		t.Errorf("a file that a command file was made a link to: got %q, want it as it was", got)
	}
	if strings.Contains(e.summary, "injected") {
		t.Errorf("summary: got %q, want nothing of a script's", e.summary)
	}
	if !strings.HasPrefix(e.summary, "## ❌ Error") || !strings.Contains(e.summary, "GITHUB_OUTPUT") {
		t.Errorf("summary: got %.500q, want it to begin with what failed the step", e.summary)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(j.read(filepath.Join(j.work, "daemon.pid"))))
	if err != nil || sitetest.Alive(pid) {
		t.Errorf("daemon %d: got it alive after the step (%v), want it gone", pid, err)
	}
}

// hostileUse is a workflow file with a use whose script is hostile and one whose
// script looks for the runner's files.
const hostileUse = `-- .github/workflows/w.yml --
on: workflow_dispatch
jobs:
  one:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - id: hostile
        uses: acme/raymond-action@v1
        with: {workflow: hostile, key: a, resume: never, env: NPM_AUTH_TOKEN}
        env: {NPM_AUTH_TOKEN: "${{ secrets.NPM }}"}
      - id: meddling
        if: always()
        uses: acme/raymond-action@v1
        with: {workflow: meddling, key: b, resume: never}
      - id: after
        if: always()
        run: echo "seen=$EVIL" >>"$GITHUB_OUTPUT"
-- hostile/START.sh --
cat "$RAYMOND_SCOPE/text" >&2
echo "the secret: $NPM_AUTH_TOKEN" >&2
printf '<result>'; cat "$RAYMOND_SCOPE/text"; printf '%s</result>' "$NPM_AUTH_TOKEN"
-- meddling/START.sh --
for f in $(find "$(dirname "$RUNNER_TEMP")" -type f \( -path '*workflow/*.txt' -o -path '*file_commands/*' -o -name 'SUMMARY*' \) 2>/dev/null); do
	printf 'EVIL<<E\ninjected\nE\nresult=injected\n' >>"$f"; echo "$f" >&2
done
echo '<result>honest</result>'
-- hostile/text --
`

// TestHostileTextUnderARunner is the same as a runner sees it.
func TestHostileTextUnderARunner(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(strings.ToValidUTF8(hostile, "?"), "\x00", "")
	c := newConsumer(t, hostileUse+text+"\n")
	r := c.run(func(a *acttest.Config) { a.Secrets = map[string]string{"NPM": npmSecret} })
	s := wantStep(t, r, "one", "hostile", "success", map[string]string{"status": "completed", "result": text + "\n***"})
	wantOwnOnly(t, s)
	// The error that names the files is what the step says last, and act may lose
	// that with the terminal; TestCommandFilesAreTheStepsOwn has it.
	wantStep(t, r, "one", "meddling", "failure", map[string]string{"result": "honest", "error-class": "denied"})
	wantStep(t, r, "one", "after", "success", map[string]string{"seen": ""})
}

// wantOwnOnly checks that a runner took nothing from a step but what is its own.
func wantOwnOnly(t *testing.T, s *acttest.Step) {
	t.Helper()
	var known []string
	for _, o := range job.Outputs() {
		known = append(known, o.Name)
	}
	for name, value := range s.Outputs {
		if !slices.Contains(known, name) {
			t.Errorf("output %s: got %q, want none of that name", name, value)
		}
	}
	// act takes the "::" in the middle of this one for the end of its properties.
	if len(s.Annotations) != 1 || s.Annotations[0].Level != "notice" || !strings.HasSuffix(s.Annotations[0].Text, "***") {
		t.Errorf("annotations: got %+v, want the notice with the result alone", s.Annotations)
	}
	if len(s.Masks) == 0 || slices.ContainsFunc(s.Masks, func(m string) bool { return len(m) < 8 }) {
		t.Errorf("masks: got %q, want those of the secret", s.Masks)
	}
	if d := cmp.Diff(map[string]string{}, s.State); d != "" {
		t.Errorf("state for the post part (-want +got):\n%s", d)
	}
	if strings.Contains(s.Summary, npmSecret) || strings.Contains(s.Summary, "<script>injected") && !strings.Contains(s.Summary, "````") {
		t.Errorf("summary: got %q, want neither secrets nor markup", s.Summary)
	}
}
