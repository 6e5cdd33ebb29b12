package protocol

import "slices"

// The agent CLIs that a workflow can name, as the key and the attribute agent spell them.
const (
	BackendClaude  = "claude"
	BackendCodex   = "codex"
	BackendGemini  = "gemini"
	BackendCommand = "command" // a program of the user's own
)

// DefaultBackend runs what names no other: states of runs without --agent, and what is in the files
// of programs that knew no other.
const DefaultBackend = BackendClaude

// Backends returns the names of all agent CLIs, the default one first.
func Backends() []string {
	return []string{DefaultBackend, BackendCodex, BackendGemini, BackendCommand}
}

// IsBackend reports whether name is one of Backends.
func IsBackend(name string) bool { return slices.Contains(Backends(), name) }
