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

// The CLI's approval modes, with their names in the command line.
const (
	planMode    = "plan"
	defaultMode = "default"
	editMode    = "auto_edit"
	yoloMode    = "yolo"
)

// modes maps permission modes to approval modes. The CLI has no equivalent of "auto", so a stricter
// mode is used instead.
var modes = map[string]string{
	"": defaultMode, "plan": planMode, "default": defaultMode, "dontAsk": defaultMode, "acceptEdits": editMode,
	"auto": editMode, "bypassPermissions": yoloMode,
}

const shell = "run_shell_command"

// writeTools are the tools that change files.
var writeTools = []string{"write_file", "replace"}

// tools maps the names of tools in workflows, which are the same for all agent CLIs, to the names
// of the CLI's tools.
var tools = map[string][]string{
	"Read": {"read_file", "read_many_files"}, "Grep": {"grep_search"}, "Glob": {"glob"}, "LS": {"list_directory"},
	"Edit": writeTools, "MultiEdit": writeTools, "NotebookEdit": writeTools, "Write": {"write_file"},
	"Bash": {shell}, "WebFetch": {"web_fetch"}, "WebSearch": {"google_web_search"},
	"Task": {"invoke_agent"}, "Agent": {"invoke_agent"}, "TodoWrite": {"write_todos"}, "Skill": {"activate_skill"},
}

// rule is a rule of the CLI that allows or denies tool calls.
type rule struct {
	tools []string
	// server is the name of the MCP server. It is empty for the CLI's own tools.
	server string
	// If prefix is not empty, the command must start with it.
	prefix string
	// If command is not empty, the command must equal it.
	command string
	// If pattern is not empty, it is a regular expression that the arguments must match.
	pattern  string
	isDenied bool
	priority int
	// redirect is set if commands may redirect their output to files.
	redirect bool
	modes    []string
}

// Priorities of rules. A rule with a higher priority takes precedence, so deny rules override allow
// rules.
const (
	priorityDeny    = 999
	priorityAllow   = 900
	priorityMode    = 800 // for tools that the approval mode allows
	priorityDefault = 100 // for tools that the CLI would allow, but that are denied by default
)

// modesExceptPlan are the modes in which the lists of allowed tools apply, with their names in
// rules. The mode plan only allows reading.
var modesExceptPlan = []string{"default", "autoEdit", "yolo"}

// permissions are the permissions of an agent, with which its rules are created.
type permissions struct {
	mode                string // approval mode of the CLI
	allowed, disallowed []string
	// isUntrusted makes the CLI ignore instructions and settings in its directory. The CLI then
	// supports only the default mode, so rules must allow what other modes would allow.
	isUntrusted bool
}

// rules returns the CLI's rules as TOML, and notes about entries that the CLI can't express
// exactly. The rules for these entries are stricter: an allow rule is dropped, and a deny rule
// denies all calls of the tool.
func (p permissions) rules() (toml string, notes []string) {
	all := []rule{
		// These tools are denied because after a model has entered and left plan mode, everything
		// is allowed.
		{tools: []string{"enter_plan_mode", "exit_plan_mode", "ask_user"}, isDenied: true, priority: priorityDeny},
		{tools: []string{"web_fetch", "google_web_search"}, isDenied: true, priority: priorityDefault, modes: []string{"plan", "default", "autoEdit"}},
	}
	switch {
	case p.isUntrusted && p.mode == editMode:
		all = append(all, rule{tools: writeTools, priority: priorityMode})
	case p.isUntrusted && p.mode == yoloMode:
		// If a rule has a pattern, the CLI does not examine the command further.
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
		// If a command is denied, it is also denied with additional arguments.
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

// entryForm matches an entry in a list of tools. nativeName matches a name that the CLI itself uses
// for a tool.
var (
	entryForm  = text.Regexp(`^([A-Za-z][A-Za-z0-9_-]*)(?:\((.*)\))?$`)
	nativeName = text.Regexp(`^[a-z][a-z0-9_]*$`)
)

// parseRule returns the rule for an entry of a list of tools. If the CLI doesn't have the tool, the
// rule contains no tools. isExact is false if the rule matches more tool calls than the entry.
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
	// A command that ends with ":*" or " *" restricts the rule to commands that start with the text before
	// that.
	begin, isPrefix := strings.CutSuffix(m[2], ":*")
	if !isPrefix {
		begin, isPrefix = strings.CutSuffix(m[2], " *")
	}
	switch {
	case m[2] == "*" || isPrefix && begin == "":
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

// write appends the rule to b as TOML. Strings in TOML are written like strings in JSON.
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
		// The CLI matches the regular expression against the arguments in JSON, after the quotation
		// mark with which the command starts.
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

// quoted returns a value as JSON, encoded in the same way as the CLI does.
func quoted(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err) // strings, lists of strings and numbers can always be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
