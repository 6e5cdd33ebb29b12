// Package examples contains the example workflows, which are built into the program.
package examples

import "embed"

// Files contains a folder for each example, with its states, its workflow file and its other files.
//
//go:embed quickstart issue-to-pr scheduled-poll resume-across-jobs ralph review-loop plan-implement-review approve-plan fan-out watch-checks second-opinion
var Files embed.FS
