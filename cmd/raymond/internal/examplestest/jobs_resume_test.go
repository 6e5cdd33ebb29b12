//go:build linux

package examplestest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/acttest"
	"github.com/raymond-action/raymond-action/runner/claude/claudetest"
)

const (
	resumeQuestion = "Which errors are ignored?"
	resumePlan     = "1. the parser 2. the store"
	// resumeAnswer has a line that must not become a command of the job that prints it.
	resumeAnswer = "One, in save.\n::error::of an agent"
	// resumeSoon is the deadline of a job that is to be suspended: long enough for its first state to begin on a busy
	// machine, too. resumeLate is more than that, and less than with the 30 s that a state has to end.
	resumeSoon = "20s"
	resumeLate = 20100 * time.Millisecond
)

func resumeDispatch(t *testing.T, firstJob string) string {
	t.Helper()
	return jobsDispatch(t, "resume-across-jobs", map[string]string{"question": resumeQuestion, "first-job": firstJob})
}

// resumeWantReport checks what the last job prints, and that none of it is obeyed.
func resumeWantReport(t *testing.T, r *acttest.Result, lines ...string) {
	t.Helper()
	step := r.Step("report", "0")
	if step == nil || len(step.Annotations) > 0 {
		t.Fatalf("step of job report: got %v\n%s\nwant it without annotations", step, Shown(r))
	}
	for _, line := range lines {
		if !slices.Contains(step.Log, line) {
			t.Errorf("log of job report: got %q, want the line %q", step.Log, line)
		}
	}
}

// TestAConversationGoesOnInTheNextJob with the real CLI: the first job makes the
// plan, the second one, on another machine, carries it out and knows it from the
// conversation alone. Nothing is asked twice.
func TestAConversationGoesOnInTheNextJob(t *testing.T) {
	t.Parallel()
	plan := claudetest.Say(resumePlan)
	plan.Delay = resumeLate
	api := claudetest.NewServer(t,
		claudetest.On("Make a plan for answering it", plan),
		claudetest.Rule{Match: "Take the next part of your plan", Sequence: []claudetest.Reply{
			claudetest.Say("The parser: none. <goto>STEP.md</goto>"), claudetest.Say("<result>" + resumeAnswer + "</result>"),
		}},
	)
	s := New(t, Setup{Example: "resume-across-jobs", Shipped: true})
	s.UseCLI(api)
	r := s.Run("workflow_dispatch", resumeDispatch(t, resumeSoon))
	jobsWant(t, r, map[string]string{"begin": "success", "go-on": "success", "report": "success"})
	first := WantStep(t, r, "begin", "raymond", "success", "status", "suspended", "outcome", "suspended", "resumable", "true", "iterations", "1", "result", "")
	second := WantStep(t, r, "go-on", "raymond", "success", "status", "completed", "outcome", "clean", "resumable", "false",
		"iterations", "3", "result", resumeAnswer, "workflow-id", first.Outputs["workflow-id"])
	if a, b := first.Outputs["cost-usd"], second.Outputs["cost-usd"]; a == "" || a == "0" || a >= b {
		t.Errorf("cost after the first and the second job: got %s and %s, want it to grow", a, b)
	}
	jobsWantSummary(t, first, "Suspended", "deadline", "1_START.md")
	jobsWantSummary(t, second, "Completed", "1_START.md", "STEP.md", "One, in save.")
	resumeWantReport(t, r, "completed", "One, in save.", "::error::of an agent")
	resumeWantConversation(t, api)
}

// resumeWantConversation checks what the model was asked, in order.
func resumeWantConversation(t *testing.T, api *claudetest.Server) {
	t.Helper()
	var asked []string
	for _, q := range api.Requests() {
		for _, prompt := range []string{"Make a plan", "Take the next part"} {
			if strings.Contains(q.Prompt, prompt) {
				asked = append(asked, prompt)
			}
		}
		if talk := q.Conversation(); strings.Contains(q.Prompt, "Take the next part") && (!strings.Contains(talk, resumePlan) || !strings.Contains(talk, resumeQuestion)) {
			t.Errorf("request of the second job: got\n%s\nwant the question and the plan of the first job in it", talk)
		}
	}
	if diff := cmp.Diff([]string{"Make a plan", "Take the next part", "Take the next part"}, asked); diff != "" {
		t.Errorf("prompts to the model (-want +got):\n%s", diff)
	}
	if talk := api.Last(t).Conversation(); !strings.Contains(talk, "The parser: none.") {
		t.Errorf("last request: got\n%s\nwant what the part before has said", talk)
	}
}

// TestTheNextWorkflowRunGoesOn when two jobs were not enough: the report says that,
// and the first job of the next run takes the run up and ends it, so that its second
// one has nothing to do.
func TestTheNextWorkflowRunGoesOn(t *testing.T) {
	t.Parallel()
	s := New(t, Setup{Example: "resume-across-jobs", Edit: func(text string) string {
		return strings.Replace(text, "deadline: 50m", "deadline: "+resumeSoon, 1)
	}})
	late := "sleep " + strings.TrimSuffix(resumeLate.String(), "s") + "; "
	s.Agents.Play("1_START.md", late+"echo '"+resumePlan+"'")
	s.Agents.Play("STEP.md", late+"echo '<goto>STEP.md</goto>'", "echo '<result>One, in save.</result>'")
	r := s.Run("workflow_dispatch", resumeDispatch(t, resumeSoon))
	jobsWant(t, r, map[string]string{"begin": "success", "go-on": "success", "report": "success"})
	id := WantStep(t, r, "go-on", "raymond", "success", "status", "suspended", "resumable", "true", "iterations", "2").Outputs["workflow-id"]
	resumeWantReport(t, r, "Not done yet. Run this workflow again: its first job goes on.")

	r = s.Run("workflow_dispatch", resumeDispatch(t, "50m"))
	jobsWant(t, r, map[string]string{"begin": "success", "report": "success"})
	WantStep(t, r, "begin", "raymond", "success", "status", "completed", "iterations", "3", "result", "One, in save.", "workflow-id", id)
	resumeWantReport(t, r, "completed", "One, in save.")
	if diff := cmp.Diff([]string{"1_START.md", "STEP.md", "STEP.md"}, s.Agents.States()); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
}
