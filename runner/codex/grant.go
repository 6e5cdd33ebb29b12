package codex

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// sandbox is a mode of the CLI's sandbox. The sandbox applies to all tools and commands in the same
// way.
type sandbox int

const (
	readOnly     sandbox = iota // files can't be written, and the network can't be used
	workspace                   // files in the working directory can be written, except .git
	unrestricted                // everything is allowed
)

func (s sandbox) String() string {
	return [...]string{"read-only", "workspace-write", "danger-full-access"}[s]
}

// grant contains the permissions of an agent in terms of the CLI's settings.
type grant struct {
	files    sandbox
	shell    bool // whether the agent may run commands
	noImages bool // whether viewing images is forbidden
	web      bool // whether the agent may search the web
	// isCaged is set if a cage confines the agent. The CLI's own sandbox can't run in a cage.
	isCaged bool
	notes   []string
}

// modes maps permission modes to sandboxes. The CLI does not support all permission modes; the
// others are mapped to the next stricter sandbox.
var modes = map[string]sandbox{
	"plan": readOnly, "default": readOnly, "dontAsk": readOnly, "acceptEdits": workspace, "auto": workspace,
	"bypassPermissions": unrestricted,
}

// newGrant returns the grant for an order. The CLI can't apply every rule for tools exactly. It
// then applies a stricter rule, and newGrant adds a note. newGrant returns a failure if the CLI
// can't forbid a tool.
func newGrant(o runner.PromptOrder, isCaged bool) (grant, *runner.Failure) {
	g := grant{files: modes[o.Permissions.PermissionMode], shell: true, isCaged: isCaged}
	if o.Permissions.SkipPermissions {
		g.files = unrestricted
	}
	if o.Permissions.PermissionMode == "auto" {
		g.note("Codex has no permission mode auto; acceptEdits is used")
	}
	for _, tool := range o.Permissions.AllowedTools {
		switch name, isNarrow := splitRule(tool); {
		case slices.Contains(readTools, name), g.files == unrestricted:
		case isNarrow:
			g.note("allowed_tools: Codex can't allow only %s; its sandbox stays %s", program.OneLine(tool, 80), g.files)
		case slices.Contains(editTools, name):
			g.files = max(g.files, workspace)
		case name == "Bash":
			g.files = unrestricted
		case name == "WebSearch":
			g.web = true
		}
	}
	for _, tool := range o.Permissions.DisallowedTools {
		if !g.forbid(tool) {
			return g, program.Fatal("disallowed_tools: Codex can't forbid %q", program.OneLine(tool, 80))
		}
	}
	return g, nil
}

// note adds a note for the user.
func (g *grant) note(format string, args ...any) {
	g.notes = append(g.notes, fmt.Sprintf(format, args...))
}

// The names of tools in workflows. ignoredTools are tools that the CLI doesn't have.
var (
	editTools    = []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}
	readTools    = []string{"Read", "Glob", "Grep", "LS"}
	ignoredTools = []string{"Task", "Agent", "TodoWrite", "Skill", "SlashCommand", "WebFetch", "BashOutput", "KillShell", "ExitPlanMode", "AskUserQuestion"}
)

// splitRule returns the name of the tool in a rule. isNarrow is set if the rule is only for some
// calls of the tool.
func splitRule(rule string) (name string, isNarrow bool) {
	name, use, narrow := strings.Cut(rule, "(")
	return name, narrow && use != "*)" && use != ":*)" && use != ")"
}

// forbid applies a rule that forbids a tool. It returns false if the CLI can't forbid the tool.
func (g *grant) forbid(rule string) bool {
	name, isNarrow := splitRule(rule)
	switch {
	case name == "Bash":
		g.shell = false
		if isNarrow {
			g.note("disallowed_tools: Codex can't forbid only %s; all commands are forbidden", program.OneLine(rule, 80))
		}
	case slices.Contains(editTools, name):
		g.files = readOnly
		g.note("disallowed_tools: Codex can't forbid only %s; all file changes are forbidden", program.OneLine(rule, 80))
	case slices.Contains(readTools, name):
		g.shell, g.noImages = false, true
		g.note("disallowed_tools: Codex reads files with commands; to forbid %s, all commands are forbidden", program.OneLine(rule, 80))
	case name == "WebSearch":
		g.web = false
	default:
		return slices.Contains(ignoredTools, name)
	}
	return true
}

// settings returns the CLI's settings for the grant. In a cage, the CLI's sandbox is turned off: it
// needs namespaces, which a cage doesn't allow, and the cage already confines the agent.
func (g grant) settings() []string {
	files, web := g.files, "disabled"
	if g.isCaged {
		files = unrestricted
	}
	if g.web {
		web = "live"
	}
	list := []string{setting("sandbox_mode", files.String()), setting("web_search", web)}
	if !g.shell {
		list = append(list, "features.shell_tool=false")
	}
	if g.noImages {
		list = append(list, "features.view_image=false")
	}
	return list
}
