package job

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// ofNobody are the events that only somebody with write permission can cause.
var ofNobody = map[string]bool{
	"schedule": true, "workflow_dispatch": true, "repository_dispatch": true, "push": true, "merge_group": true,
}

// ofPeople are the events of people, who have to be allowed to start a run. An event
// that is in neither table is refused unless it is allowed by name.
var ofPeople = map[string]bool{
	"issues": true, "issue_comment": true, "discussion": true, "discussion_comment": true, "commit_comment": true,
	"pull_request": true, "pull_request_target": true, "pull_request_review": true,
	"pull_request_review_comment": true, "pull_request_comment": true,
	"create": true, "delete": true, "fork": true, "gollum": true, "label": true, "milestone": true,
	"release": true, "watch": true, "workflow_run": true,
}

// notFromForks are the events that run with secrets even if they are about the code of
// a stranger.
var notFromForks = map[string]bool{"pull_request_target": true, "workflow_run": true}

// Rules are what a workflow's author allows beyond the defaults.
type Rules struct {
	AllowActors []string `input:"allow-actors"` // logins of people
	AllowBots   []string `input:"allow-bots"`   // logins of bots, with or without [bot]; "*" for all
	AllowEvents []string `input:"allow-events"` // names of events
}

// Permissions tells what somebody may do in the repository.
type Permissions interface {
	// Permission is "admin", "maintain", "write", "triage", "read" or "none".
	Permission(ctx context.Context, login string) (string, error)
}

// Denial is why a run may not start.
type Denial struct {
	Who     string // login; "" when it is not about a person
	Event   string
	Why     string
	Setting string // the input that allows it
	// IsTemporary says that nobody denied it: the permission could not be asked for, and
	// at another time it may be.
	IsTemporary bool
}

// Remedy says what would allow it.
func (d *Denial) Remedy() string {
	return fmt.Sprintf("not allowed; to allow it, add %s to the input %s", cmp.Or(shorten(d.Who), d.Event), d.Setting)
}

// Error is the denial in one line, without its setting.
func (d *Denial) Error() string {
	if d.Who == "" {
		return fmt.Sprintf("event %s: %s", d.Event, d.Why)
	}
	return fmt.Sprintf("%s (event %s): %s", shorten(d.Who), d.Event, d.Why)
}

// Authorize says whether the event may start a run: nil if so. Then lowest is the lowest permission of the people who
// caused it, "none" if it could not be told, and "" if it was caused by no person. What can't be found out
// is denied. The rules are in docs/inputs.md.
func Authorize(ctx context.Context, rules Rules, e Event, ask Permissions) (lowest string, _ *Denial) {
	if d := refused(rules, e); d != nil || ofNobody[e.Name] {
		return "", d
	}
	people, d := causes(e)
	if d != nil {
		return "", d
	}
	for _, who := range people {
		level, d := rules.admit(ctx, e.Name, who, ask)
		if d != nil {
			return "", d
		}
		if lowest == "" || level != "" && !canWrite(level) { // it allows less; "" allows what another does
			lowest = level
		}
	}
	return lowest, nil
}

// AuthorizeAnswer says whether somebody may answer a question of a run: nil if they may start
// it. The permission is asked for as Authorize asks for that of an event's sender.
func AuthorizeAnswer(ctx context.Context, rules Rules, who Account, ask Permissions) *Denial {
	if who.Login == "" {
		return &Denial{Event: "answer", Why: "it is not known who wrote it", Setting: "allow-actors"}
	}
	_, denied := rules.admit(ctx, "answer", who, ask)
	return denied
}

// refused says why the event itself can't start a run; nil when it may.
func refused(rules Rules, e Event) *Denial {
	if slices.Contains(rules.AllowEvents, e.Name) {
		return nil
	}
	if !ofNobody[e.Name] && !ofPeople[e.Name] {
		return &Denial{Event: e.Name, Why: "it is not known who can cause this event", Setting: "allow-events"}
	}
	if notFromForks[e.Name] && e.Code.Fork {
		why := "it comes from a fork, and would run with this repository's secrets"
		return &Denial{Event: e.Name, Why: why, Setting: "allow-events"}
	}
	return nil
}

// causes are those who caused an event of people.
func causes(e Event) ([]Account, *Denial) {
	all := append([]Account{e.Sender}, e.UpstreamActors...)
	if e.Attempt > 1 && (e.TriggeringActor != "" || !e.IsGitea) {
		all = append(all, Account{Login: e.TriggeringActor})
	}
	if e.Sender.Login == "" && !ofPeople[e.Name] {
		all = all[1:] // an event allowed by name that nobody sent
	}
	if slices.ContainsFunc(all, func(a Account) bool { return a.Login == "" }) {
		return nil, &Denial{Event: e.Name, Why: "it is not known who caused it", Setting: "allow-events"}
	}
	return all, nil
}

// admit returns the permission of somebody who may start the run; "" for a bot.
func (r Rules) admit(ctx context.Context, event string, who Account, ask Permissions) (string, *Denial) {
	deny := func(why, setting string) (string, *Denial) {
		return "", &Denial{Who: who.Login, Event: event, Why: why, Setting: setting}
	}
	// A person can have a bot's name, and a bot a person's: so the type of the account
	// is looked at before any list.
	bare := func(login string) string { return strings.TrimSuffix(strings.ToLower(login), "[bot]") }
	login := strings.ToLower(who.Login)
	if strings.EqualFold(who.Type, "Bot") || bare(login) != login || login == "gitea-actions" { // Gitea does not say the type
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
		level, d := deny("it could not be found out whether they have write permission: "+err.Error(), "allow-actors")
		d.IsTemporary = forge.IsTemporary(err)
		return level, d
	}
	return deny(fmt.Sprintf("has the permission %q, and needs write", shorten(level)), "allow-actors")
}

// canWrite reports whether a permission is write or more; "owner" is Gitea's.
func canWrite(level string) bool {
	return slices.Contains([]string{"write", "maintain", "admin", "owner"}, level)
}

// IsCheckoutTrusted says whether settings, hooks and instructions of the checkout may be
// obeyed, unless trust-checkout says so: not on events from forks, of people
// without write permission, or where it is not known whose code it is. lowest is what
// Authorize returns.
func IsCheckoutTrusted(e Event, lowest string) bool {
	return !e.Code.Fork && e.Code.Known && (lowest == "" || canWrite(lowest))
}
