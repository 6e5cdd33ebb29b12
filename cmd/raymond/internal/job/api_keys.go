package job

import (
	"slices"

	"github.com/raymond-action/raymond-action/protocol"
)

// APIKey is a credential with which an agent CLI uses the API of its vendor.
type APIKey struct {
	Text    string // empty if no credential is set
	IsToken bool   // a subscription token instead of an API key
}

// vendor describes how a job configures the API of an agent CLI.
type vendor struct {
	inputs []string // names of the inputs for the key, in the order of precedence
	base   string   // environment variable that sets another URL of the API
}

// vendors describes the APIs of agent CLIs that use one. The keys are elements of protocol.Backends.
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

// APIKeyInputs returns the names of the inputs for the API key of an agent CLI. It returns none if the
// CLI uses no API.
func APIKeyInputs(backend string) []string { return slices.Clone(vendors[backend].inputs) }

// BaseURLVariable returns the name of the environment variable that sets another URL for an agent CLI's
// API. It returns "" if the CLI uses no API.
func BaseURLVariable(backend string) string { return vendors[backend].base }

// ModelKey returns the credential that the inputs set for the API of an agent CLI. Its Text is empty if
// no credential is set.
func (s Settings) ModelKey(backend string) APIKey {
	for _, input := range vendors[backend].inputs {
		if text := s.ModelKeys[input]; text != "" {
			return APIKey{text, input == inputClaudeToken}
		}
	}
	return APIKey{}
}
