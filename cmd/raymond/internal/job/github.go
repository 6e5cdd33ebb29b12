package job

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// GitHub asks the REST API who may do what, and where a pull request is from.
// It also reads and writes what is said on issues. Each request takes 10 s at most; those about what is said are made once, and
// whether to make one again is the caller's to decide. Errors of those are *forge.Error.
type GitHub struct{ api *forge.Client }

// NewGitHub asks through a client, about its repository.
func NewGitHub(api *forge.Client) *GitHub { return &GitHub{api} }

// Permission implements Permissions.
func (g *GitHub) Permission(ctx context.Context, login string) (string, error) {
	var answer struct{ Permission string }
	err := g.ask(ctx, "ask for a permission", "collaborators/"+url.PathEscape(login)+"/permission", &answer)
	if err == nil && answer.Permission == "" {
		err = errors.New("the API names no permission")
	}
	return answer.Permission, err
}

// FindHead completes an event on a pull request whose payload doesn't tell where
// the code is from, such as a comment. It needs pull-requests: read; on an error
// the event stays as it is.
func (g *GitHub) FindHead(ctx context.Context, e *Event) error {
	if e.Code.Known || e.Kind != KindPullRequest {
		return nil
	}
	var pr pull
	if err := g.ask(ctx, fmt.Sprintf("look up pull request %d", e.Number), fmt.Sprintf("pulls/%d", e.Number), &pr); err != nil {
		return err
	}
	if e.Code = (CodeSource{Known: true, Fork: pr.isFork()}); !e.Code.Fork {
		e.Code.Head = pr.head().Ref
	}
	return nil
}

// CurrentHead returns the commit that the head branch of a pull request points to now.
func (g *GitHub) CurrentHead(ctx context.Context, number int) (string, error) {
	var pr pull
	err := g.ask(ctx, fmt.Sprintf("look up pull request %d", number), fmt.Sprintf("pulls/%d", number), &pr)
	return pr.head().SHA, err
}

// IsPrivate reports whether the repository is private, for events that don't say.
// The token needs no permission for it beyond metadata, which each has.
func (g *GitHub) IsPrivate(ctx context.Context) (bool, error) {
	var repo struct{ Private bool }
	err := g.ask(ctx, "look up the repository", "", &repo)
	return repo.Private, err
}

// ask makes a request, and adds to its error what the token may lack.
func (g *GitHub) ask(ctx context.Context, op, path string, to any) error {
	_, err := g.api.Do(ctx, forge.Quick, forge.Request{Op: op, Path: path, To: to})
	var e *forge.Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case e.Status == http.StatusUnauthorized:
		return fmt.Errorf("the API does not accept github-token: %w", err)
	case e.Kind == forge.Denied:
		return fmt.Errorf("github-token may not ask the API for it, which on Gitea only an administrator's may: %w", err)
	case e.Kind == forge.Missing:
		return fmt.Errorf("the API knows no such person, or github-token can't see this repository: %w", err)
	case e.Status == 0:
		return fmt.Errorf("the API can't be reached: %w", err)
	}
	return err
}

// dispatchInput is the input of the workflow that has the key of the run to continue.
const dispatchInput = "raymond-key"

// Dispatch starts a workflow on a branch or a tag, to continue the run of a key. It makes one request, and never another one, since a second might
// start the workflow twice.
func (g *GitHub) Dispatch(ctx context.Context, file, ref, key string) error {
	_, err := g.api.Do(ctx, forge.Once, forge.Request{
		Op: "start the workflow again", Method: http.MethodPost, Path: "actions/workflows/" + file + "/dispatches",
		Body: map[string]any{"ref": ref, "inputs": map[string]string{dispatchInput: key}},
	})
	var told *forge.Error
	switch {
	case !errors.As(err, &told):
		return err
	case told.Status == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w; %s needs the trigger workflow_dispatch with the input %s, on the default branch and on %q", err, file, dispatchInput, ref)
	case told.Kind == forge.Denied:
		return fmt.Errorf("%w; give the job permissions: actions: write", err)
	case told.Kind == forge.Missing:
		return fmt.Errorf("%w; %s has to be on the default branch, and the job needs permissions: actions: write", err, file)
	case told.Kind == forge.Unanswered:
		return fmt.Errorf("%w; it may have been started all the same", err)
	}
	return err
}
