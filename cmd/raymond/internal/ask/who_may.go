package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
	"github.com/raymond-action/raymond-action/state"
)

// maxAuthors is of how many people a step asks for a permission at most.
const maxAuthors = 100

// may reports whether somebody may answer a question. An error says that this can't be
// found out by now.
func (r *reading) may(ctx context.Context, q *question, who job.Account) (bool, error) {
	if AuthorMayAnswer(&q.Question) {
		author, err := r.author(ctx)
		if err != nil {
			return false, err
		}
		if IsAuthor(author, who) {
			return true, nil
		}
	}
	if len(q.From) > 0 && !isFrom(&q.Question, who.Login) {
		r.tell(fmt.Sprintf("an answer of %s to question %d does not count: it is for others", who.Login, q.Number))
		return false, nil
	}
	name := who.Login + "/" + who.Type
	denied, isKnown := r.denied[name]
	if !isKnown {
		if len(r.denied) >= maxAuthors {
			r.tell(fmt.Sprintf("more than %d people have tried to answer; the answers of the others are not looked at in this step", maxAuthors))
			return false, nil
		}
		denied = r.o.AuthorizeAnswer(ctx, who)
		if denied != nil && denied.IsTemporary {
			return false, &forge.Error{Op: "ask who may answer", Err: denied}
		}
		r.denied[name] = denied
	}
	if denied != nil {
		r.tell(fmt.Sprintf("an answer to question %d does not count: %s", q.Number, denied))
	}
	return denied == nil, nil
}

// author is who has opened the issue; nobody where the forge refuses to say.
func (r *reading) author(ctx context.Context) (job.Account, error) {
	if a, isKnown := r.authors[r.number]; isKnown {
		return a, nil
	}
	a, err := r.o.API.IssueAuthor(ctx, r.number)
	if forge.IsTemporary(err) {
		return a, err
	}
	r.authors[r.number] = a
	return a, nil
}

// AuthorMayAnswer reports whether whoever has opened the issue may answer a question, without
// permission to start the run.
func AuthorMayAnswer(q *state.Question) bool {
	const author = "author" // stands in From for whoever that is
	return q.Untrusted && isFrom(q, author)
}

// IsAuthor reports whether somebody, who is no bot, is the author of an issue.
func IsAuthor(author, who job.Account) bool {
	return who.Login != "" && strings.EqualFold(author.Login, who.Login) && !strings.EqualFold(who.Type, "Bot")
}

// isFrom reports whether a question is for somebody.
func isFrom(q *state.Question, login string) bool {
	return slices.ContainsFunc(q.From, func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), login) })
}
