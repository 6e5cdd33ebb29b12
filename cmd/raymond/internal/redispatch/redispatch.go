// Package redispatch starts a workflow again, so that another job continues the run that
// the deadline of this one has suspended.
package redispatch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"

	"github.com/google/go-github/v60/github"

	"github.com/raymond-action/raymond-action/internal/forge"
)

// Input is the input of the workflow that has the key of the run to continue.
const Input = "raymond-key"

// Order is the start of a workflow.
type Order struct {
	Workflow string // its file, with or without its folder
	Ref      string // the branch or the tag to start it on
	Key      string // of the run to continue
}

// Start starts a workflow. It makes one request, of 10 s at most, and never another one,
// since a second might start the workflow twice. Its error is an *Error.
func Start(ctx context.Context, api *forge.Client, o Order) error {
	event := github.CreateWorkflowDispatchEventRequest{Ref: o.Ref, Inputs: map[string]any{Input: o.Key}}
	err := api.Do(ctx, forge.Once, "start the workflow again", func(ctx context.Context, gh *github.Client, owner, name string) (*github.Response, error) {
		return gh.Actions.CreateWorkflowDispatchEventByFileName(ctx, owner, name, path.Base(o.Workflow), event)
	})
	if err != nil {
		return &Error{Order: o, Err: err}
	}
	return nil
}

// Error says why a workflow was not started, or perhaps not.
type Error struct {
	Order Order
	Err   error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Error says in one line what happened and what would help.
func (e *Error) Error() string {
	text := e.Err.Error()
	var told *forge.Error
	if !errors.As(e.Err, &told) {
		return text
	}
	file := path.Base(e.Order.Workflow)
	switch {
	case told.Status == http.StatusUnprocessableEntity:
		return fmt.Sprintf("%s; %s needs the trigger workflow_dispatch with the input %s, on the default branch and on %q", text, file, Input, e.Order.Ref)
	case told.Kind == forge.Denied:
		return text + "; give the job permissions: actions: write"
	case told.Kind == forge.Missing:
		return fmt.Sprintf("%s; %s has to be on the default branch, and the job needs permissions: actions: write", text, file)
	case told.Kind == forge.Unanswered:
		return text + "; it may have been started all the same"
	}
	return text
}
