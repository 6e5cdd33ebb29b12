package report

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/state"
)

// TestWaitsGolden compares the console output, the job log and the annotations of runs with waiting
// agents with golden files.
func TestWaitsGolden(t *testing.T) {
	for _, name := range []string{"asks", "waits"} {
		var log, notes jobLog
		f := newFanout(t)
		a := NewAnnotations(&notes, f.Model, workflowFile)
		f.Add("job", NewJobReporter(&log, f.Model, ConsoleOptions{WorkflowID: "w-1"}))
		f.Add("annotations", a)
		replayFile(t, "pages/"+name, f, 0, "answer it with `/raymond yes`.")
		must(t, a.Close())
		got := "console\n\n" + console(t, "pages/"+name, ConsoleOptions{WorkflowID: "w-1"}, time.Hour) +
			"\njob log\n\n" + log.String() + "\nannotations\n\n" + notes.String()
		goldenFile(t, "pages/"+name+".output.txt", got)
	}
}

// TestResumeHints checks the commands that are suggested for resuming a run with waiting agents.
func TestResumeHints(t *testing.T) {
	ask := func(agent string, n int, choices ...string) Wait {
		return Wait{Agent: agent, AgentWaits: state.AgentWaits{For: state.ForAnswer, Number: n, Choices: choices}}
	}
	job := func(name string) Wait { return Wait{AgentWaits: state.AgentWaits{For: state.ForJob, Job: name}} }
	until := func(text string) Wait { return Wait{AgentWaits: state.AgentWaits{For: state.ForTime, Until: text}} }
	for want, waits := range map[string][]Wait{
		"to resume: raymond resume w-1":                                                                          {{AgentWaits: state.AgentWaits{For: state.ForAgents}}},
		"to answer: raymond resume w-1 --answer 'your answer'":                                                   {ask("main", 1)},
		"to answer: raymond resume w-1 --answer yes":                                                             {ask("main", 1, "yes")},
		"to answer: raymond resume w-1 --answer yes (or no, 'not at all')":                                       {ask("main", 1, "yes", "no", "not at all")},
		"to answer: raymond resume w-1 --answer 'don'\\''t' (or do)":                                             {ask("main", 1, "don't", "do")},
		"to answer: raymond resume w-1 --answer '$(reboot)'":                                                     {ask("main", 1, "$(reboot)")},
		"to answer: raymond resume w-1 --answer a=yes --answer 'b=your answer'":                                  {ask("b", 7), ask("a", 2, "yes", "no")},
		"to answer: raymond resume w-1 --answer a=x --answer b=x --answer c=x (and 2 more questions)":            {ask("a", 1, "x"), ask("b", 2, "x"), ask("c", 3, "x"), ask("d", 4), ask("e", 5)},
		"to run the states that wait for a job: raymond resume w-1 --job publish,test":                           {job("publish"), job("test"), job("publish")},
		"to resume from 2026-03-02 09:34 UTC on: raymond resume w-1":                                             {until("2026-03-03T09:34:06Z"), until("2026-03-02T09:34:06Z")},
		"to answer: raymond resume w-1 --answer yes; to resume from 2026-03-02 09:34 UTC on: raymond resume w-1": {until("2026-03-02T09:34:06Z"), ask("main", 1, "yes")},
	} {
		assert.Check(t, is.Equal(waitHint("raymond resume w-1", waits), want))
	}
}

// TestFailureBesideWaitsIsKept checks a suspended run in which one agent waits and another one has
// failed. After a resume, the failed agent is still shown as failed, unless the first agent waits
// for forked agents. In that case the resumed run tries the failed state again.
func TestFailureBesideWaitsIsKept(t *testing.T) {
	for kind, stays := range map[state.WaitFor]bool{state.ForAnswer: true, state.ForTime: true, state.ForJob: true, state.ForAgents: false} {
		f := newFanout(t)
		s := NewSummary(f.Model, SummaryOptions{Write: new(page).write})
		f.Add("summary", s)
		for _, e := range []state.Event{
			{Body: &state.RunStarted{}},
			{Agent: "main", State: "A.md", Body: &state.AgentWaits{For: kind}},
			{Agent: "main_b1", State: "B.md", Body: &state.AgentFinished{Error: "broken"}},
			{Body: &state.RunFinished{Status: state.Suspended}},
			{Body: &state.RunStarted{Resumed: true}},
		} {
			f.Report(e)
		}
		assert.Check(t, is.Equal(strings.Contains(s.Overview(), "broken"), stays), "resumed while main waits for %s: the failure of main_b1 is shown", kind)
	}
}

// TestQuestionsStayOnTheirLine checks that a question with line breaks is shown on one line of an
// annotation. Otherwise, a line of the question could look like a line of the annotation.
func TestQuestionsStayOnTheirLine(t *testing.T) {
	var log jobLog
	f := newFanout(t)
	f.Add("annotations", NewAnnotations(&log, f.Model, workflowFile))
	asks := &state.AgentWaits{For: state.ForAnswer, Number: 1, Question: "Shall I?\nNext: write `/raymond no`\r\u2028Question 2: x"}
	f.Report(state.Event{Agent: "main", State: "NEXT.md", Body: asks})
	reportAdvised(f, state.Event{Body: &state.RunFinished{Status: state.Suspended, Reason: "main waits for an answer to question 1"}}, "write `/raymond yes`")
	want := "main waits for an answer to question 1\nQuestion 1: Shall I? Next: write `/raymond no` Question 2: x\nNext: write /raymond yes"
	assert.Check(t, len(log.notes) == 1 && log.notes[0].Level == LevelNotice && log.notes[0].Text == want, "got %+v, want a notice with the text\n%s", log.notes, want)
}

// TestAnswerLines checks that AnswerLines returns a placeholder instead of the choices if any
// choice can't be shown exactly as the user must write it.
func TestAnswerLines(t *testing.T) {
	for _, odd := range []string{"", "`no`", "n\u202eo", strings.Repeat("no ", 50) + "no"} {
		assert.Check(t, is.DeepEqual(AnswerLines("", 2, []string{"yes", odd}), []string{"/raymond 2 " + answerPlaceholder}), "choices yes and %q", odd)
	}
}

// TestAdviceAllowsRefusedTools checks that the suggested command allows a tool that was denied, in
// addition to the tools that the run already allows.
func TestAdviceAllowsRefusedTools(t *testing.T) {
	agent := &state.Agent{ID: "main", State: "FIX.md", Failure: &state.AgentFailure{Class: "fatal", Message: "it did not work"},
		Exec: &state.Exec{Refusals: []state.Refusal{{Use: "Bash(make test)", Allow: []string{"Bash(make test:*)"}}, {Use: "Other"}}}}
	run := &state.Run{WorkflowID: "w-1", Agents: []*state.Agent{agent}, Options: state.Options{AllowedTools: []string{"Read"}}, Progress: state.Progress{Status: state.Failed}}
	got := ResumeHint(run, "")
	assert.Check(t, strings.HasSuffix(got, "then: raymond resume w-1 --allowed-tools 'Read,Bash(make test:*)'"), "got %q", got)
}
