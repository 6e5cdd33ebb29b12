package page

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/raymond-action/raymond-action/runner/report"
)

// words are a part of a text.
type words struct {
	Text                string
	IsCommand           bool
	Before, Host, After string // the parts of an address that Text is; no Host: it is none
}

// command is what can be copied in our words: code, or a command line, in which a shell's quotes may hold anything.
var command = regexp.MustCompile("`[^`]+`|raymond re(?:sume|run)(?: (?:'[^']*'|\\\\.|[^ ;('\\\\])+)+")

// withCommands splits our own words where commands are.
func withCommands(text string) []words {
	return split(text, command.FindAllStringIndex(text, -1), func(s string) words {
		return words{Text: strings.Trim(s, "`"), IsCommand: true}
	})
}

// withLinks splits a text of a stranger where addresses are that may be links: each leads where
// it says.
func withLinks(text string) []words {
	return split(text, report.FindURLs(text), func(s string) words {
		w := words{Text: s}
		if to, err := url.Parse(s); err == nil {
			w.Before, w.After, _ = strings.Cut(s, to.Host)
			w.Host = to.Host
		}
		return w
	})
}

// split splits a text at places that are something else.
func split(text string, places [][]int, other func(string) words) []words {
	var out []words
	at := 0
	for _, p := range places {
		if p[0] > at {
			out = append(out, words{Text: text[at:p[0]]})
		}
		out = append(out, other(text[p[0]:p[1]]))
		at = p[1]
	}
	if at < len(text) {
		out = append(out, words{Text: text[at:]})
	}
	return out
}
