package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
)

// The CLI's approval modes, as the command line and the rules name them.
const (
	planMode    = "plan"
	defaultMode = "default"
	editMode    = "auto_edit"
	yoloMode    = "yolo"
)

// modes maps permission modes to approval modes. The CLI has no equivalent of "auto", so the next
// stricter mode is used.
var modes = map[string]string{
	"": defaultMode, "plan": planMode, "default": defaultMode, "dontAsk": defaultMode, "acceptEdits": editMode,
	"auto": editMode, "bypassPermissions": yoloMode,
}

const shell = "run_shell_command"

// writeTools are the tools that change files.
var writeTools = []string{"write_file", "replace"}

// tools maps the tool names in workflows, which are the same for all agent CLIs, to the CLI's
// tools.
var tools = map[string][]string{
	"Read": {"read_file", "read_many_files"}, "Grep": {"grep_search"}, "Glob": {"glob"}, "LS": {"list_directory"},
	"Edit": writeTools, "MultiEdit": writeTools, "NotebookEdit": writeTools, "Write": {"write_file"},
	"Bash": {shell}, "WebFetch": {"web_fetch"}, "WebSearch": {"google_web_search"},
	"Task": {"invoke_agent"}, "Agent": {"invoke_agent"}, "TodoWrite": {"write_todos"}, "Skill": {"activate_skill"},
}

// rule is one tool rule of the CLI.
type rule struct {
	tools    []string
	server   string // name of the MCP server; "" for the CLI's own tools
	prefix   string // the command must start with it; "" for any command
	command  string // the command must equal it; "" for any command
	pattern  string // regular expression for the arguments; "" for any
	isDenied bool
	priority int
	redirect bool // commands may redirect their output to files
	modes    []string
}

// Priorities of rules. Deny rules have precedence over allow rules.
const (
	priorityDeny    = 999
	priorityAllow   = 900
	priorityMode    = 800 // allowed by the approval mode
	priorityDefault = 100 // denied by default, although the CLI would allow it
)

// modesExceptPlan are the modes in which the lists of allowed tools apply; the mode plan only
// reads.
var modesExceptPlan = []string{"default", "autoEdit", "yolo"} // as rules name them

// permissions are the permissions of an agent.
type permissions struct {
	mode                string // approval mode
	allowed, disallowed []string
	// isUntrusted tells the CLI not to obey the files of its directory. In that case the CLI only
	// supports the default mode, so rules must allow what other modes would.
	isUntrusted bool
}

// rules returns the CLI's rules in TOML, and notes on entries that the CLI can't express exactly.
// Those are applied more strictly: an allow rule is dropped, and a deny rule applies to the whole
// tool.
func (p permissions) rules() (toml string, notes []string) {
	all := []rule{
		// A model that enters and leaves plan mode would be allowed everything afterwards.
		{tools: []string{"enter_plan_mode", "exit_plan_mode", "ask_user"}, isDenied: true, priority: priorityDeny},
		{tools: []string{"web_fetch", "google_web_search"}, isDenied: true, priority: priorityDefault, modes: []string{"plan", "default", "autoEdit"}},
	}
	switch {
	case p.isUntrusted && p.mode == editMode:
		all = append(all, rule{tools: writeTools, priority: priorityMode})
	case p.isUntrusted && p.mode == yoloMode:
		// With a pattern the CLI does not examine the command further.
		all = append(all, rule{tools: []string{shell}, pattern: ".", priority: priorityMode, redirect: true}, rule{tools: []string{"*"}, priority: priorityMode - 1})
	}
	for _, entry := range p.disallowed {
		r, isExact := parseRule(entry)
		switch {
		case len(r.tools) == 0:
			notes = append(notes, fmt.Sprintf("disallowed tool %q: Gemini CLI has no such tool", entry))
			continue
		case !isExact:
			notes = append(notes, fmt.Sprintf("disallowed tool %q: Gemini CLI can't match these uses exactly, so all uses of the tool are denied", entry))
		}
		// A denied command is also denied with additional arguments.
		r.prefix, r.command = r.prefix+r.command, ""
		r.isDenied, r.priority = true, priorityDeny
		all = append(all, r)
	}
	for _, entry := range p.allowed {
		r, isExact := parseRule(entry)
		if !isExact || len(r.tools) == 0 {
			notes = append(notes, fmt.Sprintf("allowed tool %q: Gemini CLI can't match these uses exactly, so they are not allowed", entry))
			continue
		}
		if p.mode == planMode {
			continue
		}
		r.priority, r.modes = priorityAllow, modesExceptPlan
		r.redirect = r.prefix == "" && r.command == ""
		all = append(all, r)
	}
	var b strings.Builder
	for _, r := range all {
		r.write(&b)
	}
	return b.String(), notes
}

var (
	entryForm  = text.Regexp(`^([A-Za-z][A-Za-z0-9_-]*)(?:\((.*)\))?$`)
	nativeName = text.Regexp(`^[a-z][a-z0-9_]*$`)
)

// parseRule parses an entry of a list of tools. A rule without tools matches no tool of the CLI.
// isExact is false if the rule matches more than the entry.
func parseRule(entry string) (r rule, isExact bool) {
	m := entryForm().FindStringSubmatch(entry)
	if m == nil {
		return rule{}, false
	}
	name, hasPart := m[1], strings.HasSuffix(entry, ")")
	if server, ok := strings.CutPrefix(name, "mcp__"); ok {
		server, tool, hasTool := strings.Cut(server, "__")
		if !hasTool {
			tool = "*"
		}
		return rule{tools: []string{tool}, server: server}, !hasPart
	}
	r.tools = tools[name]
	if r.tools == nil && nativeName().MatchString(name) {
		r.tools = []string{name}
	}
	switch {
	case !hasPart:
		return r, true
	case !slices.Contains(r.tools, shell):
		return r, false
	}
	return r.withCommand(m[2])
}

// withCommand restricts the rule to a command, or to commands that start with a text if that is
// followed by ":*" or " *".
func (r rule) withCommand(part string) (_ rule, isExact bool) {
	begin, isPrefix := strings.CutSuffix(part, ":*")
	if !isPrefix {
		begin, isPrefix = strings.CutSuffix(part, " *")
	}
	switch {
	case part == "*" || isPrefix && begin == "":
		return r, true
	case begin == "" || strings.Contains(begin, "*") || strings.ContainsFunc(begin, unicode.IsControl):
		return r, false
	case isPrefix:
		r.prefix = begin
	default:
		r.command = begin
	}
	return r, true
}

// write appends the rule in TOML. TOML strings are written like JSON strings.
func (r rule) write(b *strings.Builder) {
	b.WriteString("[[rule]]\n")
	key := func(name string, value any) { fmt.Fprintf(b, "%s = %s\n", name, quoted(value)) }
	key("toolName", r.tools)
	if r.server != "" {
		key("mcpName", r.server)
	}
	if r.prefix != "" {
		key("commandPrefix", r.prefix)
	}
	if r.command != "" {
		// The CLI matches the regular expression after the quote that starts the command in the
		// JSON arguments.
		key("commandRegex", regexp.QuoteMeta(quoted(r.command)[1:]))
	}
	if r.pattern != "" {
		key("argsPattern", r.pattern)
	}
	decision := "allow"
	if r.isDenied {
		decision = "deny"
	}
	key("decision", decision)
	key("priority", r.priority)
	if len(r.modes) > 0 {
		key("modes", r.modes)
	}
	if r.redirect {
		key("allowRedirection", true)
	}
	b.WriteString("\n")
}

// quoted returns a value as the CLI would encode it in JSON.
func quoted(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err) // strings and numbers can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
