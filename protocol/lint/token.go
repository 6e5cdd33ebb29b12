package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
)

// checkTokens finds checkouts that keep their token where agents and confined scripts could read it.
func (c *jobs) checkTokens() {
	for _, ours := range c.steps {
		isCaged := func(name string) bool {
			return !c.chart.Reading(name).State.Trusted && !(c.isPrompt(name) && ours.RefusesPrompts()) && ours.Runs(c.flow.JobOf(name))
		}
		if ours.Input("cage") == "off" || !slices.ContainsFunc(c.chart.States(), isCaged) {
			continue
		}
		for _, s := range ours.file.Steps {
			isBefore := s.Job == ours.Job && s.Step < ours.Step && strings.HasSuffix(s.Action, "actions/checkout")
			if isBefore && !strings.EqualFold(s.Input("persist-credentials"), "false") && !s.IsOpen("persist-credentials") {
				c.aboutStep(Error, s, "persist-credentials", protocol.Problem{Code: "kept-token",
					Message: "the checkout keeps its token, and every agent and script of the workflow could read it: the step is denied", Hint: "set persist-credentials: false"})
			}
		}
	}
}

// checkPermissions finds permissions that a step needs and that its job does not have.
func (c *jobs) checkPermissions() {
	for _, s := range c.steps {
		if s.Calls || s.permissions == nil || s.Input("github-token") != "" {
			continue
		}
		hasCheckout := slices.ContainsFunc(s.file.Steps, func(o Step) bool { return o.Job == s.Job && strings.HasSuffix(o.Action, "actions/checkout") })
		searches := s.Input("store") != "local" && !slices.Contains([]string{"never", "require"}, s.Input("resume"))
		comments := s.Input("comment") == "sticky" || slices.ContainsFunc(c.chart.States(), func(name string) bool {
			return s.MayRun(c.flow.JobOf(name)) && slices.ContainsFunc(c.chart.Exits(name), func(e protocol.Exit) bool { return e.Verb == protocol.Ask })
		})
		onIssue := s.file.has("issues") && truthOf(s.If, "issues") >= 0
		for _, n := range []struct {
			isNeeded           bool
			scope, level, what string
		}{
			{hasCheckout, "contents", "read", "check out the repository"},
			{searches, "actions", "read", "find earlier runs"},
			{s.Input("continue") == "redispatch", "actions", "write", "start the workflow again"},
			{comments && (onIssue || !s.may("pull-requests", "write")), "issues", "write", "write comments (pull-requests: write does for pull requests)"},
		} {
			if n.isNeeded && !s.may(n.scope, n.level) {
				c.aboutStep(Warning, s, "", protocol.Problem{Code: "permission",
					Message: fmt.Sprintf("the job lacks the permission %s: %s, so the step can't %s", n.scope, n.level, n.what), Hint: "add it to the permissions of the job"})
			}
		}
	}
}

// ofEvent matches expressions whose value differs between events, or that only some events have.
var ofEvent = pattern(`\bgithub\.(event\.[a-z_]+|head_ref)\b`)

// unscheduled returns why a schedule does not resume the run of a step; "" if it does, as far as the file shows.
func (s Step) unscheduled() string {
	isOfRef := func(event string) bool {
		return slices.Contains([]string{"schedule", "push", "workflow_dispatch", "workflow_call"}, event)
	}
	uses := slices.DeleteFunc(ofEvent().FindAllString(s.Key(), -1), func(name string) bool {
		return slices.Contains([]string{"github.event.inputs", "github.event.repository", "github.event.schedule"}, name)
	})
	switch {
	case s.Calls:
		return ""
	case !s.file.has("schedule"):
		return s.file.Path + " has no schedule that resumes the run then"
	case truthOf(s.If, "schedule") < 0:
		return "the if: of the job " + s.Job + " does not let a schedule start it, which would resume the run then"
	case len(uses) > 0, s.Key() == "" && slices.ContainsFunc(s.file.events(), func(e string) bool { return !isOfRef(e) }):
		return "the key of job " + s.Job + " depends on the event, so that a schedule does not find the run then"
	}
	return ""
}

// condition is the rest of an expression of GitHub's that is evaluated for an event. Its methods return 1 for true, -1 for false
// and 0 for not known.
type condition struct{ rest, event string }

// truthOf evaluates the if: of a job.
func truthOf(text, event string) int {
	text = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "${{"), "}}")
	if strings.TrimSpace(text) == "" {
		return 0
	}
	return (&condition{text, event}).or()
}

func (c *condition) take(word string) bool {
	rest, ok := strings.CutPrefix(strings.TrimSpace(c.rest), word)
	if ok && !(word == "!" && strings.HasPrefix(rest, "=")) {
		c.rest = rest
		return true
	}
	return false
}

func (c *condition) or() int {
	v := c.and()
	for c.take("||") {
		v = max(v, c.and())
	}
	return v
}

func (c *condition) and() int {
	v := c.not()
	for c.take("&&") {
		v = min(v, c.not())
	}
	return v
}

func (c *condition) not() int {
	switch {
	case c.take("!"):
		return -c.not()
	case c.take("("):
		v := c.or()
		c.take(")")
		return v
	}
	return c.atom()
}

// operand is a comparison or a call.
var (
	operand  = pattern(`^\s*(?:'[^']*'|\((?:[^()']|'[^']*'|\([^()]*\))*\)|[^()'&|])+`)
	ofName   = pattern(`^github\.event_name\s*(==|!=)\s*'(\w+)'$`)
	ofFields = pattern(`\bgithub\.event\.(issue|pull_request|comment|review|label|discussion|release|head_commit|workflow_run)\b`)
)

func (c *condition) atom() int {
	text := strings.TrimSpace(operand().FindString(c.rest))
	c.rest = strings.TrimPrefix(strings.TrimSpace(c.rest), text)
	m := ofName().FindStringSubmatch(text)
	switch {
	case m != nil && (m[2] == c.event) == (m[1] == "=="):
		return 1
	case m != nil, c.event == "schedule" && ofFields().MatchString(text) && !strings.Contains(text, "!="):
		return -1
	}
	return 0
}
