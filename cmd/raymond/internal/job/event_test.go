package job

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// event calls ReadEvent for an event with this name and payload. pairs contains the names and values of
// further environment variables.
func event(t *testing.T, name, payload string, pairs ...string) (Event, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "event.json")
	assert.NilError(t, os.WriteFile(file, []byte(payload), 0o600))
	pairs = append([]string{"GITHUB_EVENT_NAME", name, "GITHUB_EVENT_PATH", file}, pairs...)
	return ReadEvent(env(pairs...))
}

var ann = user("ann")

// payloads are the test cases of TestEventsAreRead: payloads as forges send them, and the expected events.
var payloads = []struct {
	name, payload string
	env           []string
	want          Event
}{
	{
		"issues", `{"action":"labeled","issue":{"number":7,"title":"t"},"sender":{"login":"ann","type":"User"},
				"repository":{"id":12345678901,"full_name":"o/r","private":true,"default_branch":"main","owner":{"login":"o"}}}`,
		[]string{"GITHUB_REPOSITORY", "o/r", "GITHUB_REPOSITORY_ID", "12345678901", "GITHUB_REF_NAME", "main", "GITHUB_RUN_ATTEMPT", "2", "GITHUB_TRIGGERING_ACTOR", "bob"},
		Event{Subject: Subject{Kind: "issue", Number: 7, Title: "t"}, Sender: ann, Attempt: 2, TriggeringActor: "bob",
			Repository: Repository{12345678901, "o/r", new(true), "main"}, Branch: "main", Code: CodeSource{Known: true}},
	},
	{
		"issue_comment", `{"action":"created","issue":{"number":8,"pull_request":{"url":"u"}},"sender":{"login":"ann","type":"User"},"repository":{"private":false}}`,
		[]string{"GITHUB_REF", "refs/heads/main"},
		Event{Subject: Subject{Kind: "pr", Number: 8}, Sender: ann, Attempt: 1, Repository: Repository{Private: new(false)}, Branch: "main"},
	},
	{
		"pull_request", `{"action":"opened","number":9,"pull_request":{"number":9,"head":{"ref":"fix","repo":{"id":2}},"base":{"repo":{"id":1}}},
				"sender":{"login":"ann","type":"User"},"repository":{"id":1}}`,
		[]string{"GITHUB_HEAD_REF", "fix", "GITHUB_REF_NAME", "9/merge"},
		Event{Subject: Subject{Kind: "pr", Number: 9}, Sender: ann, Attempt: 1, Repository: Repository{ID: 1}, Branch: "fix", Code: CodeSource{Fork: true, Known: true}},
	},
	{
		"pull_request_target", `{"pull_request":{"number":9,"head":{"ref":"fix","repo":{"id":1}},"base":{"repo":{"id":1}}}}`, nil,
		Event{Subject: Subject{Kind: "pr", Number: 9}, Attempt: 1, Branch: "fix", Code: CodeSource{Head: "fix", Known: true}},
	},
	{
		"pull_request_review", `{"pull_request":{"number":9,"head":{"ref":"fix","repo":null},"base":{"repo":{"id":1}}},
				"review":{"id":4,"body":"/raymond yes","user":{"login":"ann","type":"User"},"submitted_at":"2001-02-03T04:05:06Z"}}`,
		[]string{"GITHUB_REF_NAME", "9/merge"},
		Event{Subject: Subject{Kind: "pr", Number: 9}, Attempt: 1, Branch: "fix", Code: CodeSource{Fork: true, Known: true},
			Comment: Comment{Kind: ReviewText, ID: 4, Number: 9, Author: ann, Body: "/raymond yes", Created: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)}},
	},
	{
		"pull_request_review_comment", `{"pull_request":{"number":9},"comment":{"id":5,"body":"b","user":{"login":"ann","type":"User"},
				"path":"a.go","line":null,"original_line":3,"diff_hunk":"@@"}}`, nil,
		Event{Subject: Subject{Kind: "pr", Number: 9}, Attempt: 1, Code: CodeSource{Fork: true, Known: true},
			Comment: Comment{Kind: LineComment, ID: 5, Number: 9, Author: ann, Body: "b", File: "a.go", Line: 3, Hunk: "@@"}},
	},
	{
		"discussion_comment", `{"comment":{"id":5,"body":"b","user":{"login":"ann"}}}`, nil, Event{Attempt: 1, Comment: Comment{Body: "b"}, Code: CodeSource{Known: true}},
	},
	{
		"pull_request", `{"pull_request":{"number":9,"head":{"repo":{"full_name":"O/R"}},"base":{"repo":{"full_name":"o/r"}}}}`, nil,
		Event{Subject: Subject{Kind: "pr", Number: 9}, Attempt: 1, Code: CodeSource{Known: true}},
	},
	{"pull_request", `{}`, nil, Event{Attempt: 1, Code: CodeSource{Fork: true, Known: true}}},
	{
		"workflow_run", `{"workflow_run":{"head_repository":{"id":1},"actor":{"login":"bob","type":"User"},"triggering_actor":{"login":"x[bot]","type":"Bot"}},
				"repository":{"id":1},"sender":{"login":"ann","type":"User"}}`, nil,
		Event{Sender: ann, UpstreamActors: []Account{{"bob", "User"}, {"x[bot]", "Bot"}}, Attempt: 1, Repository: Repository{ID: 1}, Code: CodeSource{Known: true}},
	},
	{"workflow_run", `{"workflow_run":{"head_repository":{"id":2}},"repository":{"id":1}}`, nil, Event{Attempt: 1, Repository: Repository{ID: 1}, Code: CodeSource{Fork: true, Known: true}}},
	{
		// On Gitea, the owner of the issue's repository is a string, and accounts have no type.
		"issue_comment", `{"action":"created","is_pull":true,"issue":{"number":3,"pull_request":null,"repository":{"id":5,"name":"r","owner":"o"}},
				"repository":{"id":5,"full_name":"o/r","private":false,"default_branch":"main"},"sender":{"id":1,"login":"ann"}}`,
		[]string{"GITEA_ACTIONS", "true", "GITHUB_REF_NAME", "main"},
		Event{Subject: Subject{Kind: "pr", Number: 3}, Sender: Account{Login: "ann"}, Attempt: 1,
			Repository: Repository{5, "o/r", new(false), "main"}, Branch: "main", IsGitea: true},
	},
	{"schedule", `{"schedule":"0 3 * * *"}`, []string{"GITHUB_REF_NAME", "main", "GITHUB_REPOSITORY_ID", "x"}, Event{Attempt: 1, Branch: "main", Code: CodeSource{Known: true}}},
	{"unheard_of", `{"sender":{"login":"ann","type":"User"}}`, nil, Event{Sender: ann, Attempt: 1}},
	{"issues", `{"issue":{"number":1.5},"sender":[],"repository":"x","action":7}`, nil, Event{Attempt: 1, Code: CodeSource{Known: true}}},
	{"issues", `{"issue":{"number":4,"title":"cut \ud83d"}}`, nil, Event{Subject: Subject{Kind: "issue", Number: 4, Title: "cut \uFFFD"}, Attempt: 1, Code: CodeSource{Known: true}}},
	{
		// GitHub's runner writes numbers above 2^31 in this form.
		"issue_comment", `{"issue":{"number":7.0},"comment":{"id":3000000001.0,"body":"b","user":{"login":"ann","type":"User"}},"repository":{"id":4e9}}`, nil,
		Event{Subject: Subject{Kind: "issue", Number: 7}, Attempt: 1, Repository: Repository{ID: 4000000000}, Code: CodeSource{Known: true},
			Comment: Comment{Kind: IssueComment, ID: 3000000001, Number: 7, Author: ann, Body: "b"}},
	},
	{"push", `{"after":"c1"}`, []string{"GITHUB_SHA", "x"}, Event{Subject: Subject{Head: "c1"}, Attempt: 1, Code: CodeSource{Known: true}}},
	{"push", `{"after":"0000000000000000000000000000000000000000"}`, nil, Event{Attempt: 1, Code: CodeSource{Known: true}}},
	{"merge_group", `{"merge_group":{"head_sha":"c2"}}`, nil, Event{Subject: Subject{Head: "c2"}, Attempt: 1, Code: CodeSource{Known: true}}},
	{
		"pull_request_review", `{"pull_request":{"number":9,"head":{"sha":"c3"}}}`, nil,
		Event{Subject: Subject{Kind: "pr", Number: 9, Head: "c3"}, Attempt: 1, Code: CodeSource{Fork: true, Known: true}},
	},
}

