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

// maxAuthors is the maximum number of accounts whose permission one step looks up.
const maxAuthors = 100

// mayAnswer reports whether an account may answer a question. If the account may not, mayAnswer writes a
// warning. It returns an error only if the forge doesn't respond at the moment.
func (r *threadReader) mayAnswer(ctx context.Context, q *question, who job.Account) (bool, error) {
	if AuthorMayAnswer(&q.Question) {
		author, isKnown := r.authors[r.number]
		if !isKnown {
			var err error
			if author, err = r.o.API.IssueAuthor(ctx, r.number); forge.IsTemporary(err) {
				return false, err
			}
			r.authors[r.number] = author
		}
		if IsAuthor(author, who) {
			return true, nil
		}
	}
	if len(q.From) > 0 && !isFrom(&q.Question, who.Login) {
		r.warnOnce(fmt.Sprintf("the answer of %s to question %d does not count: the question is for other people", who.Login, q.Number))
		return false, nil
	}
	name := who.Login + "/" + who.Type
	denied, isKnown := r.denials[name]
	if !isKnown {
		if len(r.denials) >= maxAuthors {
			r.warnOnce(fmt.Sprintf("more than %d people have tried to answer; this step ignores the others", maxAuthors))
			return false, nil
		}
		denied = r.o.AuthorizeAnswer(ctx, who)
		if denied != nil && denied.IsTemporary {
			return false, &forge.Error{Op: "look up who may answer", Err: denied}
		}
		r.denials[name] = denied
	}
	if denied != nil {
		r.warnOnce(fmt.Sprintf("an answer to question %d does not count: %s", q.Number, denied))
	}
	return denied == nil, nil
}

// AuthorMayAnswer reports whether the author of the issue may answer a question without having the
// permission to start the run.
func AuthorMayAnswer(q *state.Question) bool {
	const author = "author" // the word in From for the author of the issue
	return q.Untrusted && isFrom(q, author)
}

// IsAuthor reports whether who is the author of an issue and not a bot.
func IsAuthor(author, who job.Account) bool {
	return who.Login != "" && strings.EqualFold(author.Login, who.Login) && !strings.EqualFold(who.Type, "Bot")
}

// isFrom reports whether the from list of a question contains an account.
func isFrom(q *state.Question, login string) bool {
	return slices.ContainsFunc(q.From, func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), login) })
}

// account is the account of the token, which writes our comments. Anyone can copy the text of these
// comments, but only this account can write comments under its name.
type account struct {
	api   CommentAPI
	login string // empty until it is known
}

// ownComments returns the comments in list that our account has written and that begin with mark.
// If the forge does not tell which account the token belongs to, it returns no comments.
func (a *account) ownComments(ctx context.Context, list []job.Comment, mark string) ([]job.Comment, error) {
	list = slices.DeleteFunc(slices.Clone(list), func(r job.Comment) bool {
		return r.Kind != job.IssueComment || r.ID == 0 || !strings.HasPrefix(r.Body, mark)
	})
	if a.login == "" && len(list) > 0 {
		login, err := a.api.OwnLogin(ctx)
		if forge.IsTemporary(err) {
			return nil, err
		}
		a.login = login
	}
	return slices.DeleteFunc(list, func(r job.Comment) bool { return a.login == "" || r.Author.Login != a.login }), nil
}

// learn sets the account's login to the author of a comment that this process has just created.
func (a *account) learn(created job.Comment) {
	if created.Author.Login != "" {
		a.login = created.Author.Login
	}
}
