package gemini

import (
	"encoding/json"
	"maps"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// maxSettings is the maximum size of a settings file in bytes.
const maxSettings = 1 << 20

// authVar is the environment variable that contains the CLI's login method. The settings refer to
// it.
const authVar = "RAYMOND_GEMINI_AUTH"

// authByKey is the login method that uses a key of the Gemini API.
const authByKey = "gemini-api-key"

// maxAttempts is how often the CLI sends a request that fails. Three attempts take about 15 s.
// Retries by the CLI keep the work of the turn, which is lost if the invocation is retried. But
// with the CLI's default of 10 attempts, minutes would pass before the run can handle the error:
// with a back-off, the ledger, and usage limits.
const maxAttempts = 3

// requiredSettings returns the settings for a run, which override the user's settings.
func (h home) requiredSettings() map[string]any {
	return map[string]any{
		"general": map[string]any{
			// The CLI would otherwise delete old conversations, and even a conversation that
			// another process has just started.
			"sessionRetention": map[string]any{"enabled": false},
			"maxAttempts":      maxAttempts,
			// The version of the CLI must not change during a run.
			"enableAutoUpdate": false, "enableAutoUpdateNotification": false,
		},
		"privacy": map[string]any{"usageStatisticsEnabled": false},
		"security": map[string]any{
			"auth": map[string]any{"selectedType": "${" + authVar + "}"},
			// GEMINI_CLI_TRUST_WORKSPACE decides whether the directory is trusted. If this setting
			// were enabled, the CLI would not start in a directory that is not trusted.
			"folderTrust": map[string]any{"enabled": false},
		},
		// A .env file of the checkout could make the CLI send the key to another server.
		"advanced": map[string]any{"ignoreLocalEnv": true},
		// A prompt may contain the text of an issue. For an @name in it, the CLI would search for a
		// file with a similar name and attach it.
		"context":      map[string]any{"fileFiltering": map[string]any{"enableRecursiveFileSearch": false}},
		"tools":        map[string]any{"shell": map[string]any{"enableInteractiveShell": false}},
		"experimental": map[string]any{"adk": map[string]any{"agentSessionNoninteractiveEnabled": false}, "autoMemory": false},
		"ide":          map[string]any{"enabled": false},
	}
}

// userSettings returns the settings in the user's settings file, or nil if the file does not exist.
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

// userAuth returns the login method in the user's settings, or "" if they don't contain one.
func (h home) userAuth() string {
	user, _ := h.userSettings()
	security, _ := user["security"].(map[string]any)
	auth, _ := security["auth"].(map[string]any)
	kind, _ := auth["selectedType"].(string)
	return kind
}

// mergeSettings merges the settings in first and second recursively. Values in second take precedence.
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

// commentOrString matches comments, which the CLI allows in its settings. It also matches strings,
// so that "//" in a string is not mistaken for a comment.
var commentOrString = text.Regexp(`(?s)("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/`)
