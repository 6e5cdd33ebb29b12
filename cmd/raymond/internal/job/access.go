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

// userEvents are events of people, who need permission to start a run. An event that is in neither
// table is refused unless it is allowed by name.
var userEvents = map[string]bool{
	"issues": true, "issue_comment": true, "discussion": true, "discussion_comment": true, "commit_comment": true,
	"pull_request": true, "pull_request_target": true, "pull_request_review": true,
	"pull_request_review_comment": true, "pull_request_comment": true,
	"create": true, "delete": true, "fork": true, "gollum": true, "label": true, "milestone": true,
	"release": true, "watch": true, "workflow_run": true,
}

// notFromForks are the events that run with secrets even if they are about the code of a fork.
var notFromForks = map[string]bool{"pull_request_target": true, "workflow_run": true}

// Rules are the exceptions from the defaults that a workflow's author allows.
type Rules struct {
	AllowActors []string `input:"allow-actors"` // logins of people
	AllowBots   []string `input:"allow-bots"`   // logins of bots, with or without [bot]; "*" for all
	AllowEvents []string `input:"allow-events"` // names of events
}

// Permissions looks up the permission of an account in the repository.
type Permissions interface {
	// Permission returns "admin", "maintain", "write", "triage", "read" or "none".
	Permission(ctx context.Context, login string) (string, error)
}

// Denial is the reason why a run may not start.
type Denial struct {
	Who     string // login; "" if the denial is not about a person
	Event   string
	Why     string
	Setting string // the input that allows it
	// IsTemporary means that the permission could not be looked up, and a later attempt may
	// succeed.
	IsTemporary bool
}

// Remedy names the input that would allow it.
func (d *Denial) Remedy() string {
	return fmt.Sprintf("not allowed; to allow it, add %s to the input %s", cmp.Or(shorten(d.Who), d.Event), d.Setting)
}

// Error returns the denial in one line, without the input that would allow it.
func (d *Denial) Error() string {
	if d.Who == "" {
		return fmt.Sprintf("event %s: %s", d.Event, d.Why)
	}
	return fmt.Sprintf("%s (event %s): %s", shorten(d.Who), d.Event, d.Why)
}

// Authorize decides whether the event may start a run; the denial is nil if so. lowest is then the
// lowest permission of the people who caused the event: "none" if it could not be looked up, and ""
// if no person caused it. In doubt, the event is denied. The rules are in docs/inputs.md.
func Authorize(ctx context.Context, rules Rules, e Event, ask Permissions) (lowest string, _ *Denial) {
	if d := eventDenial(rules, e); d != nil || writerEvents[e.Name] {
		return "", d
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
		if lowest == "" || level != "" && !canWrite(level) { // the lowest level counts; a bot has none
			lowest = level
		}
	}
	return lowest, nil
}

// AuthorizeAnswer returns nil if an account may answer a question of a run, which it may if it may
// start the run. It looks up permissions as Authorize does for the sender of an event.
func AuthorizeAnswer(ctx context.Context, rules Rules, who Account, ask Permissions) *Denial {
	if who.Login == "" {
		return &Denial{Event: "answer", Why: "it is not known who wrote it", Setting: "allow-actors"}
	}
	_, denied := rules.admit(ctx, "answer", who, ask)
	return denied
}

// eventDenial returns why the event itself can't start a run; nil if it can.
func eventDenial(rules Rules, e Event) *Denial {
	if slices.Contains(rules.AllowEvents, e.Name) {
		return nil
	}
	if !writerEvents[e.Name] && !userEvents[e.Name] {
		return &Denial{Event: e.Name, Why: "it is not known who can cause this event", Setting: "allow-events"}
	}
	if notFromForks[e.Name] && e.Code.Fork {
		why := "it comes from a fork, and would run with this repository's secrets"
		return &Denial{Event: e.Name, Why: why, Setting: "allow-events"}
	}
	return nil
}

// actors returns the accounts that caused an event of people.
func actors(e Event) ([]Account, *Denial) {
	all := append([]Account{e.Sender}, e.UpstreamActors...)
	if e.Attempt > 1 && (e.TriggeringActor != "" || !e.IsGitea) {
		all = append(all, Account{Login: e.TriggeringActor})
	}
	if e.Sender.Login == "" && !userEvents[e.Name] {
		all = all[1:] // an event that is allowed by name and has no sender
	}
	if slices.ContainsFunc(all, func(a Account) bool { return a.Login == "" }) {
		return nil, &Denial{Event: e.Name, Why: "it is not known who caused it", Setting: "allow-events"}
	}
	return all, nil
}

// admit returns the permission of an account that may start the run; "" for a bot.
func (r Rules) admit(ctx context.Context, event string, who Account, ask Permissions) (string, *Denial) {
	deny := func(why, setting string) (string, *Denial) {
		return "", &Denial{Who: who.Login, Event: event, Why: why, Setting: setting}
	}
	// People and bots can have the same names, so the type of the account is
	// checked before any list.
	bare := func(login string) string { return strings.TrimSuffix(strings.ToLower(login), "[bot]") }
	login := strings.ToLower(who.Login)
	if strings.EqualFold(who.Type, "Bot") || bare(login) != login || login == "gitea-actions" { // Gitea does not report the type
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

// canWrite reports whether a permission is write or higher; "owner" is Gitea's.
func canWrite(level string) bool {
	return slices.Contains([]string{"write", "maintain", "admin", "owner"}, level)
}

// IsCheckoutTrusted reports whether agents may obey settings, hooks and instructions of the checkout
// where trust-checkout doesn't decide. They may not on events from forks or of people without write
// permission, and if the origin of the code is unknown. lowest is the result of Authorize.
func IsCheckoutTrusted(e Event, lowest string) bool {
	return !e.Code.Fork && e.Code.Known && (lowest == "" || canWrite(lowest))
}
