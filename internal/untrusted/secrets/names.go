package secrets

import (
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// secretForm is what is in the names of variables that hold secrets. Rather a name too many is hidden than one too few.
var secretForm = text.Regexp(`KEY|TOKEN|SECRET|PASSW|PASSPHRASE|PASSCODE|_PASS|CREDENTIAL|AUTH|COOKIE|WEBHOOK|CONNECTION_?STRING|CONNSTR` +
	`|OTLP_(?:TRACES_|METRICS_|LOGS_)?HEADERS` +
	// Within other words these letters are common (PATH, OLDPWD).
	`|(?:^|_)(?:PAT|CREDS|PRIVATE|JWT|BEARER)(?:_|$)|(?:DSN|PWD|PASS)(?:_|$)`)

// harmless are names, and words of names, that look like those of secrets. What they
// hold is needed in logs and by commands.
var (
	harmlessNames = []string{"SSH_AUTH_SOCK", "PWD"}
	harmlessWords = []string{
		"AUTHOR", "AUTHORS", "AUTHORITY", "XAUTHORITY", "OLDPWD", "ASKPASS", "BYPASS", "COMPASS",
		"MONKEY", "TURKEY", "DONKEY", "HOCKEY", "HOTKEY", "HOTKEYS", "KEYBOARD", "KEYMAP", "KEYWORD", "KEYWORDS",
		"TOKENIZER", "TOKENIZERS",
	}
)

// withheldForm is how the variables look by which the job's own services, its outputs and its later steps could be
// turned against it. The model's key is added on the way to the model by a proxy, and the values of an outer run are
// none of an inner one's.
var withheldForm = text.Regexp(`(?s)^(?:ACTIONS_.*|INPUT_.*|RAYMOND_VAR_.*|RAYMOND_STATE_KEY|ANTHROPIC_API_KEY|CLAUDE_CODE_OAUTH_TOKEN` +
	// The files by which a step speaks to its runner; each kind of runner has them under a name of its own, too.
	`|(?:GITHUB|GITEA|FORGEJO)_(?:OUTPUT|ENV|PATH|STATE|STEP_SUMMARY|ARTIFACTS)` +
	// The keys of the collector of traces: who has them could write there what he likes.
	`|OTEL_EXPORTER_OTLP_(?:TRACES_|METRICS_|LOGS_)?(?:HEADERS|CLIENT_KEY))$`)

// IsSecret reports whether the value of a variable of this name, in any case of
// letters, is taken for a secret: it is shown nowhere.
func IsSecret(name string) bool {
	name = strings.ToUpper(name)
	if slices.Contains(harmlessNames, name) {
		return false
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-. ", r) })
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(harmlessWords, word) })
	return strings.HasPrefix(name, "ACTIONS_") || secretForm().MatchString(strings.Join(words, "_"))
}

// IsWithheld reports whether a variable of this name, in any case of letters, is passed
// on to nothing that runs for a workflow, whoever asks for it. Not every such value is
// a secret: the path of a file, for one.
func IsWithheld(name string) bool {
	return withheldForm().MatchString(strings.ToUpper(name))
}
