package schema

import (
	"slices"
	"strconv"
	"strings"
)

// maxViolations is how many violations of a text are reported.
const maxViolations = 5

// reasons lists why a value meets no alternative: each reason once, at most three.
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

// quoted returns a text in quotation marks.
func quoted(text string) string {
	text = strconv.Quote(shorten(text))
	text = strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`)
	return "'" + strings.ReplaceAll(text, "'", `\'`) + "'"
}

// list joins texts, each in quotation marks, at most the first 100.
func list(texts []string) string {
	var all []string
	for _, text := range texts[:min(100, len(texts))] {
		all = append(all, quoted(text))
	}
	return strings.Join(all, ", ")
}

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
