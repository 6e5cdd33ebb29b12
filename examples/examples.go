// Package examples holds the workflows that come with the action.
package examples

import "embed"

// Files has a folder for each example: its states, its workflow file and what
// else lies there.
//
//go:embed quickstart issue-to-pr scheduled-poll resume-across-jobs ralph review-loop plan-implement-review approve-plan fan-out watch-checks second-opinion
var Files embed.FS
