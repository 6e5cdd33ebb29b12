//go:build linux

package action_test

import (
	"testing"
)

// hooked is a workflow whose first state has what agents wrote add a hook and a program to
// git's settings; its second state is a script that commits.
const hooked = `-- wf/START.md --
---
done_when: printf '#!/bin/sh\necho hook >>"$EFFECTS"\n' >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; git config core.editor evil; git config user.name agent
---
reply:
<goto>COMMIT.sh</goto>
end.
-- wf/COMMIT.sh --
git config user.email a@example.com; git commit -q --allow-empty -m work
echo "editor $(git config core.editor), by $(git log -1 --format=%an)" >>"$EFFECTS"
echo '<goto>AGAIN.sh</goto>'
-- wf/AGAIN.sh --
git config user.email >>"$EFFECTS"; echo '<result>done</result>'
`

// TestScriptsRunNoHooksOfAgents: a script may have secrets that agents don't get.
func TestScriptsRunNoHooksOfAgents(t *testing.T) {
	t.Parallel()
	s := newGitScene(t, hooked)
	e := s.job(1).do(0)
	e.WantSays(t, "warning", "taken back: ", ".git/hooks/pre-commit", "core.editor")
	if got, want := s.done(), "editor , by agent a@example.com"; got != want {
		t.Errorf("effects: got %q, want %q", got, want)
	}
}
