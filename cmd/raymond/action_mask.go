package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/secrets"
	"github.com/raymond-action/raymond-action/runner/claude/transcript"
	"github.com/raymond-action/raymond-action/runner/shell"
	"github.com/raymond-action/raymond-action/state"
)

// hidden is what a step shows and stores nowhere: secrets, and the values of all
// variables that its inputs name.
type hidden struct {
	mask  *secrets.Set
	all   *secrets.Set      // before words were spared
	of    map[string]string // the values, by where they come from
	words []string          // that are spared
	told  []string          // what is known to be spared
}

// conceal learns what is to be masked, and tells the runner of the secrets. It is
// not told of the other values: in the steps that follow they are words like others,
// and a job's output that has a masked word in it would be dropped.
func (x *action) conceal() {
	found := shell.Secrets(x.ours())
	maps.Copy(found, map[string]string{
		"anthropic-api-key": x.in.AnthropicAPIKey, "claude-code-oauth-token": x.in.ClaudeCodeToken,
		"github-token": x.in.GitHubToken, "state-key": x.in.StateKey,
	})
	known, short := secrets.New(found)
	x.of = x.named()
	maps.Copy(x.of, found)
	x.all, _ = secrets.New(x.of)
	if len(short) > 0 {
		x.warnOnce("these secrets are too short to be masked in what is stored and shown: " + strings.Join(short, ", "))
	}
	x.spare(slices.Concat(state.Words(), transcript.Words(), x.frame()))
	if !x.after { // the main part has told them, and they hold for all of the job
		for _, v := range known.Sparing(x.words).Values() {
			x.log.AddMask(v)
		}
	}
}

// warnOnce tells in the main part what holds for the post part too.
func (x *action) warnOnce(text string) {
	if !x.after {
		x.warn(text)
	}
}

// spare lets words go unmasked: those without which a run can't be kept.
func (x *action) spare(words []string) {
	x.words = append(x.words, words...)
	x.mask = x.all.Sparing(x.words)
	var news []string
	for _, name := range secrets.Spared(x.of, x.words) {
		if !slices.Contains(x.told, name) {
			news = append(news, name)
		}
	}
	if x.told = append(x.told, news...); len(news) > 0 {
		x.warnOnce(fmt.Sprintf("not masked, since a run is kept by words that have it in them: the value of %s", strings.Join(news, ", ")))
	}
}

// spareStates lets the names of states go unmasked, as they are and as the ids of
// agents have them.
func (x *action) spareStates(names []string) {
	var words []string
	for _, name := range names {
		words = append(words, name, strings.ToLower(name))
	}
	x.spare(words)
}

// named are the values of the variables that the inputs env and script-env name.
// Those that every program of a job sees anyway are no secrets for being named.
func (x *action) named() map[string]string {
	values := map[string]string{}
	for _, kv := range x.inherited() {
		name, value, _ := strings.Cut(kv, "=")
		named := slices.Contains(x.in.Env, name) || slices.Contains(x.in.ScriptEnv, name)
		if named && !isRunners(name) {
			values[name] = value
		}
	}
	return values
}

// frame is what a run is kept and found by.
func (x *action) frame() []string {
	words := []string{x.in.Key, x.in.Workflow, x.in.WorkingDirectory, x.in.StateDir, x.in.Resume}
	for _, kv := range x.app.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if isRunners(name) && !strings.HasSuffix(name, "_TOKEN") || name == "HOME" || name == "PATH" {
			words = append(words, value)
		}
	}
	for _, arg := range x.flags() {
		if name, value, ok := cutFlag(arg); ok && slices.Contains([]string{"model", "effort", "permission-mode"}, name) {
			words = append(words, value)
		}
	}
	return words
}

// isRunners reports whether the runner has set a variable.
func isRunners(name string) bool {
	return name != "GITHUB_TOKEN" && slices.ContainsFunc([]string{"GITHUB_", "RUNNER_", "GITEA_"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// ours is the job's environment without what only looks secret: inputs, of which
// each is known to be one or not, and addresses of the runner's services.
func (x *action) ours() []string {
	var out []string
	for _, kv := range x.app.Environ {
		name, _, _ := strings.Cut(kv, "=")
		runners := strings.HasPrefix(name, "ACTIONS_") || strings.HasPrefix(name, "GITHUB_")
		if !strings.HasPrefix(name, "INPUT_") && (!runners || strings.HasSuffix(name, "_TOKEN")) {
			out = append(out, kv)
		}
	}
	return out
}
