package gemini

import (
	"encoding/json"
	"maps"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// maxSettings is how long a file of settings may be, in bytes.
const maxSettings = 1 << 20

// authVar is the variable from which the settings take how the CLI shows who it is.
const authVar = "RAYMOND_GEMINI_AUTH"

// byKey is the CLI's name for a key of the Gemini API.
const byKey = "gemini-api-key"

// attempts is how often the CLI asks the API, which takes some 15 s when each fails. Its own
// retries keep the work of the turn, which a retry of the invocation throws away; with the 10
// of its default it would spend minutes before the run's policy (backoff, ledger, usage limits)
// hears of an error.
const attempts = 3

// always is what must hold for a run, whatever the user's settings say.
func (h home) always() map[string]any {
	return map[string]any{
		"general": map[string]any{
			// It deletes conversations that others are just beginning.
			"sessionRetention": map[string]any{"enabled": false},
			"maxAttempts":      attempts,
			// The version must not change between two states of a run.
			"enableAutoUpdate": false, "enableAutoUpdateNotification": false,
		},
		"privacy": map[string]any{"usageStatisticsEnabled": false},
		"security": map[string]any{
			"auth": map[string]any{"selectedType": "${" + authVar + "}"},
			// GEMINI_CLI_TRUST_WORKSPACE says what is obeyed; with this the CLI would also refuse to
			// start in a folder that it may not trust.
			"folderTrust": map[string]any{"enabled": false},
		},
		// A .env file of the checkout could name another address for the key.
		"advanced": map[string]any{"ignoreLocalEnv": true},
		// An @name in a prompt made of issue text would search for such a file, and attach it.
		"context":      map[string]any{"fileFiltering": map[string]any{"enableRecursiveFileSearch": false}},
		"tools":        map[string]any{"shell": map[string]any{"enableInteractiveShell": false}},
		"experimental": map[string]any{"adk": map[string]any{"agentSessionNoninteractiveEnabled": false}, "autoMemory": false},
		"ide":          map[string]any{"enabled": false},
	}
}

// settings returns the user's settings with what must hold, and a note when theirs could not be
// read.
func (h home) settings() (content []byte, note string) {
	theirs, err := h.userSettings()
	if err != nil {
		note = "the settings of Gemini CLI could not be read, and are not used: " + err.Error()
	}
	content, err = json.MarshalIndent(merge(theirs, h.always()), "", "  ")
	if err != nil {
		panic(err) // it was JSON a moment ago
	}
	return content, note
}

// userSettings returns what the user's own file says; nothing when there is none.
func (h home) userSettings() (map[string]any, error) {
	path := h.theirs("settings.json")
	if !exists(path) {
		return nil, nil
	}
	data, err := files.ReadTarget(path, maxSettings)
	if err != nil {
		return nil, err
	}
	var theirs map[string]any
	return theirs, json.Unmarshal(comment().ReplaceAll(data, []byte("$1")), &theirs)
}

// userAuth is how the user's settings say that the CLI shows who it is; "" for nothing.
func (h home) userAuth() string {
	theirs, _ := h.userSettings()
	security, _ := theirs["security"].(map[string]any)
	auth, _ := security["auth"].(map[string]any)
	kind, _ := auth["selectedType"].(string)
	return kind
}

// merge returns settings in which the second ones count.
func merge(first, second map[string]any) map[string]any {
	all := maps.Clone(first)
	if all == nil {
		all = map[string]any{}
	}
	for name, value := range second {
		group, isGroup := value.(map[string]any)
		if was, ok := all[name].(map[string]any); ok && isGroup {
			value = merge(was, group)
		}
		all[name] = value
	}
	return all
}

// comment finds the comments that the CLI allows in its settings, and the strings, in which there are none.
var comment = text.Regexp(`(?s)("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/`)
