package job

import (
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
)

// APIKey is what the API of an agent CLI takes from a job.
type APIKey struct {
	Text    string // "" for none
	IsToken bool   // of a subscription, not an API key
}

// vendor is what a job may say of the API of an agent CLI.
type vendor struct {
	inputs []string // with its key; the first one that is given counts
	base   string   // variable that names another address for it
}

// vendors are those of the agent CLIs that ask an API, by protocol.Backends.
var vendors = map[string]vendor{
	protocol.BackendClaude: {[]string{inputAnthropicKey, inputClaudeToken}, "ANTHROPIC_BASE_URL"},
	protocol.BackendCodex:  {[]string{inputOpenAIKey}, "OPENAI_BASE_URL"},
	protocol.BackendGemini: {[]string{inputGeminiKey}, "GOOGLE_GEMINI_BASE_URL"},
}

const (
	inputAnthropicKey = "anthropic-api-key"
	inputClaudeToken  = "claude-code-oauth-token"
	inputOpenAIKey    = "openai-api-key"
	inputGeminiKey    = "gemini-api-key"
)

// versions reads the exact versions of agent CLIs that are given, by backend.
func (r *reader) versions() map[string]string {
	given := map[string]string{}
	for backend := range vendors {
		if v := r.value(backend + "-version"); v != "" {
			given[backend] = v
		}
	}
	return given
}

// APIKeyInputs returns the names of the inputs that may have the key of an agent CLI's API,
// none for a CLI that asks none.
func APIKeyInputs(backend string) []string { return slices.Clone(vendors[backend].inputs) }

// BaseURLVariable returns the name of the variable with which the job may name another address
// for the API of an agent CLI; "" for a CLI that asks none.
func BaseURLVariable(backend string) string { return vendors[backend].base }

// ModelKey returns the key that the job has for the API of an agent CLI.
func (s Settings) ModelKey(backend string) APIKey {
	for _, input := range vendors[backend].inputs {
		if text := s.ModelKeys[input]; text != "" {
			return APIKey{text, input == inputClaudeToken}
		}
	}
	return APIKey{}
}
