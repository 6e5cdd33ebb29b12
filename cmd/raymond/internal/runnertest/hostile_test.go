//go:build linux

package runnertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

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

// npmSecret is a secret that JSON and URLs change.
const npmSecret = `np"m\tok/en+va&lue<12345>`

// TestHostileTextUnderARunner is the same as a runner sees it.
func TestHostileTextUnderARunner(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(strings.ToValidUTF8(sitetest.Hostile, "?"), "\x00", "")
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
