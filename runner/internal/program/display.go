package program

import (
	"fmt"
	"slices"
	"strings"

	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/state"
)

const (
	shownLines = 200 // of one text
	shownWidth = 2000
	inputWidth = 120 // of a tool's input
	maxUses    = 100 // tools that are tracked at once
)

// Display reports the output and the activity of a running agent CLI, as far as the order wants it.
// Only one goroutine may use it, except for ReportUsage.
type Display struct {
	Report func(runner.Progress) // gets everything that the order wants to see
	Hide   func(string) string   // replaces secrets; called before a text is cut

	verbosity    runner.Verbosity
	reportsTools bool      // each use of a tool is also reported as Progress.Tool
	running      []toolUse // the tools that are running, in the order in which they started
}

type toolUse struct{ id, text string }

// NewDisplay returns the display of an invocation. report may be nil.
func NewDisplay(o runner.Order, report func(runner.Progress)) Display {
	if report == nil {
		report = func(runner.Progress) {}
	}
	return Display{Report: report, Hide: Hider(o), verbosity: o.Verbosity, reportsTools: o.Prompt.ReportsTools}
}

// ReportUsage reports the tokens that were counted so far.
func (d *Display) ReportUsage(counted []state.Usage) {
	seen := runner.MeteredUsage(counted)
	d.Report(runner.Progress{Metered: &seen})
}

// ReportLine reports a line, which must not contain secrets, and the CLI's new activity.
// Either may be "". The activity is reported even if the order wants no lines, because people watch it.
func (d *Display) ReportLine(line, doing string) {
	if d.verbosity == runner.VerbosityNone {
		line = ""
	}
	if line != "" || doing != "" {
		d.Report(runner.Progress{Text: line, Activity: doing})
	}
}

// ReportText reports a text of the model, line by line.
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

// ReportActivity reports the CLI's current activity.
func (d *Display) ReportActivity() { d.ReportLine("", d.activity()) }

// BeginTool reports that a tool has started. A tool without an id can't be ended by EndTools, so the
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

// EndTools reports that the tools with these ids have ended.
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

// activity describes the current activity.
func (d *Display) activity() string {
	switch len(d.running) {
	case 0:
		return "waiting for the model"
	case 1:
		return "running " + d.running[0].text
	}
	return fmt.Sprintf("running %s and %d more", d.running[0].text, len(d.running)-1)
}

// ToolUse returns a use of a tool as "Tool(input)", on one short line, without secrets.
func (d *Display) ToolUse(tool, input string) string {
	return fmt.Sprintf("%s(%s)", d.short(tool), d.short(input))
}

// short returns a text on one short line, without secrets.
func (d *Display) short(text string) string { return OneLine(d.Hide(text), inputWidth) }
