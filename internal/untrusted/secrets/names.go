package secrets

import (
	"slices"
	"strings"
)

// parts are in the names of variables that hold secrets. Rather a name too many is
// hidden than one too few.
var parts = []string{
	"KEY", "TOKEN", "SECRET", "PASSW", "PASSPHRASE", "PASSCODE", "_PASS", "CREDENTIAL", "AUTH", "COOKIE", "WEBHOOK",
	"CONNECTION_STRING", "CONNECTIONSTRING", "CONNSTR", "OTLP_HEADERS", "OTLP_TRACES_HEADERS", "OTLP_METRICS_HEADERS", "OTLP_LOGS_HEADERS",
}

// wholeWords, and words that end with one of endings, are in such names too: within
// other words these letters are common (PATH, OLDPWD).
var (
	wholeWords = []string{"PAT", "PASS", "PWD", "CREDS", "PRIVATE", "DSN", "JWT", "BEARER"}
	endings    = []string{"DSN", "PWD", "PASS"}
)

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

// With these variables the job's own services, its outputs and its later steps could be
// turned against it. The model's key is added on the way to the model by a proxy, and
// the values of an outer run are none of an inner one's. Whoever has the keys of the collector
// of traces could write there what he likes.
var (
	withheldNames = slices.Concat(commandFiles(), collectorKeys(), []string{"RAYMOND_STATE_KEY", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"})
	withheldKinds = []string{"ACTIONS_", "INPUT_", "RAYMOND_VAR_"}
)

// commandFiles are the variables that name the files by which a step speaks to its
// runner. Each kind of runner has them under a name of its own, too.
func commandFiles() []string {
	var names []string
	for _, runner := range []string{"GITHUB_", "GITEA_", "FORGEJO_"} {
		for _, file := range []string{"OUTPUT", "ENV", "PATH", "STATE", "STEP_SUMMARY", "ARTIFACTS"} {
			names = append(names, runner+file)
		}
	}
	return names
}

// collectorKeys are the variables by which OpenTelemetry's programs log in to a collector.
func collectorKeys() []string {
	var names []string
	for _, signal := range []string{"", "TRACES_", "METRICS_", "LOGS_"} {
		for _, key := range []string{"HEADERS", "CLIENT_KEY"} {
			names = append(names, "OTEL_EXPORTER_OTLP_"+signal+key)
		}
	}
	return names
}

// IsSecret reports whether the value of a variable of this name, in any case of
// letters, is taken for a secret: it is shown nowhere.
func IsSecret(name string) bool {
	name = strings.ToUpper(name)
	if slices.Contains(harmlessNames, name) {
		return false
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-. ", r) })
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(harmlessWords, word) })
	rest := strings.Join(words, "_")
	return strings.HasPrefix(name, "ACTIONS_") || slices.ContainsFunc(words, isSecretWord) ||
		slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(rest, part) })
}

func isSecretWord(word string) bool {
	return slices.Contains(wholeWords, word) || slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(word, end) })
}

// IsWithheld reports whether a variable of this name, in any case of letters, is passed
// on to nothing that runs for a workflow, whoever asks for it. Not every such value is
// a secret: the path of a file, for one.
func IsWithheld(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(withheldNames, name) || slices.ContainsFunc(withheldKinds, func(kind string) bool { return strings.HasPrefix(name, kind) })
}
