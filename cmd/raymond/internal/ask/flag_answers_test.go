package ask

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// runWithQuestions returns a run in which each agent asks a question. If an agent's name ends with
// "chooser", its question has the choices Yes and No.
func runWithQuestions(agents ...string) *state.Run {
	run := &state.Run{}
	for i, id := range agents {
		q := &state.Question{Number: i + 1, Text: "What now?"}
		if strings.HasSuffix(id, "chooser") {
			q.Choices = []string{"Yes", "No"}
		}
		run.Agents = append(run.Agents, &state.Agent{ID: id, Status: state.Waiting, Waits: &state.WaitCondition{For: state.ForAnswer, Question: q}})
	}
	return run
}

// TestAnswersFindTheirQuestion checks that each answer is assigned to the right question. If that is
// impossible, Match returns an error that lists the open questions.
func TestAnswersFindTheirQuestion(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a=b")
	assert.NilError(t, os.WriteFile(file, []byte("two\nlines\r\n"), 0o600))
	text := func(values ...string) FlagAnswers {
		var g FlagAnswers
		for _, v := range values {
			g = append(g, flagAnswer{textFlag, v})
		}
		return g
	}
	two := runWithQuestions("main", "main_chooser")
	for name, c := range map[string]struct {
		run   *state.Run
		given FlagAnswers
		want  string // agent and text of each answer, or a substring of the error
	}{
		"none":                    {two, nil, ""},
		"the only question":       {runWithQuestions("main"), text("as it is=yes "), "main: as it is=yes ;"},
		"not the name of one":     {runWithQuestions("main"), text("other=b"), "main: other=b;"},
		"a choice":                {runWithQuestions("chooser"), text(" yes "), "chooser: Yes;"},
		"no choice":               {runWithQuestions("chooser"), text("yes!"), `"yes!" is not one of the choices of chooser; open: chooser asks "What now?" (Yes, No)`},
		"both":                    {two, text("main_chooser=NO", "main="), "main_chooser: No;main: ;"},
		"bare where several":      {two, text("x"), `"x": 2 questions are open; begin the answer with AGENT= to choose one; open: main asks "What now?"; main_chooser asks`},
		"one good, one bare":      {two, text("main=x", "y"), `"y": 2 questions`},
		"twice":                   {runWithQuestions("main"), text("x", "main=y"), "the question of main is answered twice"},
		"none is open":            {runWithQuestions(), text("x"), `"x": the run has no open question`},
		"a file":                  {runWithQuestions("main"), FlagAnswers{{fileFlag, file}}, "main: two\nlines;"},
		"a file for an agent":     {two, FlagAnswers{{fileFlag, "main=" + file}}, "main: two\nlines;"},
		"a file that isn't there": {runWithQuestions("main"), FlagAnswers{{fileFlag, file + "x"}}, "no such file"},
	} {
		got := ""
		updates, err := c.given.Match(c.run)
		for _, u := range updates {
			got += u.Agent + ": " + u.Answer.Text + ";"
			if a, _ := c.run.Agent(u.Agent); a.Waits.Question.Number != u.Number || u.Answer.By != "cli" {
				t.Errorf("%s: got %+v, want it to be about the question of its agent, and by cli", name, u)
			}
		}
		if err != nil {
			if got = err.Error(); !strings.HasPrefix(got, "usage: --answer") || c.want == "" || !strings.Contains(got, c.want) {
				t.Errorf("%s: got the error %q, want one of class usage with %q", name, got, c.want)
			}
			continue
		}
		assert.Check(t, is.Equal(got, c.want), name)
	}
}
