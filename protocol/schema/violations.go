package schema

import (
	"slices"
	"strconv"
	"strings"
)

// most is how many violations of a text are told.
const most = 5

// tried says why none of some alternatives is met, each reason once, of many the first ones.
func tried(failures []failure) string {
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

// list returns texts in quotation marks; of very many the first ones.
func list(texts []string) string {
	var all []string
	for _, text := range texts[:min(100, len(texts))] {
		all = append(all, quoted(text))
	}
	return strings.Join(all, ", ")
}

var inPointer = strings.NewReplacer("~", "~0", "/", "~1")

// below returns the JSON pointer to a member or an item of what a JSON pointer leads to.
func below(place, name string) string { return place + "/" + inPointer.Replace(name) }

// shorten cuts a text to what one line of a message has room for.
func shorten(s string) string {
	const longest = 200
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "…"
}
