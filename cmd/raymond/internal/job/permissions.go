package job

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/google/go-github/v60/github"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// GitHub asks the REST API who may do what, and where a pull request is from.
// Each question takes 10 s at most.
type GitHub struct{ api *forge.Client }

// NewGitHub asks through a client, about its repository.
func NewGitHub(api *forge.Client) *GitHub { return &GitHub{api} }

// Permission implements Permissions.
func (g *GitHub) Permission(ctx context.Context, login string) (string, error) {
	var level string
	err := g.ask(ctx, "ask for a permission", func(ctx context.Context, gh *github.Client, owner, name string) (*github.Response, error) {
		answer, resp, err := gh.Repositories.GetPermissionLevel(ctx, owner, name, url.PathEscape(login))
		level = answer.GetPermission()
		return resp, err
	})
	if err == nil && level == "" {
		err = errors.New("the API names no permission")
	}
	return level, err
}

// FindHead completes an event on a pull request whose payload doesn't tell where
// the code is from, such as a comment. It needs pull-requests: read; on an error
// the event stays as it is.
func (g *GitHub) FindHead(ctx context.Context, e *Event) error {
	if e.Code.Known || e.Kind != KindPullRequest {
		return nil
	}
	var head, base int64
	var branch string
	err := g.ask(ctx, fmt.Sprintf("look up pull request %d", e.Number), func(ctx context.Context, gh *github.Client, owner, name string) (*github.Response, error) {
		pr, resp, err := gh.PullRequests.Get(ctx, owner, name, e.Number)
		head, base = pr.GetHead().GetRepo().GetID(), pr.GetBase().GetRepo().GetID()
		branch = pr.GetHead().GetRef()
		return resp, err
	})
	if err != nil {
		return err
	}
	e.Code.Fork, e.Code.Known = head == 0 || head != base, true
	if !e.Code.Fork {
		e.Code.Head = branch
	}
	return nil
}

// Private reports whether the repository is private, for events that don't say.
// The token needs no permission for it beyond metadata, which each has.
func (g *GitHub) Private(ctx context.Context) (bool, error) {
	private := false
	err := g.ask(ctx, "look up the repository", func(ctx context.Context, gh *github.Client, owner, name string) (*github.Response, error) {
		repo, resp, err := gh.Repositories.Get(ctx, owner, name)
		private = repo.GetPrivate()
		return resp, err
	})
	return private, err
}

// ask makes a request, and adds to its error what the token may lack.
func (g *GitHub) ask(ctx context.Context, op string, request forge.Request) error {
	err := g.api.Do(ctx, forge.Quick, op, request)
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
	event := github.CreateWorkflowDispatchEventRequest{Ref: ref, Inputs: map[string]any{dispatchInput: key}}
	err := g.api.Do(ctx, forge.Once, "start the workflow again", func(ctx context.Context, gh *github.Client, owner, name string) (*github.Response, error) {
		return gh.Actions.CreateWorkflowDispatchEventByFileName(ctx, owner, name, file, event)
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
