package report

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// quotes are the words after which an error of one line quotes what a program wrote
// last, with its line breaks escaped.
var quotes = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`; (stderr|stdout): |; the output ends in `) })

// ErrorLines returns an error with real line breaks in what it quotes of a program's
// output, to be shown where there is room for several lines. The words before the
// quote, and errors that quote nothing, stay as they are.
func ErrorLines(fault string) string {
	at := quotes().FindStringIndex(fault)
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
