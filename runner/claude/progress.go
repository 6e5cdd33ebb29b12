package claude

import (
	"fmt"
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
)

// say tells one line, when lines are wanted.
func (s *stream) say(line string) {
	if s.order.Verbose {
		s.tell(runner.Progress{Text: line})
	}
}

// show tells a block of an assistant's message.
func (s *stream) show(b block) {
	switch {
	case !s.order.Verbose:
	case b.Type == "tool_use":
		s.say(toolUse(b.Name, b.Input))
	case b.Type == "text":
		s.showText(b.Text)
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

// denied lists refused tool uses.
func denied(all []denial) []string {
	var list []string
	for _, d := range all[:min(len(all), maxDenied)] {
		list = append(list, toolUse(d.Tool, d.Input))
	}
	return list
}

// telling are the inputs that say most about a use of a tool, best first.
var telling = []string{"command", "file_path", "notebook_path", "path", "url", "pattern", "query", "description"}

// toolUse returns a use of a tool as "Tool(input)", on one short line.
func toolUse(tool string, input jsontext.Value) string {
	var fields map[string]jsontext.Value
	if json.Unmarshal(input, &fields, loose) != nil {
		return fmt.Sprintf("%s(%s)", oneLine(tool, inputWidth), oneLine(string(input), inputWidth))
	}
	for _, name := range telling {
		var text string
		if json.Unmarshal(fields[name], &text, loose) == nil {
			return fmt.Sprintf("%s(%s)", oneLine(tool, inputWidth), oneLine(text, inputWidth))
		}
	}
	if len(fields) == 0 {
		return oneLine(tool, inputWidth) + "()"
	}
	return fmt.Sprintf("%s(%s)", oneLine(tool, inputWidth), oneLine(string(input), inputWidth))
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
