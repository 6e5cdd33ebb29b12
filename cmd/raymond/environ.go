package main

import "strings"

// never are the variables that no agent and no script is given, whoever asks:
// with them the job's own services and later steps could be turned against it.
var never = map[string]bool{
	"ACTIONS_RUNTIME_TOKEN": true, "ACTIONS_RESULTS_URL": true, "ACTIONS_CACHE_URL": true,
	"GITHUB_OUTPUT": true, "GITHUB_ENV": true, "GITHUB_PATH": true, "GITHUB_STATE": true,
	"GITHUB_STEP_SUMMARY": true, "RAYMOND_STATE_KEY": true,
}

// neverPrefixes are the same for whole families of names. RAYMOND_VAR_ is ours
// to set: a run inside a run must not see the outer one's values.
var neverPrefixes = []string{"ACTIONS_ID_TOKEN_REQUEST_", "INPUT_", "RAYMOND_VAR_"}

// childEnviron returns what agents and scripts may see of an environment.
func childEnviron(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if !withheld(strings.ToUpper(name)) {
			out = append(out, kv)
		}
	}
	return out
}

func withheld(name string) bool {
	if never[name] {
		return true
	}
	for _, p := range neverPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
