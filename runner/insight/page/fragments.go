package page

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/raymond-action/raymond-action/runner/report"
)

// fragment is a section of a text: plain text, a command or a URL.
type fragment struct {
	Text                string
	IsCommand           bool
	Before, Host, After string // sections of the URL in Text; Host is empty if Text is not a URL
}

// command matches a command in raymond's own texts: text between backticks, or a command line that
// starts with "raymond resume" or "raymond run" and may contain quoted words.
var command = regexp.MustCompile("`[^`]+`|raymond re(?:sume|run)(?: (?:'[^']*'|\\\\.|[^ ;('\\\\])+)+")

// markCommands splits a text so that each command is a separate fragment. It must only be used for
// raymond's own texts.
func markCommands(text string) []fragment {
	return splitAt(text, command.FindAllStringIndex(text, -1), func(s string) fragment {
		return fragment{Text: strings.Trim(s, "`"), IsCommand: true}
	})
}

// markLinks splits an untrusted text so that each URL that may become a link is a separate
// fragment.
func markLinks(text string) []fragment {
	return splitAt(text, report.FindURLs(text), func(s string) fragment {
		w := fragment{Text: s}
		if to, err := url.Parse(s); err == nil {
			w.Before, w.After, _ = strings.Cut(s, to.Host)
			w.Host = to.Host
		}
		return w
	})
}

// splitAt splits a text at the given ranges. The function other converts the text in each range.
func splitAt(text string, places [][]int, other func(string) fragment) []fragment {
	var out []fragment
	at := 0
	for _, p := range places {
		if p[0] > at {
			out = append(out, fragment{Text: text[at:p[0]]})
		}
		out = append(out, other(text[p[0]:p[1]]))
		at = p[1]
	}
	if at < len(text) {
		out = append(out, fragment{Text: text[at:]})
	}
	return out
}
