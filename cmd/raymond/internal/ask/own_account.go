package ask

import (
	"context"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// account is the account of the token, which writes our comments. Anyone can copy the text of our
// comments, but not write it under our name.
type account struct {
	api   CommentAPI
	login string // "" while unknown
}

// ownComments returns the comments in list that our account has written and that begin with mark.
// If the forge refuses to name the token's account, it returns none.
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

// learn records the author of a comment that we have just created.
func (a *account) learn(created job.Comment) {
	if created.Author.Login != "" {
		a.login = created.Author.Login
	}
}
