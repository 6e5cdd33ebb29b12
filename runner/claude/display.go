package claude

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	untrusted "github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/runner"
	"github.com/raymond-action/raymond-action/runner/claude/tally"
)

const (
	shownLines = 200 // of one text block
	shownWidth = 2000
	maxDenied  = 100 // refused tool uses in an answer
	inputWidth = 120 // of a tool's input
	maxUses    = 100 // of tools, at once
)

// display tells what the CLI says and does while it runs.
type display struct {
	tell    func(runner.Progress)
	telling runner.Telling
	hide    func(string) string // replaces secrets; applied before a text is cut
	uses    uses                // of tools, under way
}

func newDisplay(o runner.Order, tell func(runner.Progress)) display {
	if tell == nil {
		tell = func(runner.Progress) {}
	}
	return display{tell: tell, telling: o.Telling, hide: hider(o)}
}

// hider is the order's Hide; without one texts stay as they are.
func hider(o runner.Order) func(string) string {
	if o.Hide == nil {
		return func(text string) string { return text }
	}
	return o.Hide
}

// line tells a line and what is done from now on, where that is wanted.
func (d *display) line(line, doing string) {
	if d.telling != runner.TellNothing {
		d.tell(runner.Progress{Text: line, Doing: doing})
	}
}

// say tells a line.
func (d *display) say(line string) { d.line(line, d.uses.doing()) }

// doing tells what is done from now on.
func (d *display) doing() { d.line("", d.uses.doing()) }

// usage tells what was counted so far. It is told in any case.
func (d *display) usage(counted []tally.Sum) {
	seen := runner.Metered(tally.Usage(counted))
	d.tell(runner.Progress{Metered: &seen})
}

// block tells a block of an assistant's message.
func (d *display) block(b block) {
	switch {
	case d.telling == runner.TellNothing:
	case b.Type == "tool_use":
		use := d.toolUse(b.Name, b.Input)
		d.uses.begin(string(b.ID), use)
		d.say(use)
	case b.Type == "text":
		d.text(d.hide(b.Text))
	}
}

func (d *display) text(text string) {
	n := 0
	for line := range strings.Lines(text) {
		if line = oneLine(line, shownWidth); line == "" {
			continue
		}
		if n++; n > shownLines {
			d.say("…")
			return
		}
		d.say(line)
	}
}

// endUses takes the results of tools out of the uses under way.
func (d *display) endUses(blocks content) {
	ended := false
	for _, b := range blocks {
		ended = b.Type == "tool_result" && d.uses.end(string(b.Use)) || ended
	}
	if ended {
		d.doing()
	}
}

// forgetUses forgets the uses of tools under way.
func (d *display) forgetUses() {
	d.uses = nil
	d.doing()
}

// uses are the uses of tools under way, in the order in which they began.
type uses []use

type use struct{ id, text string }

// begin notes that a use of a tool has begun. There is a limit to how many are
// known; what ends is told by an id, which not every stand-in of the CLI gives.
func (u *uses) begin(id, text string) {
	if id != "" && len(*u) < maxUses {
		*u = append(*u, use{id, text})
	}
}

// end notes that a use of a tool has ended, and reports whether it was known.
func (u *uses) end(id string) bool {
	i := slices.IndexFunc(*u, func(x use) bool { return x.id == id })
	if i < 0 {
		return false
	}
	*u = slices.Delete(*u, i, i+1)
	return true
}

// doing words what the CLI is busy with.
func (u uses) doing() string {
	switch len(u) {
	case 0:
		return "waiting for the model"
	case 1:
		return "running " + u[0].text
	}
	return fmt.Sprintf("running %s and %d more", u[0].text, len(u)-1)
}

// denied lists refused tool uses.
func (d *display) denied(all []denial) []string {
	var list []string
	for _, use := range all[:min(len(all), maxDenied)] {
		list = append(list, d.toolUse(use.Tool, use.Input))
	}
	return list
}

// telling are the inputs that say most about a use of a tool, best first.
var telling = []string{"command", "file_path", "notebook_path", "path", "url", "pattern", "query", "description"}

// toolUse returns a use of a tool as "Tool(input)", on one short line.
func (d *display) toolUse(tool string, input jsontext.Value) string {
	short := func(text string) string { return oneLine(d.hide(text), inputWidth) }
	var fields map[string]jsontext.Value
	if json.Unmarshal(input, &fields, loose) != nil {
		return fmt.Sprintf("%s(%s)", short(tool), short(string(input)))
	}
	for _, name := range telling {
		var text string
		if json.Unmarshal(fields[name], &text, loose) == nil {
			return fmt.Sprintf("%s(%s)", short(tool), short(text))
		}
	}
	if len(fields) == 0 {
		return short(tool) + "()"
	}
	return fmt.Sprintf("%s(%s)", short(tool), short(string(input)))
}

// oneLine returns a text on one line of at most width characters.
func oneLine(s string, width int) string { return untrusted.Brief(s, width) }
