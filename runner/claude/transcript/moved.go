package transcript

import (
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/transcripts"
)

// Mark is runner.Mark, for callers that have not moved to runner.Transcripts.
type Mark = runner.Mark

// MarkOf is transcripts.MarkOf, for the same callers.
func MarkOf(path string) (Mark, error) { return transcripts.MarkOf(path) }
