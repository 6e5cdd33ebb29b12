package options

import (
	"cmp"
	"errors"
	"strings"

	"github.com/raymond-action/raymond-action/protocol"
	"github.com/raymond-action/raymond-action/state"
)

var permissionModes = protocol.PermissionModes()

// clis are the agent CLIs whose path can be named.
var clis = []struct{ backend, variable, title string }{
	{protocol.BackendClaude, "RAYMOND_CLAUDE", "Claude Code CLI"},
	{protocol.BackendCodex, "RAYMOND_CODEX", "Codex CLI"},
	{protocol.BackendGemini, "RAYMOND_GEMINI", "Gemini CLI"},
}

// Paths are those of the agent CLIs that a flag or the environment names, by protocol.Backends.
func (o *Options) Paths(getenv func(string) string) map[string]string {
	paths := map[string]string{}
	for _, c := range clis {
		if path := cmp.Or(o.CLIs[c.backend], getenv(c.variable)); path != "" {
			paths[c.backend] = path
		}
	}
	return paths
}

// addAgents defines the flags that say what runs prompts, and what it may do.
func (o *Options) addAgents() {
	names := protocol.Backends()
	o.Add("agent", "NAME", "what runs prompts whose states name no agent: "+strings.Join(names, ", ")+" (default "+names[0]+")", func(s string) error {
		o.change(func(opt *state.Options) { opt.Backend = s })
		return OneOf(s, names...)
	})
	o.Add("agent-command", "CMD", "shell command that runs prompts of the agent "+protocol.BackendCommand+"; without --agent it runs all", func(s string) error {
		o.change(func(opt *state.Options) {
			if opt.Command = s; !o.IsGiven("agent") {
				opt.Backend = protocol.BackendCommand
			}
		})
		if strings.ContainsRune(s, 0) {
			return errors.New("has a NUL byte")
		}
		return NotEmpty(strings.TrimSpace(s))
	})
	o.word("model", "NAME", "model of the agents (default: the agent CLI's)", func(opt *state.Options, s string) { opt.Model = s })
	o.word("effort", "LEVEL", "effort of the agents (default: the agent CLI's)", func(opt *state.Options, s string) { opt.Effort = s })
	o.Add("permission-mode", "MODE", "what agents may do without asking: "+strings.Join(permissionModes, ", ")+" (default acceptEdits)", func(s string) error {
		o.change(func(opt *state.Options) { opt.PermissionMode = s })
		return OneOf(s, permissionModes...)
	})
	o.Switch("dangerously-skip-permissions", "let agents do everything without asking", func(b bool) {
		o.change(func(opt *state.Options) { opt.SkipPermissions = b })
	})
	o.tools("allowed-tools", "tools that agents may use without asking", func(opt *state.Options, list []string) { opt.AllowedTools = list })
	o.tools("disallowed-tools", "tools that agents may not use", func(opt *state.Options, list []string) { opt.DisallowedTools = list })
	for _, c := range clis {
		o.Add(c.backend, "PATH", "the "+c.title+" (default: $"+c.variable+", else "+c.backend+" on PATH)", func(s string) error {
			o.CLIs[c.backend] = s
			return NotEmpty(s)
		})
	}
	var args []string
	o.Add("claude-arg", "ARG", "additional argument for the Claude Code CLI (repeatable)", func(s string) error {
		args = append(args, s)
		o.change(func(opt *state.Options) { opt.ClaudeArgs = args })
		return nil
	})
}
