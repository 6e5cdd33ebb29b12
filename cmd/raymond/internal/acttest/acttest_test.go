package acttest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/artifacts/artifactstest"
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

// TestStepsSeeNothingOfTheTests: no variable of this process, but the service's.
func TestStepsSeeNothingOfTheTests(t *testing.T) {
	t.Setenv("SECRET_OF_THE_TEST", "x")
	s := acttest.Run(t, config(t, byName)).Step("one", "said")
	var names []string
	if err := json.Unmarshal([]byte(s.Outputs["names"]), &names); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ACTIONS_RUNTIME_TOKEN", "ACTIONS_RESULTS_URL", "RUNNER_TEMP", "ACT", "INPUT_SAY"} {
		if !slices.Contains(names, want) {
			t.Errorf("variables: got %q, want %s among them", names, want)
		}
	}
	for _, n := range names {
		if n == "SECRET_OF_THE_TEST" || strings.HasPrefix(n, "GO") {
			t.Errorf("variables: got %s among them", n)
		}
	}
}

// TestActionOfTheRepositoryItself needs a checkout, which takes ignored files too.
func TestActionOfTheRepositoryItself(t *testing.T) {
	t.Parallel()
	repo := using(t, "      - uses: actions/checkout@v4\n      - id: said\n        uses: ./\n        with: {say: me}\n")
	acttest.Commit(t, repo, "-- .gitignore --\nmain.js\n")
	if err := os.CopyFS(repo, os.DirFS(fake(t))); err != nil {
		t.Fatal(err)
	}
	r := acttest.Run(t, acttest.Config{Repo: repo, Workflow: workflow})
	if s := r.Step("one", "said"); r.Code != 0 || s == nil || s.Outputs["said"] != "me\nsecond line" {
		t.Errorf("uses: ./: got %v", r)
	}
}

func TestStandInsTokenAndAddressReachTheStep(t *testing.T) {
	t.Parallel()
	server := artifactstest.New(t)
	c := config(t, byName)
	c.Results = acttest.Results{URL: server.URL, Token: artifactstest.Token(5)}
	s := acttest.Run(t, c).Step("one", "said")
	if got := s.Outputs["ACTIONS_RESULTS_URL"]; got != server.URL+"/" {
		t.Errorf("ACTIONS_RESULTS_URL: got %q, want %q", got, server.URL+"/")
	}
}

func TestFailuresAreTold(t *testing.T) {
	t.Parallel()
	r := acttest.Run(t, config(t, "      - {id: bad, run: exit 3}\n      - {id: never, run: echo no}\n      - {id: always, if: always(), run: echo yes}\n"))
	if r.Code == 0 || r.Jobs["one"] != "failure" || r.Step("one", "bad").Result != "failure" {
		t.Errorf("failing job: got %v", r)
	}
	if s := r.Step("one", "always"); s == nil || !slices.Contains(s.Log, "yes") {
		t.Errorf("step that runs always: got %v, want its line", r)
	}
	if s := r.Step("one", "never"); s != nil && len(s.Log) > 0 {
		t.Errorf("step after a failure: got %q, want it left out", s.Log)
	}
}

// TestLegsOfAMatrixAreKeptApart, which run at the same time and have the same ids.
func TestLegsOfAMatrixAreKeptApart(t *testing.T) {
	t.Parallel()
	repo := acttest.Repository(t, `
-- .github/workflows/w.yml --
on: workflow_dispatch
jobs:
  legs:
    runs-on: ubuntu-latest
    strategy: {matrix: {n: [1, 2, 3]}}
    steps:
      - {id: s, run: 'echo "n=${{ matrix.n }}" >> "$GITHUB_OUTPUT"'}
`)
	r := acttest.Run(t, acttest.Config{Repo: repo, Workflow: workflow})
	var got []string
	for _, s := range r.Steps {
		if s.ID == "s" && s.Stage == "Main" {
			got = append(got, s.Outputs["n"])
		}
	}
	if slices.Sort(got); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("outputs of the legs: got %q, want 1, 2 and 3 in steps of their own", got)
	}
}

// held is what the action says of itself before it waits.
type held struct {
	PID        int
	Home       string
	URL, Token string // of the results service
}

// waiting starts a run whose step waits. Its other inputs are given too.
func waiting(t *testing.T, c acttest.Config, inputs string) (*acttest.Running, held) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "held")
	c.Repo = using(t, byName+"          wait: "+file+"\n"+inputs)
	r := acttest.Start(t, c)
	r.Until("the step waits", func(now *acttest.Result) bool {
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
	return r, h
}
