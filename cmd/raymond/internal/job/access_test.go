package job

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// people is a Permissions that knows some logins. It panics if it gets a login that must not be sent to
// the API.
type people map[string]string

func (p people) Permission(_ context.Context, login string) (string, error) {
	if strings.ContainsAny(login, "/[]. ?#%") || login == "" {
		panic(fmt.Sprintf("asked for %q", login))
	}
	if level, ok := p[login]; ok {
		return level, nil
	}
	return "", errors.New("not known (404)")
}

var somePeople = people{"ann": "write", "mo": "maintain", "root": "admin", "own": "owner", "tri": "triage", "eve": "read", "nil": "none", "renovate": "read", "odd": "WRITE"}

// user returns the account of a person.
func user(login string) Account { return Account{Login: login, Type: "User"} }

func bot(login string) Account { return Account{Login: login, Type: "Bot"} }

// starts are the test cases of TestWhoMayStart: events, the rules that apply to them, and the expected results.
var starts = []struct {
	what  string
	event Event
	rules Rules
	want  string // the input that the denial names; empty if the start is allowed
	level string
}{
	{"a schedule", Event{Name: "schedule"}, Rules{}, "", ""},
	{"a dispatch by a reader, who can't", Event{Name: "workflow_dispatch", Sender: user("eve")}, Rules{}, "", ""},
	{"a writer", Event{Name: "issues", Sender: user("ann")}, Rules{}, "", "write"},
	{"a maintainer", Event{Name: "issues", Sender: user("mo")}, Rules{}, "", "maintain"},
	{"Gitea's owner", Event{Name: "issues", Sender: Account{Login: "own"}}, Rules{}, "", "owner"},
	{"a reader", Event{Name: "issue_comment", Sender: user("eve")}, Rules{}, "allow-actors", ""},
	{"a triager", Event{Name: "issue_comment", Sender: user("tri")}, Rules{}, "allow-actors", ""},
	{"a permission in other letters", Event{Name: "issues", Sender: user("odd")}, Rules{}, "allow-actors", ""},
	{"someone unknown", Event{Name: "issues", Sender: user("zoe")}, Rules{}, "allow-actors", ""},
	{"a reader by name", Event{Name: "issues", Sender: user("eve")}, Rules{AllowActors: []string{"EVE"}}, "", "none"},
	{"someone unknown by name", Event{Name: "issues", Sender: user("zoe")}, Rules{AllowActors: []string{"zoe"}}, "", "none"},
	{"a writer by name", Event{Name: "issues", Sender: user("ann")}, Rules{AllowActors: []string{"ann"}}, "", "write"},
	{"no sender", Event{Name: "issues"}, Rules{AllowActors: []string{""}}, "allow-events", ""},
	{"a login that is a path", Event{Name: "issues", Sender: user("../../x")}, Rules{}, "allow-actors", ""},
	{"a login with blanks", Event{Name: "issues", Sender: user("ann ")}, Rules{}, "allow-actors", ""},

	{"a bot", Event{Name: "issues", Sender: bot("renovate[bot]")}, Rules{}, "allow-bots", ""},
	{"a bot among the actors", Event{Name: "issues", Sender: bot("renovate[bot]")}, Rules{AllowActors: []string{"renovate[bot]", "renovate"}}, "allow-bots", ""},
	{"a bot by name", Event{Name: "issues", Sender: bot("Renovate[bot]")}, Rules{AllowBots: []string{"renovate"}}, "", ""},
	{"another bot", Event{Name: "issues", Sender: bot("renovate-x[bot]")}, Rules{AllowBots: []string{"renovate"}}, "allow-bots", ""},
	{"all bots", Event{Name: "issues", Sender: bot("x")}, Rules{AllowBots: []string{"*"}}, "", ""},
	{"a bot with write permission", Event{Name: "issues", Sender: bot("ann")}, Rules{}, "allow-bots", ""},
	{"a person with a bot's name", Event{Name: "issues", Sender: user("renovate")}, Rules{AllowBots: []string{"renovate", "*"}}, "allow-actors", ""},
	{"a bot without a type", Event{Name: "issues", Sender: Account{Login: "X[BOT]"}}, Rules{AllowActors: []string{"x[bot]"}}, "allow-bots", ""},
	{"Gitea's own bot", Event{Name: "issues", Sender: Account{Login: "gitea-actions"}, IsGitea: true}, Rules{}, "allow-bots", ""},

	{"a re-run by a writer", Event{Name: "issues", Sender: user("ann"), Attempt: 2, TriggeringActor: "mo"}, Rules{}, "", "write"},
	{"a re-run by a reader", Event{Name: "issues", Sender: user("ann"), Attempt: 2, TriggeringActor: "eve"}, Rules{}, "allow-actors", ""},
	{"a re-run by a bot", Event{Name: "issues", Sender: user("ann"), Attempt: 2, TriggeringActor: "x[bot]"}, Rules{}, "allow-bots", ""},
	{"a re-run of a reader's event", Event{Name: "issues", Sender: user("eve"), Attempt: 2, TriggeringActor: "ann"}, Rules{}, "allow-actors", ""},
	{"a re-run without an actor", Event{Name: "issues", Sender: user("ann"), Attempt: 2}, Rules{}, "allow-events", ""},
	{"a re-run on Gitea, which doesn't report the actor", Event{Name: "issues", Sender: user("ann"), Attempt: 2, IsGitea: true}, Rules{}, "", "write"},
	{"a first run by a reader", Event{Name: "issues", Sender: user("ann"), Attempt: 1, TriggeringActor: "eve"}, Rules{}, "", "write"},

	{"a pull request from a fork by a writer", Event{Name: "pull_request", Sender: user("ann"), Code: CodeSource{Fork: true}}, Rules{}, "", "write"},
	{"a pull request from a fork by a reader", Event{Name: "pull_request", Sender: user("eve"), Code: CodeSource{Fork: true}}, Rules{}, "allow-actors", ""},
	{"pull_request_target from a fork by a writer", Event{Name: "pull_request_target", Sender: user("ann"), Code: CodeSource{Fork: true}}, Rules{}, "allow-events", ""},
	{"pull_request_target from a fork, allowed", Event{Name: "pull_request_target", Sender: user("ann"), Code: CodeSource{Fork: true}}, Rules{AllowEvents: []string{"pull_request_target"}}, "", "write"},
	{"pull_request_target from here", Event{Name: "pull_request_target", Sender: user("ann")}, Rules{}, "", "write"},
	{"workflow_run from a fork", Event{Name: "workflow_run", Sender: user("ann"), Code: CodeSource{Fork: true}}, Rules{}, "allow-events", ""},
	{"workflow_run from here", Event{Name: "workflow_run", Sender: user("ann"), UpstreamActors: []Account{user("mo")}}, Rules{}, "", "write"},
	{"workflow_run after a reader's run", Event{Name: "workflow_run", Sender: user("ann"), UpstreamActors: []Account{user("eve")}}, Rules{}, "allow-actors", ""},
	{"workflow_run of a person and a bot of that name", Event{Name: "workflow_run", Sender: user("ann"), UpstreamActors: []Account{bot("ann")}}, Rules{}, "allow-bots", ""},

	{"an unknown event", Event{Name: "unheard_of", Sender: user("root")}, Rules{}, "allow-events", ""},
	{"the same, allowed", Event{Name: "unheard_of", Sender: user("ann")}, Rules{AllowEvents: []string{"unheard_of"}}, "", "write"},
	{"the same, without a sender", Event{Name: "unheard_of"}, Rules{AllowEvents: []string{"unheard_of"}}, "", ""},
}

