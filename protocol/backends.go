package protocol

import "slices"

// The agent CLIs that a workflow can choose, with the frontmatter key agent or with the attribute
// agent of a function tag.
const (
	BackendClaude  = "claude"
	BackendCodex   = "codex"
	BackendGemini  = "gemini"
	BackendCommand = "command" // a program that the user names
)

// DefaultBackend is the agent CLI of a run that is started without --agent. Runs that were saved
// before agent CLIs could be chosen use it too.
const DefaultBackend = BackendClaude

// Backends returns the names of all agent CLIs, the default one first.
func Backends() []string {
	return []string{DefaultBackend, BackendCodex, BackendGemini, BackendCommand}
}

// IsBackend reports whether Backends contains name.
func IsBackend(name string) bool { return slices.Contains(Backends(), name) }

// ModelNames describes valid model names in messages.
const ModelNames = "a name of at most 128 letters, digits and . _ : / @ [ ] -, the first of which is a letter or a digit"

// modelName matches the names that ModelNames describes.
var modelName = pattern(`^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,127}$`)

// IsModel reports whether a text can be the name of a model. The check is strict because an agent
// may have written the name, and because the name becomes an argument of an agent CLI.
func IsModel(name string) bool { return modelName().MatchString(name) }
