package protocol

import (
	"slices"
	"strings"
)

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

// IsModel reports whether a text can be the name of a model. It ends up on the command line of an
// agent CLI, and an agent may have written it.
func IsModel(name string) bool {
	const most = 128
	isPlain := func(r rune) bool { return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
	return name != "" && len(name) <= most && isPlain(rune(name[0])) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !isPlain(r) && !strings.ContainsRune("._:/@[]-", r) })
}
