package schema

import (
	"slices"
	"strconv"
	"strings"
)

// maxViolations is the largest number of violations that are reported for a text.
const maxViolations = 5

// reasons lists why a value fits none of the alternatives. It lists each reason once, and at most
// three reasons.
func reasons(failures []failure) string {
	const shown = 3
	var list []string
	for _, f := range failures {
		text := f.message
		if place := shorten(f.at); place != "" {
			text = "at " + place + ": " + text
		}
		if text = shorten(text); !slices.Contains(list, text) {
			list = append(list, text)
		}
		if len(list) == shown {
			break
		}
	}
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, "; or ")
}

// quoted returns a text in single quotation marks. It shortens a long text.
func quoted(text string) string {
	text = strconv.Quote(shorten(text))
	text = strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(text, "'", `\'`) + "'"
}

// list quotes and joins at most the first 100 texts.
func list(texts []string) string {
	var all []string
	for _, text := range texts[:min(100, len(texts))] {
		all = append(all, quoted(text))
	}
	return strings.Join(all, ", ")
}

// inPointer escapes a name for a JSON pointer.
var inPointer = strings.NewReplacer("~", "~0", "/", "~1")

// below appends the name of a member, or the index of an item, to a JSON pointer.
func below(place, name string) string { return place + "/" + inPointer.Replace(name) }

// shorten cuts a text to a length that fits into one line of a message.
func shorten(s string) string {
	const longest = 200
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
