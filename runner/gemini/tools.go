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

// The CLI's approval modes, as its command line and its rules name them.
const (
	planMode    = "plan"
	defaultMode = "default"
	editMode    = "auto_edit"
	yoloMode    = "yolo"
)

// modes are the approval modes for permission modes. Of "auto" the CLI has no like, so that it
// gets the next stricter one.
var modes = map[string]string{
	"": defaultMode, "plan": planMode, "default": defaultMode, "dontAsk": defaultMode, "acceptEdits": editMode,
	"auto": editMode, "bypassPermissions": yoloMode,
}

const shell = "run_shell_command"

// writers are the tools that change files.
var writers = []string{"write_file", "replace"}

// tools are the CLI's tools by the names that workflows use for those of all agent CLIs.
var tools = map[string][]string{
	"Read": {"read_file", "read_many_files"}, "Grep": {"grep_search"}, "Glob": {"glob"}, "LS": {"list_directory"},
	"Edit": writers, "MultiEdit": writers, "NotebookEdit": writers, "Write": {"write_file"},
	"Bash": {shell}, "WebFetch": {"web_fetch"}, "WebSearch": {"google_web_search"},
	"Task": {"invoke_agent"}, "Agent": {"invoke_agent"}, "TodoWrite": {"write_todos"}, "Skill": {"activate_skill"},
}

// rule is one of the CLI's rules for tools.
type rule struct {
	tools    []string
	server   string // of MCP; "" for the CLI's own tools
	prefix   string // with which a command must begin; "" for all
	command  string // that it must be; "" for all
	pattern  string // of the arguments; "" for all
	isDenied bool
	priority int
	redirect bool // commands may send their output to files
	modes    []string
}

// Priorities of rules: what is denied counts before what is allowed.
const (
	first  = 999
	second = 900
	third  = 800 // what a mode allows
	last   = 100 // what no mode allows by itself, although the CLI would
)

// notPlan are the modes in which the lists of allowed tools count: plan only reads.
var notPlan = []string{"default", "autoEdit", "yolo"} // as rules name them

// permissions are what an agent may do.
type permissions struct {
	mode                string // an approval mode
	allowed, disallowed []string
	// isUntrusted says that the CLI may not obey what is in its directory. It knows no mode but
	// the default one then, so that rules have to say what the others allow.
	isUntrusted bool
}

// rules returns the CLI's rules, in TOML, and notes about what they can't express. The stricter
// reading holds then: a rule that allows is left out, and one that denies is for the whole tool.
func (p permissions) rules() (toml string, notes []string) {
	all := []rule{
		// A model that enters the plan mode and leaves it again may do everything from then on.
		{tools: []string{"enter_plan_mode", "exit_plan_mode", "ask_user"}, isDenied: true, priority: first},
		{tools: []string{"web_fetch", "google_web_search"}, isDenied: true, priority: last, modes: []string{"plan", "default", "autoEdit"}},
	}
	switch {
	case p.isUntrusted && p.mode == editMode:
		all = append(all, rule{tools: writers, priority: third})
	case p.isUntrusted && p.mode == yoloMode:
		// With a pattern the CLI looks no closer at a command.
		all = append(all, rule{tools: []string{shell}, pattern: ".", priority: third, redirect: true}, rule{tools: []string{"*"}, priority: third - 1})
	}
	for _, entry := range p.disallowed {
		r, isExact := parseRule(entry)
		switch {
		case len(r.tools) == 0:
			notes = append(notes, fmt.Sprintf("disallowed tool %q: Gemini CLI has none like it", entry))
			continue
		case !isExact:
			notes = append(notes, fmt.Sprintf("disallowed tool %q: Gemini CLI can't tell such uses apart, so all uses of the tool are denied", entry))
		}
		// A command that is denied is denied with further arguments, too.
		r.prefix, r.command = r.prefix+r.command, ""
		r.isDenied, r.priority = true, first
		all = append(all, r)
	}
	for _, entry := range p.allowed {
		r, isExact := parseRule(entry)
		if !isExact || len(r.tools) == 0 {
			notes = append(notes, fmt.Sprintf("allowed tool %q: Gemini CLI can't tell such uses apart, so they are not allowed", entry))
			continue
		}
		if p.mode == planMode {
			continue
		}
		r.priority, r.modes = second, notPlan
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

// parseRule reads an entry of a list of tools. A rule without tools means none that the CLI has.
// The second value is false when the entry means less than what the rule is about.
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

// withCommand makes a rule about some commands: those that begin with a text, which is followed
// by ":*" or " *", or one alone.
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

// write adds a rule in TOML, whose strings are written as in JSON.
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
		// The CLI looks for it in the arguments, behind the quote with which the command begins there.
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

// quoted returns a value as the CLI itself would write it in JSON.
func quoted(value any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err) // it is of texts and numbers
	}
	return strings.TrimSuffix(b.String(), "\n")
}
