package codex

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/internal/program"
)

// bypass is the permission mode in which everything is allowed.
const bypass = "bypassPermissions"

// sandbox is how the CLI confines what its tools do. They can't be told apart further: what
// the sandbox allows, every command may do.
type sandbox int

const (
	readOnly  sandbox = iota // no files are written, nothing is connected to
	workspace                // files of the directory are written, but for .git
	none                     // everything
)

func (s sandbox) String() string {
	return [...]string{"read-only", "workspace-write", "danger-full-access"}[s]
}

// grant is what an agent may do, as the CLI can be told it.
type grant struct {
	files sandbox
	shell bool // there are commands
	blind bool // images can't be looked at either
	web   bool // there is a search
	caged bool // a cage of ours confines it, in which the CLI's sandbox can't be made
	notes []string
}

// modes are the sandboxes of the permission modes. Where the CLI has no mode of its own, it is
// the stricter one of those beside it.
var modes = map[string]sandbox{
	"plan": readOnly, "default": readOnly, "dontAsk": readOnly, "acceptEdits": workspace, "auto": workspace, bypass: none,
}

// grantOf reads what an order allows. A list that the CLI can't be told exactly is read in
// the stricter way, with a note.
func grantOf(o runner.PromptOrder, isCaged bool) (grant, *runner.Failure) {
	g := grant{files: modes[o.Permissions.PermissionMode], shell: true, caged: isCaged}
	if o.Permissions.SkipPermissions {
		g.files = none
	}
	if o.Permissions.PermissionMode == "auto" {
		g.note("Codex has no permission mode auto: it runs as in acceptEdits")
	}
	for _, tool := range o.Permissions.AllowedTools {
		switch name, isNarrow := split(tool); {
		case slices.Contains(reads, name), g.files == none:
		case isNarrow:
			g.note("allowed_tools: Codex can't allow %s alone: it stays within its sandbox (%s)", program.OneLine(tool, 80), g.files)
		case slices.Contains(edits, name):
			g.files = max(g.files, workspace)
		case name == "Bash":
			g.files = none
		case name == "WebSearch":
			g.web = true
		}
	}
	for _, tool := range o.Permissions.DisallowedTools {
		if !g.forbid(tool) {
			return g, program.Fatal("disallowed_tools: Codex can't be kept from using %q alone", program.OneLine(tool, 80))
		}
	}
	return g, nil
}

func (g *grant) note(format string, args ...any) {
	g.notes = append(g.notes, fmt.Sprintf(format, args...))
}

// The names of tools, as workflows have them.
var (
	edits    = []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}
	reads    = []string{"Read", "Glob", "Grep", "LS"}
	harmless = []string{"Task", "Agent", "TodoWrite", "Skill", "SlashCommand", "WebFetch", "BashOutput", "KillShell", "ExitPlanMode", "AskUserQuestion"}
)

// split takes a rule apart. One for all uses of a tool is not narrow.
func split(rule string) (name string, isNarrow bool) {
	name, use, narrow := strings.Cut(rule, "(")
	return name, narrow && use != "*)" && use != ":*)" && use != ")"
}

// forbid narrows the grant by a rule, and reports false where that can't be done.
func (g *grant) forbid(rule string) bool {
	name, isNarrow := split(rule)
	switch {
	case name == "Bash":
		g.shell = false
		if isNarrow {
			g.note("disallowed_tools: Codex can't forbid %s alone: there are no commands at all", program.OneLine(rule, 80))
		}
	case slices.Contains(edits, name):
		g.files = readOnly
		g.note("disallowed_tools: Codex can't forbid %s alone: nothing writes files", program.OneLine(rule, 80))
	case slices.Contains(reads, name):
		g.shell, g.blind = false, true
		g.note("disallowed_tools: Codex reads files with commands: without %s there are none", program.OneLine(rule, 80))
	case name == "WebSearch":
		g.web = false
	default:
		return slices.Contains(harmless, name)
	}
	return true
}

// settings are those of the CLI. In a cage its own sandbox can't be made, since that takes
// namespaces: there the cage is what confines.
func (g grant) settings() []string {
	files, web := g.files, "disabled"
	if g.caged {
		files = none
	}
	if g.web {
		web = "live"
	}
	list := []string{setting("sandbox_mode", files.String()), setting("web_search", web)}
	if !g.shell {
		list = append(list, "features.shell_tool=false")
	}
	if g.blind {
		list = append(list, "features.view_image=false")
	}
	return list
}
