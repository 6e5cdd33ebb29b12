package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// writerEvents are the events that only accounts with write permission can cause.
var writerEvents = map[string]bool{
	"schedule": true, "workflow_dispatch": true, "repository_dispatch": true, "push": true, "merge_group": true,
}

// userEvents are events that any user may be able to cause. The user needs write permission to start a
// run. An event in neither table is denied unless the workflow's author allows it by name.
var userEvents = map[string]bool{
	"issues": true, "issue_comment": true, "discussion": true, "discussion_comment": true, "commit_comment": true,
	"pull_request": true, "pull_request_target": true, "pull_request_review": true,
	"pull_request_review_comment": true, "pull_request_comment": true,
	"create": true, "delete": true, "fork": true, "gollum": true, "label": true, "milestone": true,
	"release": true, "watch": true, "workflow_run": true,
}

// notFromForks are the events whose jobs get secrets even if the event is about the code of a fork.
var notFromForks = map[string]bool{"pull_request_target": true, "workflow_run": true}

// Rules are the accounts and events that a workflow's author allows in addition to the defaults.
type Rules struct {
	AllowActors []string `input:"allow-actors"` // logins of users
	AllowBots   []string `input:"allow-bots"`   // logins of bots, with or without [bot]; "*" allows all bots
	AllowEvents []string `input:"allow-events"` // names of further events that may start a run
}

// Permissions looks up the permission of an account in the repository.
type Permissions interface {
	// Permission returns "admin", "maintain", "write", "triage", "read" or "none".
	Permission(ctx context.Context, login string) (string, error)
}

// Denial explains why an event may not start a run, or why an account may not answer a question.
type Denial struct {
	Who     string // login; empty if the denial is not about an account
	Event   string
	Why     string
	Setting string // the input that can allow the start
	// IsTemporary is true if the permission could not be looked up at the moment. A later attempt may
	// succeed.
	IsTemporary bool
}

// Remedy names the input that allows the start, and the value to add to it.
func (d *Denial) Remedy() string {
	return fmt.Sprintf("not allowed; to allow it, add %s to the input %s", cmp.Or(shorten(d.Who), d.Event), d.Setting)
}

// Error returns the reason in one line. Remedy returns the input to set.
func (d *Denial) Error() string {
	if d.Who == "" {
		return fmt.Sprintf("event %s: %s", d.Event, d.Why)
	}
	return fmt.Sprintf("%s (event %s): %s", shorten(d.Who), d.Event, d.Why)
}

// Authorize decides whether the event may start a run. If it may not, Authorize returns a denial; in
// case of doubt the event is denied. Otherwise lowest is the lowest permission of the users who caused
// the event. It is "none" for a user without write permission whom allow-actors names, and "" if no
// user caused the event. docs/inputs.md lists the rules.
func Authorize(ctx context.Context, rules Rules, e Event, ask Permissions) (lowest string, _ *Denial) {
	if !slices.Contains(rules.AllowEvents, e.Name) {
		if !writerEvents[e.Name] && !userEvents[e.Name] {
			return "", &Denial{Event: e.Name, Why: "it is not known who can cause this event", Setting: "allow-events"}
		}
		if notFromForks[e.Name] && e.Code.Fork {
			why := "it comes from a fork, and would run with this repository's secrets"
			return "", &Denial{Event: e.Name, Why: why, Setting: "allow-events"}
		}
	}
	if writerEvents[e.Name] {
		return "", nil
	}
	people, d := actors(e)
	if d != nil {
		return "", d
	}
	for _, who := range people {
		level, d := rules.admit(ctx, e.Name, who, ask)
		if d != nil {
			return "", d
		}
		if lowest == "" || level != "" && !canWrite(level) { // keep the lowest level; bots have no permission level
			lowest = level
		}
	}
	return lowest, nil
}

// AuthorizeAnswer decides whether an account may answer a run's question. It returns nil if so. The
// account needs the same permission as the sender of an event that starts the run.
func AuthorizeAnswer(ctx context.Context, rules Rules, who Account, ask Permissions) *Denial {
	if who.Login == "" {
		return &Denial{Event: "answer", Why: "it is not known who wrote it", Setting: "allow-actors"}
	}
	_, denied := rules.admit(ctx, "answer", who, ask)
	return denied
}

// actors returns the accounts that caused an event. If one of them is unknown, it returns a denial.
func actors(e Event) ([]Account, *Denial) {
	all := append([]Account{e.Sender}, e.UpstreamActors...)
	if e.Attempt > 1 && (e.TriggeringActor != "" || !e.IsGitea) {
		all = append(all, Account{Login: e.TriggeringActor})
	}
	if e.Sender.Login == "" && !userEvents[e.Name] {
		all = all[1:] // this event is allowed by name and has no sender
	}
	if slices.ContainsFunc(all, func(a Account) bool { return a.Login == "" }) {
		return nil, &Denial{Event: e.Name, Why: "it is not known who caused it", Setting: "allow-events"}
	}
	return all, nil
}

// admit decides whether an account may start the run. If so, it returns the account's permission, which
// is "" for a bot.
func (r Rules) admit(ctx context.Context, event string, who Account, ask Permissions) (string, *Denial) {
	deny := func(why, setting string) (string, *Denial) {
		return "", &Denial{Who: who.Login, Event: event, Why: why, Setting: setting}
	}
	// A user and a bot can have the same name, so the account's type is checked before the lists.
	bare := func(login string) string { return strings.TrimSuffix(strings.ToLower(login), "[bot]") }
	login := strings.ToLower(who.Login)
	if strings.EqualFold(who.Type, "Bot") || bare(login) != login || login == "gitea-actions" { // Gitea does not report the type of an account, so the login is checked too
		if slices.ContainsFunc(r.AllowBots, func(name string) bool { return name == "*" || bare(name) == bare(login) }) {
			return "", nil
		}
		return deny("is a bot, and bots may not start this", "allow-bots")
	}
	level, err := "none", error(nil)
	if isActor(who.Login) {
		level, err = ask.Permission(ctx, who.Login)
	}
	switch {
	case err == nil && canWrite(level):
		return level, nil
	case slices.ContainsFunc(r.AllowActors, func(name string) bool { return strings.EqualFold(name, who.Login) }):
		return "none", nil
	case err != nil:
		level, d := deny("it is not known whether they have write permission: "+err.Error(), "allow-actors")
		d.IsTemporary = forge.IsTemporary(err)
		return level, d
	}
	return deny(fmt.Sprintf("has the permission %q, and needs write", shorten(level)), "allow-actors")
}

// canWrite reports whether a permission is write or higher. The permission "owner" exists only on Gitea.
func canWrite(level string) bool {
	return slices.Contains([]string{"write", "maintain", "admin", "owner"}, level)
}

// IsCheckoutTrusted reports whether agents may use settings, hooks and instructions of the checkout if
// the input trust-checkout is not set. They may not if the event comes from a fork, if a user without
// write permission caused it, or if the origin of the code is unknown. lowest is the result of Authorize.
func IsCheckoutTrusted(e Event, lowest string) bool {
	return !e.Code.Fork && e.Code.Known && (lowest == "" || canWrite(lowest))
}
