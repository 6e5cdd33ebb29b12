//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// pushWorkflow is a workflow whose agent leaves work, and also traps: commands that git would run in a script with a
// secret. A script with a secret then publishes the work.
const pushWorkflow = `-- wf/START.md --
---
allowed_transitions:
  - {tag: goto, target: PUSH.sh}
---
reply:
done
end.
-- wf/PUSH.sh --
# raymond: trusted=true work=true
set -eu
echo "$SECRET" >"$REMOTE.secret"
cat "$RAYMOND_WORK_LACKS" >"$REMOTE.lacks"
echo "$RAYMOND_BY, $RAYMOND_VISITS" >"$REMOTE.by"
git -C "$RAYMOND_WORK" push --quiet "$REMOTE" work:refs/heads/fix
echo "<result>$(git -C "$RAYMOND_WORK" diff --name-only HEAD work)</result>"
-- kept.txt --
kept
-- .github/workflows/ci.yml --
on: push
`

// setTraps are the agent's commands, which set the traps. If a trap were run, it would write a note.
const setTraps = `echo work >work.txt; echo '# evil' >>.github/workflows/ci.yml; cp kept.txt "a name.txt"; chmod +x "a name.txt"
printf '#!/bin/sh\necho hook >>"$(dirname "$RUNNER_TEMP")/notes/trapped"\n' >trap; chmod +x trap
for hook in pre-push pre-commit post-checkout reference-transaction; do cp trap .git/hooks/$hook; done
git config core.hooksPath "$PWD/.git/hooks"; git config core.fsmonitor "$PWD/trap"; git config remote.origin.receivepack "$PWD/trap"
git config push.gpgSign false; git config url."ext::$PWD/trap".insteadOf "$REMOTE"; git config protocol.ext.allow always; echo '* filter=t' >.gitattributes; git config filter.t.clean "$PWD/trap"
`

// TestPushRunsNothingOfAgents shows that a script with a secret publishes an agent's work without running any of it.
func TestPushRunsNothingOfAgents(t *testing.T) {
	t.Parallel()
	repo := sitetest.Repository(t, pushWorkflow)
	j := newJob(t, sitetest.NewForge(t), repo, 1)
	remote := filepath.Join(t.TempDir(), "remote.git")
	sitetest.Git(t, "", "clone", "--quiet", "--bare", repo, remote)
	notes := j.wrapCLI(setTraps)
	j.setVariables("SECRET", "the secret of the script", "REMOTE", remote).withInputs("env", "REMOTE", "script-env", "SECRET", "anthropic-api-key", "key")
	j.do(0).WantOutputs(t, "status", "completed", "result", ".gitattributes\na name.txt\ntrap\nwork.txt")

	for _, c := range [][2]string{
		{sitetest.Git(t, remote, "show", "fix:work.txt"), "work"},
		{sitetest.Git(t, remote, "show", "fix:.github/workflows/ci.yml"), "on: push"},
		{strings.Fields(sitetest.Git(t, remote, "ls-tree", "fix", "a name.txt"))[0], "100755"},
		{strings.TrimSpace(sitetest.Read(t, remote+".secret")), "the secret of the script"},
		{strings.TrimSpace(sitetest.Read(t, remote+".by")), "agent START.md, 1"},
	} {
		assert.Check(t, is.Equal(c[0], c[1]))
	}
	assert.Check(t, is.Contains(sitetest.Read(t, remote+".lacks"), ".github/workflows/ci.yml"), "lacks: want the file below .github")
	if sitetest.Exists(filepath.Join(notes, "trapped")) {
		t.Errorf("got %s, want nothing of the agent run with the script's secret", sitetest.Read(t, filepath.Join(notes, "trapped")))
	}
}
