//go:build linux && world

package runnertest

import (
	"os"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/artifacts/checkpoint"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// handed is a workflow whose first job ends after two states, which leave work of some kinds,
// and whose result is what the second job has of it.
const handed = `
-- .gitignore --
/action.yml
/cmd/
-- tracked.txt --
one
-- flow/1_START.sh --
echo committed >>tracked.txt
git -c user.name=Agent -c user.email=agent@example.com commit -qam unpushed
echo staged >>tracked.txt && git add tracked.txt
echo untracked >new.txt
echo '<goto>PLAN.md</goto>'
-- flow/PLAN.md --
log: planning
reply:
<goto>MORE.md</goto>
end.
-- flow/MORE.md --
log: more
reply:
<goto>FACTS.sh</goto>
end.
-- flow/FACTS.sh --
echo "<result>$(git log -1 --format=%s; git status --porcelain; cat new.txt)</result>"
`

// TestActionOfTheCheckoutResumesASealedRun has the action in the repository itself, and an
// encrypted checkpoint in a public repository.
func TestActionOfTheCheckoutResumesASealedRun(t *testing.T) {
	t.Parallel()
	c := newConsumer(t, handed+again("./", ", state-key: '${{ secrets.STATE_KEY }}', trust-self: true, max-iterations: \"${{ github.job == 'one' && 2 || 9 }}\""))
	if err := os.CopyFS(c.Repo, os.DirFS(c.Actions[actionName])); err != nil {
		t.Fatal(err)
	}
	key := sitetest.NewStateKey(t)
	r := c.start(func(a *acttest.Config) {
		a.Payload, a.Secrets = strings.Replace(privatePayload, "true", "false", 1), map[string]string{"STATE_KEY": key}
	}).Wait()
	one := r.WantStep(t, "one/raymond", "failure", "status", "over_iterations", "resumable", "true", "cost-usd", "0.01")
	r.WantStep(t, "two/raymond", "success", "status", "completed", "workflow-id", one.Outputs["workflow-id"], "cost-usd", "0.02",
		"result", "unpushed\nM  tracked.txt\n?? new.txt\nuntracked")
	if got := c.effects(); !strings.Contains(got, `"before":["user: log: planning"`) {
		t.Errorf("prompts: got %s, want the second one in the conversation of the first", got)
	}
	keys, err := checkpoint.ParseKeys(key)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.stored(keys)); n == 0 || n > 3 {
		t.Errorf("sealed checkpoints: got %d, want one to three", n)
	}
}