func TestWhoMayStart(t *testing.T) {
	for _, test := range starts {
		test.event.Attempt = max(1, test.event.Attempt)
		grant, denied := Authorize(t.Context(), test.rules, test.event, somePeople)
		got := ""
		if denied != nil {
			got = denied.Setting
			if denied.Event != test.event.Name || len(strings.Fields(denied.Error())) < 4 {
				t.Errorf("%s: got %+v, want it to name the event and to say why", test.what, denied)
			}
		}
		if got != test.want || grant != test.level {
			t.Errorf("%s: %+v, %+v: got %v, level %q; want denied by %q, level %q", test.what, test.event, test.rules, denied, grant, test.want, test.level)
		}
	}
}

func TestWhichCheckoutIsTrusted(t *testing.T) {
	for _, test := range []struct {
		event Event
		level string
		want  bool
	}{
		{Event{Name: "schedule", Code: CodeSource{Known: true}}, "", true},
		{Event{Name: "issues", Code: CodeSource{Known: true}}, "write", true},
		{Event{Name: "issues", Code: CodeSource{Known: true}}, "owner", true},
		{Event{Name: "issues", Code: CodeSource{Known: true}}, "none", false},
		{Event{Name: "issues", Code: CodeSource{Known: true}}, "read", false},
		{Event{Name: "pull_request", Code: CodeSource{Known: true, Fork: true}}, "admin", false},
		{Event{Name: "pull_request", Code: CodeSource{Known: true}}, "", true},
		{Event{Name: "issue_comment", Subject: Subject{Kind: "pr"}}, "admin", false},
		{Event{Name: "unheard_of"}, "", false},
	} {
		assert.Check(t, is.Equal(IsCheckoutTrusted(test.event, test.level), test.want), "%+v by somebody with %q", test.event, test.level)
	}
}
