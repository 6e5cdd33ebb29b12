package report

import (
	"regexp"
	"strconv"
	"strings"
)

// quotes are how an error of one line has what a program wrote last: after these
// words, with its line breaks escaped.
var quotes = regexp.MustCompile(`; (stderr|stdout): |; the output ends in `)

// Unfold is an error with the line breaks of what a program wrote last, for where
// there is room for several lines. What comes before that is ours, and stays.
func Unfold(fault string) string {
	at := quotes.FindStringIndex(fault)
	if at == nil {
		return fault
	}
	said := fault[at[1]:]
	if text, err := strconv.Unquote(said); err == nil {
		said = text
	} else if strings.Contains(said, `\n`) {
		said = strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", `\r`, "\n").Replace(said)
	}
	if !strings.Contains(strings.TrimRight(said, "\n"), "\n") {
		return fault
	}
	return strings.TrimRight(fault[:at[1]], " ") + "\n" + said
}
