package ask

import (
	"context"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

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
