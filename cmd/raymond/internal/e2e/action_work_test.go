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

// pushing is a workflow whose agent leaves work, and traps for whoever uses git on it with a secret; a script with a
// secret publishes the work.
const pushing = `-- wf/START.md --
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

// trapping is what the agent does. Each trap would note that it was run.
const trapping = `echo work >work.txt; echo '# evil' >>.github/workflows/ci.yml; cp kept.txt "a name.txt"; chmod +x "a name.txt"
printf '#!/bin/sh\necho hook >>"$(dirname "$RUNNER_TEMP")/notes/trapped"\n' >trap; chmod +x trap
for hook in pre-push pre-commit post-checkout reference-transaction; do cp trap .git/hooks/$hook; done
git config core.hooksPath "$PWD/.git/hooks"; git config core.fsmonitor "$PWD/trap"; git config remote.origin.receivepack "$PWD/trap"
git config push.gpgSign false; git config url."ext::$PWD/trap".insteadOf "$REMOTE"; git config protocol.ext.allow always; echo '* filter=t' >.gitattributes; git config filter.t.clean "$PWD/trap"
`

// TestAPushRunsNothingOfAgents: what an agent left is published by a script with a secret, and nothing of it is run.
func TestAPushRunsNothingOfAgents(t *testing.T) {
	t.Parallel()
	repo := sitetest.Repository(t, pushing)
	j := newJob(t, sitetest.NewForge(t), repo, 1)
	remote := filepath.Join(t.TempDir(), "remote.git")
	sitetest.Git(t, "", "clone", "--quiet", "--bare", repo, remote)
	notes := j.wrapped(trapping)
	j.set("SECRET", "the secret of the script", "REMOTE", remote).with("env", "REMOTE", "script-env", "SECRET", "anthropic-api-key", "key")
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
