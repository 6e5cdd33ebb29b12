package claude

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/raymond-action/raymond-action/runner"
)

const (
	shownLines = 200 // of one text block
	shownWidth = 2000
	maxDenied  = 100 // refused tool uses in an answer
	inputWidth = 120 // of a tool's input
	maxUses    = 100 // of tools, at once
)

// say tells one line.
func (s *stream) say(line string) { s.report(line, s.uses.doing()) }

// report tells a line, or what goes on, when that is wanted.
func (s *stream) report(line, doing string) {
	if s.order.Telling != runner.TellNothing {
		s.tell(runner.Progress{Text: line, Doing: doing})
	}
}

// hide replaces secrets in a text that is to be cut.
func (s *stream) hide(text string) string { return hidden(s.order, text) }

func hidden(o runner.Order, text string) string {
	if o.Hide == nil {
		return text
	}
	return o.Hide(text)
}

// show tells a block of an assistant's message.
func (s *stream) show(b block) {
	switch {
	case s.order.Telling == runner.TellNothing:
	case b.Type == "tool_use":
		use := s.toolUse(b.Name, b.Input)
		s.uses.begin(string(b.ID), use)
		s.say(use)
	case b.Type == "text":
		s.showText(s.hide(b.Text))
	}
}

func (s *stream) showText(text string) {
	n := 0
	for line := range strings.Lines(text) {
		if line = oneLine(line, shownWidth); line == "" {
			continue
		}
		if n++; n > shownLines {
			s.say("…")
			return
		}
		s.say(line)
	}
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
func (s *stream) denied(all []denial) []string {
	var list []string
	for _, d := range all[:min(len(all), maxDenied)] {
		list = append(list, s.toolUse(d.Tool, d.Input))
	}
	return list
}

// telling are the inputs that say most about a use of a tool, best first.
var telling = []string{"command", "file_path", "notebook_path", "path", "url", "pattern", "query", "description"}

// toolUse returns a use of a tool as "Tool(input)", on one short line.
func (s *stream) toolUse(tool string, input jsontext.Value) string {
	short := func(text string) string { return oneLine(s.hide(text), inputWidth) }
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

// oneLine returns text with each run of white space and control characters as
// one blank, cut at width characters.
func oneLine(text string, width int) string {
	var b strings.Builder
	n, gap := 0, false
	for _, r := range text {
		if r <= ' ' || r == 0x7f {
			gap = n > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
			n++
		}
		if gap = false; n >= width {
			return strings.TrimRight(b.String(), " ") + "…"
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
