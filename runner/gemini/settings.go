package gemini

import (
	"encoding/json"
	"maps"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// maxSettings is the maximum size of a settings file in bytes.
const maxSettings = 1 << 20

// authVar is the variable that the settings refer to for the CLI's login method.
const authVar = "RAYMOND_GEMINI_AUTH"

// authByKey is the CLI's login method with a key of the Gemini API.
const authByKey = "gemini-api-key"

// maxAttempts is how often the CLI sends a request. Three failing attempts take about 15 s. The
// CLI's own retries keep the work of the turn, which a retry of the invocation would lose; but with
// its default of 10 it would spend minutes before the run's own policy (backoff, ledger, usage
// limits) sees the error.
const maxAttempts = 3

// requiredSettings returns the settings that override the user's for a run.
func (h home) requiredSettings() map[string]any {
	return map[string]any{
		"general": map[string]any{
			// Retention would delete conversations that another process has just started.
			"sessionRetention": map[string]any{"enabled": false},
			"maxAttempts":      maxAttempts,
			// The version must not change during a run.
			"enableAutoUpdate": false, "enableAutoUpdateNotification": false,
		},
		"privacy": map[string]any{"usageStatisticsEnabled": false},
		"security": map[string]any{
			"auth": map[string]any{"selectedType": "${" + authVar + "}"},
			// GEMINI_CLI_TRUST_WORKSPACE decides which files are obeyed. With this setting the CLI
			// would also refuse to start in an untrusted folder.
			"folderTrust": map[string]any{"enabled": false},
		},
		// A .env file of the checkout could redirect the key to another server.
		"advanced": map[string]any{"ignoreLocalEnv": true},
		// For an @name in a prompt, which may be text of an issue, the CLI would search for a
		// matching file and attach it.
		"context":      map[string]any{"fileFiltering": map[string]any{"enableRecursiveFileSearch": false}},
		"tools":        map[string]any{"shell": map[string]any{"enableInteractiveShell": false}},
		"experimental": map[string]any{"adk": map[string]any{"agentSessionNoninteractiveEnabled": false}, "autoMemory": false},
		"ide":          map[string]any{"enabled": false},
	}
}

// settings returns the user's settings, overridden by the required ones, and a note if the user's
// settings could not be read.
func (h home) settings() (content []byte, note string) {
	user, err := h.userSettings()
	if err != nil {
		note = "the settings of Gemini CLI could not be read and are ignored: " + err.Error()
	}
	content, err = json.MarshalIndent(mergeSettings(user, h.requiredSettings()), "", "  ")
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return content, note
}

// userSettings returns the settings in the user's own file; nil if there is no file.
func (h home) userSettings() (map[string]any, error) {
	path := h.userPath("settings.json")
	if !exists(path) {
		return nil, nil
	}
	data, err := files.ReadTarget(path, maxSettings)
	if err != nil {
		return nil, err
	}
	var user map[string]any
	return user, json.Unmarshal(commentOrString().ReplaceAll(data, []byte("$1")), &user)
}

// userAuth returns the login method in the user's settings; "" for none.
func (h home) userAuth() string {
	user, _ := h.userSettings()
	security, _ := user["security"].(map[string]any)
	auth, _ := security["auth"].(map[string]any)
	kind, _ := auth["selectedType"].(string)
	return kind
}

// mergeSettings merges settings recursively; values of second take precedence.
func mergeSettings(first, second map[string]any) map[string]any {
	all := maps.Clone(first)
	if all == nil {
		all = map[string]any{}
	}
	for name, value := range second {
		group, isGroup := value.(map[string]any)
		if was, ok := all[name].(map[string]any); ok && isGroup {
			value = mergeSettings(was, group)
		}
		all[name] = value
	}
	return all
}

// commentOrString matches comments, which the CLI allows in its settings, and strings, in which
// "//" is not a comment.
var commentOrString = text.Regexp(`(?s)("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/`)
