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

// ModelNames says how the names of models are written.
const ModelNames = "a name of at most 128 letters, digits and . _ : / @ [ ] -, the first of which is a letter or a digit"

// modelName is as ModelNames says.
var modelName = pattern(`^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,127}$`)

// IsModel reports whether a text can be the name of a model. It ends up on the command line of an
// agent CLI, and an agent may have written it.
func IsModel(name string) bool { return modelName().MatchString(name) }
