package secrets

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

func TestSecretsAreRecognizedByName(t *testing.T) {
	for name, want := range map[string]bool{
		"ANTHROPIC_API_KEY": true, "github_token": true, "CLIENT_SECRET": true, "PGPASSWORD": true, "DB_PASS": true,
		"MYSQL_PWD": true, "AWS_CREDENTIALS": true, "HTTP_AUTHORIZATION": true, "SENTRY_DSN": true,
		"ACTIONS_RUNTIME_URL": true, "INPUT_STATE-KEY": true, "SLACK_WEBHOOK_URL": true,
		"SIGNING_PASSPHRASE": true, "DB_PASSWD": true, "GH_PAT": true, "PAT": true, "gitlab-pat": true, "DBPWD": true, "PGPASS": true,
		"GCP_CREDS": true, "SSH_PRIVATE": true, "STRIPE_APIKEY": true, "apiKey": true, "BASIC_AUTH": true, "NPM_AUTH": true, "DB_CONNECTION_STRING": true,
		"AzureWebJobsConnectionString": true, "SQL_CONNSTR": true, "SENTRYDSN": true, "SESSION_JWT": true, "DISCORD_WEBHOOK": true,
		"OTEL_EXPORTER_OTLP_HEADERS": true, "OTEL_EXPORTER_OTLP_TRACES_HEADERS": true, "OTEL_EXPORTER_OTLP_CLIENT_KEY": true, "OTEL_EXPORTER_OTLP_ENDPOINT": false,
		"PATTERN": false, "MY_PATH": false, "COMPAT": false, "DISPATCH": false, "KEYBOARD": false, "MONKEY": false, "MONKEY_SEED": false, "GPG_TTY": false,
		"GIT_ASKPASS": false, "SSH_ASKPASS": false, "CERT_AUTHORITY": false, "AUTHORS": false, "PASSIVE_FTP": false, "TOKENIZERS_PARALLELISM": false,
		"GIT_COMMITTER_NAME": false, "MY_OLDPWD": false, "DATABASE_URL": false, "BYPASS": false, "INIT_CWD": false,
		"PATH": false, "HOME": false, "PWD": false, "OLDPWD": false, "GIT_AUTHOR_NAME": false, "SSH_AUTH_SOCK": false,
		"XAUTHORITY": false, "SSL_CERT_FILE": false, "GOPRIVATE": false, "GITHUB_ACTIONS": false, "RAYMOND_RESULT": false,
	} {
		assert.Check(t, is.Equal(IsSecret(name), want), "%s: taken for a secret", name)
	}
}

// withheld lists variables with which a process can control a job. It covers all kinds of runners.
const withheld = `ACTIONS_RUNTIME_TOKEN ACTIONS_RESULTS_URL ACTIONS_CACHE_URL ACTIONS_ID_TOKEN_REQUEST_URL
	GITHUB_OUTPUT GITHUB_ENV GITHUB_PATH GITHUB_STATE GITHUB_STEP_SUMMARY GITHUB_ARTIFACTS
	GITEA_OUTPUT GITEA_ENV GITEA_PATH GITEA_STATE GITEA_STEP_SUMMARY FORGEJO_OUTPUT FORGEJO_ENV FORGEJO_STATE
	INPUT_STATE-KEY INPUT_WORKFLOW RAYMOND_STATE_KEY RAYMOND_VAR_X ANTHROPIC_API_KEY CLAUDE_CODE_OAUTH_TOKEN
	OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS OTEL_EXPORTER_OTLP_METRICS_HEADERS OTEL_EXPORTER_OTLP_CLIENT_KEY OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY`

// TestWithheldVariablesAreNeverPassed checks that Strip removes the withheld variables from an environment.
func TestWithheldVariablesAreNeverPassed(t *testing.T) {
	for _, name := range strings.Fields(withheld) {
		for _, name := range []string{name, strings.ToLower(name)} {
			if got := Strip([]string{name + "=x"}); !IsWithheld(name) || len(got) > 0 {
				t.Errorf("%s: withheld: %v, passes in %q", name, IsWithheld(name), got)
			}
		}
	}
	for _, name := range []string{"PATH", "GITHUB_REF", "GITHUB_EVENT_PATH", "GITHUB_ACTIONS", "RAYMOND_RESULT", "GITEA_ACTIONS", "XAUTHORITY", ""} {
		if got := Strip([]string{name + "=x"}); IsWithheld(name) || len(got) != 1 {
			t.Errorf("%s: withheld: %v, passes in %q, want it to pass", name, IsWithheld(name), got)
		}
	}
	// Variables with secrets are passed if a workflow names them. Withheld variables are not.
	assert.Check(t, !IsWithheld("MY_TOKEN"), "MY_TOKEN: want it passed where a workflow names it")
	assert.Check(t, is.Len(Strip([]string{"MY_TOKEN=x"}), 0), "MY_TOKEN")
}

func TestRedactorHidesValuesAndLogins(t *testing.T) {
	env := []string{"A_TOKEN=0123456789abcdef", "SHORT_KEY=abc", "EMPTY_KEY=", "HOME=/home/u", "REMOTE=https://u:p@host/0123456789abcdef"}
	r := NewRedactor(env)
	for s, want := range map[string]string{
		"x 0123456789abcdef y": "x *** y",
		"git://u:p@host/":      "git://***@host/",
		"abc /home/u":          "abc /home/u",
	} {
		assert.Check(t, is.Equal(r.Text(s), want), "%q", s)
	}
	assert.Check(t, is.Equal(r.Tail("9abcdef of a secret"), " of a secret"), "the end of a secret")
	assert.Check(t, is.Equal(r.Tail("user:pass@host"), "host"), "the end of a login")
	got := r.Environ(env)
	for name, want := range map[string]string{"A_TOKEN": "***", "SHORT_KEY": "***", "EMPTY_KEY": "", "HOME": "/home/u", "REMOTE": "https://***@host/***"} {
		assert.Check(t, is.Equal(got[name], want), "%s: shown value", name)
	}
	assert.Check(t, is.Equal(NewRedactor(nil).Text("https://u:p@host"), "https://***@host"), "without an environment")
}

// TestPasswordsInURLsAreSecrets checks that Of returns passwords in URLs, even if the variable's name is an
// ordinary one.
func TestPasswordsInURLsAreSecrets(t *testing.T) {
	got := Of([]string{
		"DATABASE_URL=postgres://app:hunter2%21hunter@db:5432/x", "BROKERS=amqp://u:first-secret@a/,amqp://u:second-secret@b/", "PLAIN=https://host/a:b@c",
		"SHORT=https://u:abc@host", "USER=https://somebody@host",
	})
	all := map[string]bool{}
	for _, value := range got {
		all[value] = true
	}
	for _, want := range []string{"hunter2%21hunter", "hunter2!hunter", "first-secret", "second-secret"} {
		assert.Check(t, all[want], "got %q, want %q in it", got, want)
		delete(all, want)
	}
	assert.Check(t, is.Len(all, 0))
}
