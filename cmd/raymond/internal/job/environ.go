package job

import (
	"runtime"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/runner/clis"
	"github.com/raymond-action/raymond-action/runner/keyproxy"
)

// common are the variables of the job that every program gets. Variables for directories of toolchains
// (JAVA_HOME, GOROOT, …) are not included; the input env can add them.
var common = strings.Fields(`
	PATH HOME USER LOGNAME SHELL TERM TZ LANG LANGUAGE TMPDIR TMP TEMP
	HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy
	SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO
	CI RUNNER_OS RUNNER_ARCH RUNNER_TEMP RUNNER_TOOL_CACHE RUNNER_NAME RUNNER_ENVIRONMENT RUNNER_DEBUG
	RUNNER_TRACKING_ID
	GITHUB_ACTIONS GITHUB_REPOSITORY GITHUB_SHA GITHUB_REF GITHUB_REF_NAME GITHUB_HEAD_REF GITHUB_BASE_REF
	GITHUB_EVENT_NAME GITHUB_EVENT_PATH GITHUB_SERVER_URL GITHUB_API_URL GITHUB_RUN_ID GITHUB_ACTOR
	GITHUB_WORKSPACE`)

// windows are additional variables that programs need on Windows.
var windows = strings.Fields(`
	SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT OS USERPROFILE USERNAME USERDOMAIN HOMEDRIVE HOMEPATH
	APPDATA LOCALAPPDATA PROGRAMDATA ALLUSERSPROFILE PUBLIC COMPUTERNAME PSMODULEPATH
	PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 COMMONPROGRAMFILES COMMONPROGRAMFILES(X86) COMMONPROGRAMW6432
	NUMBER_OF_PROCESSORS PROCESSOR_ARCHITECTURE PROCESSOR_IDENTIFIER`)

// prefixes are the prefixes of variables that every program gets.
var prefixes = []string{"LC_", "RAYMOND_"}

// HasProvider reports whether a variable in environ makes an agent CLI use a provider other than the
// vendor's own API.
func HasProvider(backend string, environ []string) bool {
	for _, p := range clis.Find(backend).Access.Providers {
		if isOn(runtime.GOOS, environ, p.Switch) {
			return true
		}
	}
	return false
}

// UsesVertex reports whether a variable in environ makes an agent CLI log in with Google Cloud
// credentials.
func UsesVertex(environ []string) bool {
	for _, cli := range clis.All {
		for _, p := range cli.Access.Providers {
			if strings.Contains(p.Names, "GOOGLE_APPLICATION_CREDENTIALS") && isOn(runtime.GOOS, environ, p.Switch) {
				return true
			}
		}
	}
	return false
}

// AgentEnviron returns the variables in environ that an agent CLI may get. These are the variables that
// every program gets, the allowed ones, the CLI's own variables, and variables of the providers that are
// turned on. Withheld variables, and variables that only other agent CLIs read, are never included.
func AgentEnviron(backend string, environ, allowed []string) []string {
	return agentEnviron(runtime.GOOS, backend, environ, allowed)
}

// agentEnviron is AgentEnviron for a given operating system.
func agentEnviron(system, backend string, environ, allowed []string) []string {
	access := clis.Find(backend).Access
	allowed, families := slices.Concat(allowed, strings.Fields(access.FolderVariable)), prefixes
	for _, p := range access.Providers {
		if isOn(system, environ, p.Switch) {
			allowed = append(append(allowed, p.Switch), strings.Fields(p.Names)...)
			families = slices.Concat(families, p.Prefixes)
		}
	}
	return selectVariables(system, environ, allowed, families)
}

// ScriptEnviron returns the variables in environ that scripts may get: variables that every program
// gets, and the allowed ones. Withheld variables are never included.
func ScriptEnviron(environ, allowed []string) []string {
	return selectVariables(runtime.GOOS, environ, allowed, prefixes)
}

// isOn reports whether a variable is set to a value other than 0 and false.
func isOn(system string, environ []string, name string) bool {
	on := false
	for _, kv := range environ {
		if n, v, ok := strings.Cut(kv, "="); ok && normalName(system, n) == name {
			on = v != "" && v != "0" && !strings.EqualFold(v, "false")
		}
	}
	return on
}

// normalName returns the form of a variable's name that is used to compare names. Windows ignores case.
func normalName(system, name string) string {
	if system == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// selectVariables returns the variables in environ that every program gets, and variables with an allowed
// name or prefix. Withheld variables are never included.
func selectVariables(system string, environ, allowed, families []string) (selected []string) {
	allowed = slices.Concat(common, allowed)
	if system == "windows" {
		allowed = append(allowed, windows...)
	}
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || secrets.IsWithheld(name) {
			continue
		}
		name = normalName(system, name)
		isIt := func(n string) bool { return normalName(system, n) == name }
		isOf := func(family string) bool { return strings.HasPrefix(name, family) }
		if slices.ContainsFunc(allowed, isIt) || slices.ContainsFunc(families, isOf) {
			selected = append(selected, kv)
		}
	}
	return selected
}

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
