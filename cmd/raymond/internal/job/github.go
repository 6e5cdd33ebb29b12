package job

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// GitHub makes requests to the forge's REST API about permissions, pull requests and comments. A
// request takes at most 10 s. Requests about comments are not repeated, because the caller decides
// about that; their errors are of type *forge.Error.
type GitHub struct{ api *forge.Client }

// NewGitHub returns a GitHub that makes requests about the client's repository.
func NewGitHub(api *forge.Client) *GitHub { return &GitHub{api} }

// Permission implements Permissions.
func (g *GitHub) Permission(ctx context.Context, login string) (string, error) {
	var answer struct{ Permission string }
	err := g.get(ctx, "look up a permission", "collaborators/"+url.PathEscape(login)+"/permission", &answer)
	if err == nil && answer.Permission == "" {
		err = errors.New("the API names no permission")
	}
	return answer.Permission, err
}

// FindHead sets e.Code if e is about a pull request and the payload doesn't contain the origin of the
// code, as in the event of a comment. It needs the permission pull-requests: read. If it fails, e is
// unchanged.
func (g *GitHub) FindHead(ctx context.Context, e *Event) error {
	if e.Code.Known || e.Kind != KindPullRequest {
		return nil
	}
	var pr pull
	if err := g.get(ctx, fmt.Sprintf("look up pull request %d", e.Number), fmt.Sprintf("pulls/%d", e.Number), &pr); err != nil {
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
	err := g.get(ctx, fmt.Sprintf("look up pull request %d", number), fmt.Sprintf("pulls/%d", number), &pr)
	return pr.head().SHA, err
}

// IsPrivate reports whether the repository is private. It is for events whose payload doesn't contain
// that. It needs only the permission to read metadata, which every token has.
func (g *GitHub) IsPrivate(ctx context.Context) (bool, error) {
	var repo struct{ Private bool }
	err := g.get(ctx, "look up the repository", "", &repo)
	return repo.Private, err
}

// get makes a GET request. If the token may lack a permission, the error mentions that.
func (g *GitHub) get(ctx context.Context, op, path string, to any) error {
	_, err := g.api.Do(ctx, forge.Quick, forge.Request{Op: op, Path: path, To: to})
	var e *forge.Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case e.Status == http.StatusUnauthorized:
		return fmt.Errorf("the API does not accept github-token: %w", err)
	case e.Kind == forge.Denied:
		return fmt.Errorf("github-token may not read this; on Gitea only the token of an administrator may: %w", err)
	case e.Kind == forge.Missing:
		return fmt.Errorf("the API knows no such user, or github-token can't see this repository: %w", err)
	case e.Status == 0:
		return fmt.Errorf("the API can't be reached: %w", err)
	}
	return err
}

// dispatchInput is the workflow's input that names the key of the run to continue.
const dispatchInput = "raymond-key"

// Dispatch starts a workflow on a branch or a tag, to continue the run with the given key. The request
// is never repeated, because the first one may have started the workflow even if it got no response.
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
		return fmt.Errorf("%w; it may have been started nevertheless", err)
	}
	return err
}
