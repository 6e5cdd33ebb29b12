package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
)

// checkTokens finds checkouts that keep their token on disk, where agents and confined scripts
// could read it.
func (c *jobs) checkTokens() {
	for _, ours := range c.steps {
		isCaged := func(name string) bool {
			return !c.chart.Analysis(name).State.Trusted && !(c.isPrompt(name) && ours.RefusesPrompts()) && ours.Runs(c.flow.JobOf(name))
		}
		if ours.Input("cage") == "off" || !slices.ContainsFunc(c.chart.States(), isCaged) {
			continue
		}
		for _, s := range ours.file.Steps {
			isBefore := s.Job == ours.Job && s.Index < ours.Index && strings.HasSuffix(s.Action, "actions/checkout")
			if isBefore && !strings.EqualFold(s.Input("persist-credentials"), "false") && !s.HasExpression("persist-credentials") {
				c.reportStep(Error, s, "persist-credentials", protocol.Problem{Code: "kept-token",
					Message: "the checkout keeps its token on disk, where every agent and script could read it; the step of the action refuses to start", Hint: "set persist-credentials: false"})
			}
		}
	}
}

// checkPermissions finds permissions that a step needs but its job does not have.
func (c *jobs) checkPermissions() {
	for _, s := range c.steps {
		if s.CallsWorkflow || s.permissions == nil || s.Input("github-token") != "" {
			continue
		}
		hasCheckout := slices.ContainsFunc(s.file.Steps, func(o Step) bool { return o.Job == s.Job && strings.HasSuffix(o.Action, "actions/checkout") })
		searches := s.Input("store") != "local" && !slices.Contains([]string{"never", "require"}, s.Input("resume"))
		comments := s.Input("comment") == "sticky" || slices.ContainsFunc(c.chart.States(), func(name string) bool {
			return s.MayRun(c.flow.JobOf(name)) && slices.ContainsFunc(c.chart.Exits(name), func(e protocol.Exit) bool { return e.Verb == protocol.Ask })
		})
		onIssue := s.file.has("issues") && !excludes(s.If, "issues")
		for _, n := range []struct {
			isNeeded           bool
			scope, level, what string
		}{
			{hasCheckout, "contents", "read", "check out the repository"},
			{searches, "actions", "read", "find earlier runs"},
			{s.Input("continue") == "redispatch", "actions", "write", "start the workflow again"},
			{comments && (onIssue || !s.may("pull-requests", "write")), "issues", "write", "write comments (for pull requests, pull-requests: write is enough)"},
		} {
			if n.isNeeded && !s.may(n.scope, n.level) {
				c.reportStep(Warning, s, "", protocol.Problem{Code: "permission",
					Message: fmt.Sprintf("the job lacks the permission %s: %s, so the step can't %s", n.scope, n.level, n.what), Hint: "add it to the permissions of the job"})
			}
		}
	}
}

// ofEvent matches expressions whose value depends on the event, or that only some events set.
var ofEvent = pattern(`\bgithub\.(event\.[a-z_]+|head_ref)\b`)

// noScheduleReason returns why no schedule resumes the run of a step. It returns "" if a schedule
// does, or if the file doesn't show that.
func (s Step) noScheduleReason() string {
	isOfRef := func(event string) bool {
		return slices.Contains([]string{"schedule", "push", "workflow_dispatch", "workflow_call"}, event)
	}
	uses := slices.DeleteFunc(ofEvent().FindAllString(s.Key(), -1), func(name string) bool {
		return slices.Contains([]string{"github.event.inputs", "github.event.repository", "github.event.schedule"}, name)
	})
	switch {
	case s.CallsWorkflow:
		return ""
	case !s.file.has("schedule"):
		return s.file.Path + " has no schedule that would resume the run"
	case excludes(s.If, "schedule"):
		return "the if: of the job " + s.Job + " does not let a schedule start it, which would resume the run"
	case len(uses) > 0, s.Key() == "" && slices.ContainsFunc(texts(s.file.on), func(e string) bool { return !isOfRef(e) }):
		return "the key of job " + s.Job + " depends on the event, so a schedule does not find the run"
	}
	return ""
}

// Patterns for conditions: a quoted text, an innermost pair of parentheses, a comparison with the
// event's name, and a term with a field that is missing in the event schedule.
var (
	quoted    = pattern(`'[^']*'`)
	innermost = pattern(`\([^()]*\)`)
	ofName    = pattern(`^\s*github\.event_name\s*(==|!=)\s*'(\w+)'\s*$`)
	ofFields  = pattern(`^[^!]*\bgithub\.event\.(issue|pull_request|comment|review|label|discussion|release|head_commit|workflow_run)\b[^!]*$`)
)

// excludes reports whether the if: condition of a job is certainly false for an event. It returns
// false for a negated condition, which it doesn't evaluate.
func excludes(text, event string) bool {
	const never = "never"
	isNever := func(term string) bool {
		m := ofName().FindStringSubmatch(term)
		isOther := m != nil && (m[2] == event) != (m[1] == "==")
		return isOther || event == "schedule" && ofFields().MatchString(term) || strings.HasSuffix(strings.TrimSpace(term), never) && !strings.Contains(term, "!")
	}
	isFalse := func(text string) bool {
		return !slices.ContainsFunc(strings.Split(text, "||"), func(all string) bool { return !slices.ContainsFunc(strings.Split(all, "&&"), isNever) })
	}
	text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "${{"), "}}")
	text = quoted().ReplaceAllStringFunc(text, strings.NewReplacer("(", "", ")", "", "&", "", "|", "", "!", "").Replace)
	for at := innermost().FindStringIndex(text); at != nil; at = innermost().FindStringIndex(text) {
		value := " "
		if isFalse(text[at[0]+1 : at[1]-1]) {
			value = never
		}
		text = text[:at[0]] + value + text[at[1]:]
	}
	return isFalse(text)
}
