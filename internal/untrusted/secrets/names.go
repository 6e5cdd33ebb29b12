package secrets

import (
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// secretForm matches names of variables that contain secrets. It matches too many names rather than too few,
// because showing a secret does more harm than masking a harmless value.
var secretForm = text.Regexp(`KEY|TOKEN|SECRET|PASSW|PASSPHRASE|PASSCODE|_PASS|CREDENTIAL|AUTH|COOKIE|WEBHOOK|CONNECTION_?STRING|CONNSTR` +
	`|OTLP_(?:TRACES_|METRICS_|LOGS_)?HEADERS` +
	// Only whole words match here, because these letters also occur in PATH and OLDPWD.
	`|(?:^|_)(?:PAT|CREDS|PRIVATE|JWT|BEARER)(?:_|$)|(?:DSN|PWD|PASS)(?:_|$)`)

// These names, and names with these words, only look like names of secrets. Their values are not masked,
// because logs and commands need them.
var (
	harmlessNames = []string{"SSH_AUTH_SOCK", "PWD"}
	harmlessWords = []string{
		"AUTHOR", "AUTHORS", "AUTHORITY", "XAUTHORITY", "OLDPWD", "ASKPASS", "BYPASS", "COMPASS",
		"MONKEY", "TURKEY", "DONKEY", "HOCKEY", "HOTKEY", "HOTKEYS", "KEYBOARD", "KEYMAP", "KEYWORD", "KEYWORDS",
		"TOKENIZER", "TOKENIZERS",
	}
)

// withheldForm matches variables with which a process could attack the job's services, its outputs or its
// later steps. It also matches the model's API key, which processes don't need because a proxy adds it to
// requests. If a script of another run has started this program, the RAYMOND_VAR_ variables contain values for
// that run. They don't apply to the run of this program.
var withheldForm = text.Regexp(`(?s)^(?:ACTIONS_.*|INPUT_.*|RAYMOND_VAR_.*|RAYMOND_STATE_KEY|ANTHROPIC_API_KEY|CLAUDE_CODE_OAUTH_TOKEN` +
	// Variables with the paths of files in which a step writes commands for its runner. Each kind of
	// runner has its own names for these variables.
	`|(?:GITHUB|GITEA|FORGEJO)_(?:OUTPUT|ENV|PATH|STATE|STEP_SUMMARY|ARTIFACTS)` +
	// Variables with credentials for the trace collector. With these, anyone can write arbitrary traces.
	`|OTEL_EXPORTER_OTLP_(?:TRACES_|METRICS_|LOGS_)?(?:HEADERS|CLIENT_KEY))$`)

// IsSecret reports whether the value of a variable with this name is treated as a secret, which is never
// shown. The case of the name doesn't matter.
func IsSecret(name string) bool {
	name = strings.ToUpper(name)
	if slices.Contains(harmlessNames, name) {
		return false
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-. ", r) })
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(harmlessWords, word) })
	return strings.HasPrefix(name, "ACTIONS_") || secretForm().MatchString(strings.Join(words, "_"))
}

// IsWithheld reports whether a variable with this name is never passed to a process of a workflow, even if
// the workflow names the variable. The case of the name doesn't matter. Not every withheld value is a
// secret: some are paths of files.
func IsWithheld(name string) bool {
	return withheldForm().MatchString(strings.ToUpper(name))
}
