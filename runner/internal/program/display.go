package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

const (
	shownLines = 200 // maximum number of lines of one text
	// shownWidth is the maximum number of characters of a line.
	shownWidth = 2000
	inputWidth = 120 // maximum number of characters of a tool's name or input
	maxUses    = 100 // maximum number of running tools that are tracked
)

// Display reports the output and the activity of a running agent CLI. The order's verbosity determines
// how much it reports. Only one goroutine may use a Display, except for ReportUsage.
type Display struct {
	Report func(runner.Progress) // is called with everything that is reported
	Hide   func(string) string   // masks secrets; called before a text is truncated

	verbosity    runner.Verbosity
	reportsTools bool      // each tool call is also reported as Progress.Tool
	running      []toolUse // the running tools, in the order in which they were started
}

// toolUse is a running tool, with its id and the text that describes the call.
type toolUse struct{ id, text string }

// NewDisplay returns the display for an invocation. If report is nil, nothing is reported.
func NewDisplay(o runner.Order, report func(runner.Progress)) Display {
	if report == nil {
		report = func(runner.Progress) {}
	}
	return Display{Report: report, Hide: Hider(o), verbosity: o.Verbosity, reportsTools: o.Prompt.ReportsTools}
}

// ReportUsage reports the tokens that have been counted so far.
func (d *Display) ReportUsage(counted []state.Usage) {
	seen := runner.MeteredUsage(counted)
	d.Report(runner.Progress{Metered: &seen})
}

// ReportLine reports a line, which must not contain secrets, and a new activity of the CLI (doing). Either
// may be empty. The activity is reported even if the order's verbosity excludes lines, because users watch
// the activity.
func (d *Display) ReportLine(line, doing string) {
	if d.verbosity == runner.VerbosityNone {
		line = ""
	}
	if line != "" || doing != "" {
		d.Report(runner.Progress{Text: line, Activity: doing})
	}
}

// ReportText reports a text of the model, line by line. It masks secrets and truncates long texts and
// lines.
func (d *Display) ReportText(text string) {
	if d.verbosity == runner.VerbosityNone {
		return
	}
	n := 0
	for line := range strings.Lines(d.Hide(text)) {
		if line = OneLine(line, shownWidth); line == "" {
			continue
		}
		if n++; n > shownLines {
			d.reportWithActivity("…")
			return
		}
		d.reportWithActivity(line)
	}
}

// reportWithActivity reports a line and the current activity.
func (d *Display) reportWithActivity(line string) { d.ReportLine(line, d.activity()) }

// ReportActivity reports the current activity of the CLI.
func (d *Display) ReportActivity() { d.ReportLine("", d.activity()) }

// BeginTool reports that a tool has started. If id is empty, EndTools can't end the tool, so the
// activity doesn't mention it.
func (d *Display) BeginTool(id, tool, input string) {
	if d.reportsTools {
		d.Report(runner.Progress{Tool: &runner.ToolUse{Name: d.short(tool), Input: d.short(input)}})
	}
	text := d.ToolUse(tool, input)
	if id != "" && len(d.running) < maxUses {
		d.running = append(d.running, toolUse{id, text})
	}
	d.reportWithActivity(text)
}

// EndTools reports that the tools with the given ids have ended.
func (d *Display) EndTools(ids ...string) {
	n := len(d.running)
	d.running = slices.DeleteFunc(d.running, func(u toolUse) bool { return slices.Contains(ids, u.id) })
	if len(d.running) < n {
		d.ReportActivity()
	}
}

// ForgetTools reports that no tool is running any more.
func (d *Display) ForgetTools() {
	d.running = nil
	d.ReportActivity()
}

// activity describes what the CLI is doing: waiting for the model or running tools.
func (d *Display) activity() string {
	switch len(d.running) {
	case 0:
		return "waiting for the model"
	case 1:
		return "running " + d.running[0].text
	}
	return fmt.Sprintf("running %s and %d more", d.running[0].text, len(d.running)-1)
}

// ToolUse describes a tool call as "Tool(input)", on one short line and with secrets masked.
func (d *Display) ToolUse(tool, input string) string {
	return fmt.Sprintf("%s(%s)", d.short(tool), d.short(input))
}

// short returns a text on one short line, with secrets masked.
func (d *Display) short(text string) string { return OneLine(d.Hide(text), inputWidth) }

// editors are the tools that change files. In allowed_tools, the rule Edit applies to all of them.
var editors = []string{"Edit", "MultiEdit", "Write", "NotebookEdit"}

// toolForm matches the name of a tool, firstForm the first word of a command, and secondForm a subcommand.
var (
	toolForm   = text.Regexp(`^[A-Za-z][A-Za-z0-9_-]{0,100}$`)
	firstForm  = text.Regexp(`^[A-Za-z0-9._/+@=-]{1,100}$`)
	secondForm = text.Regexp(`^[a-z][a-z0-9-]{0,50}$`)
)

// PlainRule returns an entry for allowed_tools that describes a tool call. For a command, the entry
// contains the first word, and the second word if it looks like a subcommand. It returns "" if no entry
// can describe the call. It doesn't check whether the agent CLI would allow the call with this entry.
func PlainRule(tool, command string) string {
	switch {
	case slices.Contains(editors, tool):
		return "Edit"
	case tool != "Bash" && toolForm().MatchString(tool):
		return tool
	case tool != "Bash":
		return ""
	}
	words := strings.Fields(command)
	switch {
	case len(words) == 0 || !firstForm().MatchString(words[0]):
		return ""
	case len(words) > 1 && secondForm().MatchString(words[1]):
		return "Bash(" + words[0] + " " + words[1] + ":*)"
	}
	return "Bash(" + words[0] + ":*)"
}
