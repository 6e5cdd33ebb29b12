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
	maxUses    = 100 // of tools, at once
)

// Display tells what an agent CLI says and does while it runs, as far as the order wants it. It
// is for one goroutine, but for Usage.
type Display struct {
	Report func(runner.Progress) // whatever the order wants
	Hide   func(string) string   // replaces secrets; applied before a text is cut

	telling runner.Verbosity
	tools   bool  // each use of a tool is told as such, too
	uses    []use // of tools, under way, in the order in which they began
}

type use struct{ id, text string }

// NewDisplay returns what tells of an invocation; a nil tell is told nothing.
func NewDisplay(o runner.Order, tell func(runner.Progress)) Display {
	if tell == nil {
		tell = func(runner.Progress) {}
	}
	return Display{Report: tell, Hide: Hider(o), telling: o.Verbosity, tools: o.Prompt.ReportsTools}
}

// ReportUsage tells the tokens that were counted so far.
func (d *Display) ReportUsage(counted []state.Usage) {
	seen := runner.MeteredUsage(counted)
	d.Report(runner.Progress{Metered: &seen})
}

// ReportLine tells a line, in which there may be no secrets, and what is done from now on; "" for either
// tells nothing of it. What is done is told whatever the order wants: people watch it.
func (d *Display) ReportLine(line, doing string) {
	if d.telling == runner.VerbosityNone {
		line = ""
	}
	if line != "" || doing != "" {
		d.Report(runner.Progress{Text: line, Activity: doing})
	}
}

// ReportText tells what the model said, line by line.
func (d *Display) ReportText(text string) {
	if d.telling == runner.VerbosityNone {
		return
	}
	n := 0
	for line := range strings.Lines(d.Hide(text)) {
		if line = OneLine(line, shownWidth); line == "" {
			continue
		}
		if n++; n > shownLines {
			d.say("…")
			return
		}
		d.say(line)
	}
}

// say tells a line.
func (d *Display) say(line string) { d.ReportLine(line, d.doing()) }

// ReportActivity tells what is done from now on.
func (d *Display) ReportActivity() { d.ReportLine("", d.doing()) }

// BeginTool tells that the use of a tool has begun. What ends is told by an id; without one the end
// is not noticed.
func (d *Display) BeginTool(id, tool, input string) {
	if d.tools {
		d.Report(runner.Progress{Tool: &runner.ToolUse{Name: d.short(tool), Input: d.short(input)}})
	}
	text := d.ToolUse(tool, input)
	if id != "" && len(d.uses) < maxUses {
		d.uses = append(d.uses, use{id, text})
	}
	d.say(text)
}

// EndTools tells that uses of tools have ended.
func (d *Display) EndTools(ids ...string) {
	n := len(d.uses)
	d.uses = slices.DeleteFunc(d.uses, func(u use) bool { return slices.Contains(ids, u.id) })
	if len(d.uses) < n {
		d.ReportActivity()
	}
}

// ForgetTools forgets the uses of tools under way.
func (d *Display) ForgetTools() {
	d.uses = nil
	d.ReportActivity()
}

// doing says what the CLI is busy with.
func (d *Display) doing() string {
	switch len(d.uses) {
	case 0:
		return "waiting for the model"
	case 1:
		return "running " + d.uses[0].text
	}
	return fmt.Sprintf("running %s and %d more", d.uses[0].text, len(d.uses)-1)
}

// ToolUse returns a use of a tool as "Tool(input)", on one short line, without secrets.
func (d *Display) ToolUse(tool, input string) string {
	return fmt.Sprintf("%s(%s)", d.short(tool), d.short(input))
}

// short is a text on one short line, without secrets.
func (d *Display) short(text string) string { return OneLine(d.Hide(text), inputWidth) }
