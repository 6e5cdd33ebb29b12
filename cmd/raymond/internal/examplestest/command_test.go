//go:build linux

package examplestest

import (
	"strings"
	"testing"
	"time"

	"github.com/raymond-action/raymond-action/runner/agenttest"
	"github.com/raymond-action/raymond-action/runner/command/commandtest"
)

// TestAnAgentCommandGoesOnInTheNextJob, on another machine: its conversation comes in the checkpoint. It runs
// in the cage, and reaches its API.
func TestAnAgentCommandGoesOnInTheNextJob(t *testing.T) {
	t.Parallel()
	vendor := commandtest.Vendor{}
	url := vendor.Serve(t, func(q agenttest.Asked) agenttest.Reply {
		r := agenttest.Reply{Text: resumePlan, Input: 1000, Output: 100}
		if !strings.Contains(q.Last(), "Make a plan") {
			r.Text = "<result>" + strings.Join(q.Said, "|") + " after " + strings.Join(strings.Fields(q.Prompts[0])[:4], " ") + "</result>"
			return r
		}
		<-time.After(resumeLate) // the deadline of the first job passes meanwhile
		return r
	})
	command := "COMMANDTEST_URL=" + url + " NO_PROXY=* " + commandtest.Command(vendor.Install(t))
	s := New(t, Setup{Example: "resume-across-jobs", Shipped: true, Edit: func(text string) string {
		return steps.ReplaceAllString(text, "${0}\n${1}agent-command: "+strings.ReplaceAll(command, "'", `"`))
	}})
	delete(s.Secrets, "ANTHROPIC_API_KEY")
	s.Agents.Remove()
	r := s.Run("workflow_dispatch", resumeDispatch(t, resumeSoon))
	jobsWant(t, r, map[string]string{"begin": "success", "go-on": "success", "report": "success"})
	WantStep(t, r, "begin", "raymond", "success", "status", "suspended", "iterations", "1", "cost-usd", "0.0011")
	WantStep(t, r, "go-on", "raymond", "success", "status", "completed", "iterations", "2", "cost-usd", "0.0022",
		"result", resumePlan+" after This is a question")
}
