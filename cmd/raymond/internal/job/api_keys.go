package job

import (
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// keyInputs returns the inputs for the API keys of all agent CLIs.
func keyInputs() (list []InputSpec) {
	for _, cli := range clis.All {
		for _, key := range cli.Access.Keys {
			list = append(list, InputSpec{Name: key.Input, check: isToken, Secret: true, Text: key.Text})
		}
	}
	return list
}

// APIKeyInputs returns the names of the inputs for the API key of an agent CLI. It returns none if the
// CLI uses no API.
func APIKeyInputs(backend string) (names []string) {
	for _, key := range clis.Find(backend).Access.Keys {
		names = append(names, key.Input)
	}
	return names
}

// ModelKey returns the credential that the inputs set for the API of an agent CLI. Its Text is empty if
// no credential is set.
func (s Settings) ModelKey(backend string) keyproxy.Credential {
	for _, key := range clis.Find(backend).Access.Keys {
		if text := s.ModelKeys[key.Input]; text != "" {
			return keyproxy.Credential{Text: text, IsToken: key.IsToken}
		}
	}
	return keyproxy.Credential{}
}