// TestInputFromThePayload checks that PayloadText joins the values at the paths in the order of the paths.
func TestInputFromThePayload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "event.json")
	assert.NilError(t, os.WriteFile(file, []byte(`{"issue":{"title":" t ","body":null,"id":3000000001.0,"labels":[],"user":{"login":"ann"}}}`), 0o600))
	for paths, want := range map[string]string{
		"issue.title issue.body issue.user.login": "t\n\nann", "issue.body": "", "issue.title.x issue.labels issue": "", "issue.id": "3000000001",
	} {
		got, err := PayloadText(file, strings.Fields(paths))
		assert.Check(t, err)
		assert.Check(t, is.Equal(got, want), paths)
	}
}

func TestEventsAreRead(t *testing.T) {
	for _, test := range payloads {
		test.want.Name = test.name
		got, err := event(t, test.name, test.payload, test.env...)
		if d := cmp.Diff(test.want, got); d != "" || err != nil {
			t.Errorf("%s %s: got the error %v, event (-want +got):\n%s", test.name, test.payload, err, d)
		}
		isOfHead := test.want.Head != "" && test.name != "pull_request_review"
		assert.Check(t, err != nil || got.IsAboutHead() == isOfHead, "%s %s: want %v", test.name, test.payload, isOfHead)
	}
}

func TestUnreadablePayloads(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	assert.NilError(t, os.WriteFile(large, nil, 0o600))
	assert.NilError(t, os.Truncate(large, maxPayload+1))
	for _, test := range []struct{ name, path, want string }{
		{"", "", "GITHUB_EVENT_NAME is not set"},
		{"issues", "", "has no payload"},
		{"issues", filepath.Join(dir, "nothing"), "has no payload"},
		{"push", dir, "is not a regular file"},
		{"push", large, "it has more than 26214400 bytes"},
	} {
		_, err := ReadEvent(env("GITHUB_EVENT_NAME", test.name, "GITHUB_EVENT_PATH", test.path))
		assert.Check(t, is.ErrorContains(err, test.want), "%s, %s", test.name, test.path)
	}
	for payload, want := range map[string]string{`[]`: "read the payload", `null`: "not a JSON object", `{`: "read the payload", `{"a":1} {`: "read the payload"} {
		if _, err := event(t, "push", payload); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("payload %s: got %v, want an error with %q", payload, err, want)
		}
	}
	_, err := ReadEvent(env("GITHUB_EVENT_NAME", "push", "GITHUB_RUN_ATTEMPT", "0"))
	assert.Check(t, err != nil, "attempt 0: got no error, want one")
}
