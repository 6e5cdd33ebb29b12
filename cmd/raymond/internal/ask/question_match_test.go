package ask

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/runner/report"
	"github.com/raymond-action/raymond-action/state"
)

func TestAnswersBeginWithThePrefix(t *testing.T) {
	for body, want := range map[string]string{
		"/raymond yes": "yes", "/raymond": "", "  /raymond\tyes\n": "yes", "/raymond\nline\n> quoted": "line\n> quoted", "\r\n\n/raymond yes": "yes",
		"> asked\n> more\n\n/raymond yes": "yes", "<!-- x -->/raymond <!-- no --> yes": "yes", "\u200b/raymond yes": "yes",
	} {
		if got, ok := ParseAnswer(body, "/raymond"); !ok || strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
			t.Errorf("%q: got %q, %t; want %q", body, got, ok, want)
		}
	}
	for _, body := range []string{"", "yes", "/raymonds yes", "/raymond:yes", "> /raymond yes", "hey /raymond yes", "<!-- /raymond yes -->", "<!-- x\n/raymond yes", "/Raymond yes"} {
		got, ok := ParseAnswer(body, "/raymond")
		assert.Check(t, !ok, "%q: got %q, want that it does not begin with the prefix", body, got)
	}
}

// TestWhichQuestionIsAnswered checks that the questions that were open when a comment was written
// determine which question the comment answers.
func TestWhichQuestionIsAnswered(t *testing.T) {
	at := func(minute int) time.Time { return time.Unix(1e9, 0).Add(time.Duration(minute) * time.Minute) }
	// Question 1 was open from minute 0 to minute 10. Question 2 is open since minute 5. Question 3, on
	// another issue, is open since minute 20.
	m := report.NewModel()
	for _, e := range []state.Event{
		{Agent: "a", Time: at(0), Body: &state.AgentWaits{For: state.ForAnswer, Number: 1}}, {Agent: "b", Time: at(5), Body: &state.AgentWaits{For: state.ForAnswer, Number: 2}},
		{Agent: "a", Time: at(10), Body: &state.AgentGoesOn{By: "ann"}}, {Agent: "a", Time: at(20), Body: &state.AgentWaits{For: state.ForAnswer, Number: 3, Where: 9}},
	} {
		m.Add(e)
	}
	two := &question{Question: state.Question{Number: 2}, since: at(5)}
	for _, test := range []struct {
		minute int
		said   string
		want   string
	}{
		{4, "yes", "none"},                                                // before the question
		{7, "yes", "which"}, {7, "2 yes", "2: yes"}, {7, "1 yes", "none"}, // while question 1 is open
		{7, "3 yes", "which"},
		{15, "yes", "2: yes"}, {15, "2 yes", "2: 2 yes"}, {15, "1 yes", "2: 1 yes"}, // while no other question is open
		{25, "yes", "2: yes"}, {25, "2 yes", "2: yes"}, {25, "3 yes", "none"}, // while question 3 is open on another issue
	} {
		r := job.Comment{Kind: job.IssueComment, ID: 5, Created: at(test.minute)}
		to, said, several := matchQuestion(r, test.said, []*question{two}, openAt(m.Questions(), r.Created))
		got := "none"
		switch {
		case len(several) > 0:
			got = "which"
		case to != nil:
			got = fmt.Sprintf("%d: %s", to.Number, said)
		}
		assert.Check(t, is.Equal(got, test.want), "%q at minute %d", test.said, test.minute)
	}
}

func TestQuestionRefsAreReadBack(t *testing.T) {
	p := QuestionRef{Token: token, Workflow: ".github/workflows/a--b.yml", Key: "k --> <!-- x", Run: "w-12345678", Number: 3}
	if got, ok := ParseQuestionRef(p.mark() + "\ntext"); !ok || got != p || strings.Count(p.mark(), "-->") != 1 {
		t.Errorf("%q: got %+v, %t; want %+v", p.mark(), got, ok, p)
	}
	for _, body := range []string{"", "x" + p.mark(), questionMark + token + " !!! -->", questionMark + token + " e30 -->", strings.Replace(p.mark(), "0", "g", 1)} {
		got, ok := ParseQuestionRef(body)
		assert.Check(t, !ok, "%q: got %+v, want no pointer", body, got)
	}
}
