package acttest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
)

const workflow = ".github/workflows/w.yml"

// fake is the folder of an action that says what it was given.
func fake(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("testdata/action")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// using makes a repository whose workflow has one job, one with the given steps.
func using(t *testing.T, steps string) string {
	t.Helper()
	return acttest.Repository(t, fmt.Sprintf("-- %s --\non: [workflow_dispatch, issues]\njobs:\n  one:\n    runs-on: ubuntu-latest\n    steps:\n%s", workflow, steps))
}

const byName = `      - id: said
        uses: acme/raymond-action@v1
        with:
          say: "hello: world"
`

func config(t *testing.T, steps string) acttest.Config {
	t.Helper()
	return acttest.Config{
		Repo: using(t, steps), Workflow: workflow,
		Actions: map[string]string{"acme/raymond-action@v1": fake(t)},
	}
}

func TestActionByNameIsSeenWhole(t *testing.T) {
	t.Parallel()
	c := config(t, byName)
	c.Event, c.Payload, c.RunID = "issues", `{"action": "opened", "issue": {"number": 7}}`, 4711
	c.Env = map[string]string{"FROM_TEST": "a \"quoted\" $value"}
	c.Secrets = map[string]string{"GITHUB_TOKEN": "ghs_secret"}
	r := acttest.Run(t, c)
	s := r.Step("one", "said")
	if r.Code != 0 || s == nil || s.Result != "success" || s.Took <= 0 || r.Jobs["one"] != "success" || len(r.Left) > 0 {
		t.Fatalf("run: got %v, left %q", r, r.Left)
	}
	for name, want := range map[string]string{
		"said": "hello: world\nsecond line", "GITHUB_RUN_ID": "4711", "GITHUB_REPOSITORY": "acme/consumer",
		"GITHUB_EVENT_NAME": "issues", "event": `{"action":"opened","issue":{"number":7}}`, "FROM_TEST": `a "quoted" $value`,
	} {
		if s.Outputs[name] != want {
			t.Errorf("output %s: got %q, want %q", name, s.Outputs[name], want)
		}
	}
	if diff := cmp.Diff([]acttest.Annotation{
		{Level: "warning", File: "a b.md", Line: 3, Title: "A: title", Text: "first\nsecond 100%"},
		{Level: "notice", Text: "done"},
	}, s.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if s.Summary != "# Summary\n\n| a | b |\n" || !slices.Equal(s.Masks, []string{"hushhush"}) {
		t.Errorf("summary and masks: got %q, %q", s.Summary, s.Masks)
	}
	if !slices.Contains(s.Log, "::group::some group") || !slices.Contains(s.Log, "plain line with ***") {
		t.Errorf("log: got %q, want the group and the masked line", s.Log)
	}
	if p := r.Post("one", "said"); p == nil || p.Result != "success" || !slices.Contains(p.Log, "post after hello: world") {
		t.Errorf("post: got %v, want it run with the state of main", r)
	}
}

// held is the results service that the action says it has before it waits.
type held struct{ URL, Token string }

// waiting starts a run whose step waits.
func waiting(t *testing.T, c acttest.Config) held {
	t.Helper()
	file := filepath.Join(t.TempDir(), "held")
	c.Repo = using(t, byName+"          wait: "+file+"\n")
	acttest.Start(t, c).Until("the step waits", func(now *acttest.Result) bool {
		s := now.Step("one", "said")
		return s != nil && slices.Contains(s.Log, "waiting")
	})
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var h held
	if err := json.Unmarshal(data, &h); err != nil {
		t.Fatal(err)
	}
	return h
}
