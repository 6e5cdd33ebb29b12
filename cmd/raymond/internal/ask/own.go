package ask

import (
	"context"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/job"
	"github.com/raymond-action/raymond-action/internal/forge"
)

// account is that of the token, which writes our comments. Anybody can write the text of
// one of ours, but not under our name.
type account struct {
	of    CommentAPI
	login string // "" for not known
}

// wrote returns those of the comments that are ours and begin so. If the service refuses to
// say whose our token is, none is taken for ours.
func (a *account) wrote(ctx context.Context, list []job.Comment, mark string) ([]job.Comment, error) {
	list = slices.DeleteFunc(slices.Clone(list), func(r job.Comment) bool {
		return r.Kind != job.IssueComment || r.ID == 0 || !strings.HasPrefix(r.Body, mark)
	})
	if a.login == "" && len(list) > 0 {
		login, err := a.of.OwnLogin(ctx)
		if forge.IsTemporary(err) {
			return nil, err
		}
		a.login = login
	}
	return slices.DeleteFunc(list, func(r job.Comment) bool { return a.login == "" || r.Author.Login != a.login }), nil
}

// learn notes who has written a comment that was just made.
func (a *account) learn(made job.Comment) {
	if made.Author.Login != "" {
		a.login = made.Author.Login
	}
}
