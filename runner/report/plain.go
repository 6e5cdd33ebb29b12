package report

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/raymond-action/raymond-action/internal/untrusted/text"
	"github.com/raymond-action/raymond-action/state"
)

// maxBytes limits the time for a long text: only this many bytes at its start and its end are
// converted.
const maxBytes = 8 << 10

// plain converts an untrusted text to one line of printable text. It removes escape sequences,
// control characters, invisible characters and characters that change the writing direction. It
// replaces white space with single spaces, and breaks up the marks of job log commands: "##["
// anywhere, and "::" at the start of a line.
func plain(s string) string {
	return breakCommands(strings.Join(strings.Fields(text.Line(s)), " "))
}

// breakCommands changes a line so that a job log does not interpret it as a command.
func breakCommands(line string) string {
	if at := strings.TrimLeft(line, " "); strings.HasPrefix(at, "::") {
		line = line[:len(line)-len(at)] + ": " + at[1:]
	}
	return text.BreakCommandMark(line)
}

// plainLines converts an untrusted text with several lines to printable text. It keeps indentation.
// Unlike plain, it does not break up the marks of job log commands.
func plainLines(s string) string { return strings.Trim(text.Printable(s), "\n") }

// cut converts a text to one plain line with at most width columns. If it shortens the text, the
// line ends with an ellipsis.
func cut(text string, width int) string {
	dropped := len(text) > maxBytes
	text = plain(text[:min(len(text), maxBytes)])
	if !dropped && columns(text) <= width {
		return text
	}
	return head(text, width-columns(ellipsis)) + ellipsis
}

// cutMiddle is like cut, but removes the middle of a long text. The end of the text may be important
// too, as in an error that quotes the end of an output.
func cutMiddle(text string, width int) string { return cutToEnds(text, width, plain) }

// cutOutput is like cutMiddle for a line that plainLines returned. It keeps the line's white space,
// and replaces each tab with four spaces.
func cutOutput(line string, width int) string {
	return cutToEnds(line, width, func(s string) string {
		return strings.TrimRight(breakCommands(strings.ReplaceAll(text.Line(s), "\t", "    ")), " ")
	})
}

// cutToEnds shortens a text to its start and its end, with an ellipsis between them. The function
// shown converts the start and the end to plain text.
func cutToEnds(text string, width int, shown func(string) string) string {
	if len(text) <= 2*maxBytes {
		text = shown(text)
		if columns(text) <= width {
			return text
		}
	}
	room := width - columns(ellipsis)
	start := shown(text[:min(len(text), maxBytes)])
	end := shown(text[max(0, len(text)-maxBytes):])
	return head(start, room-room/2) + ellipsis + tail(end, room/2)
}

const ellipsis = "…"

// columns returns the number of terminal columns that a text needs at most. Characters that may be
// two columns wide count as two.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

// runeColumns returns how many columns a character takes at most.
func runeColumns(r rune) int {
	if r < 0x1100 || r == utf8.RuneError {
		return 1
	}
	return 2
}

// head returns the longest start of a text that fits into width columns.
func head(text string, width int) string {
	for i, r := range text {
		if width -= runeColumns(r); width < 0 {
			return text[:i]
		}
	}
	return text
}

// tail returns the longest end of a text that fits into width columns.
func tail(text string, width int) string {
	at := len(text)
	for at > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:at])
		if width -= runeColumns(r); width < 0 {
			break
		}
		at -= size
	}
	return text[at:]
}

// pad appends spaces to a text until it is width columns wide.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}

// FormatDuration formats a duration, as in "1.2s", "3m04s" and "1h02m".
func FormatDuration(d time.Duration) string {
	if tenths := d.Round(time.Second / 10); tenths < time.Minute {
		return fmt.Sprintf("%.1fs", max(0, tenths).Seconds())
	}
	return formatClock(d.Round(time.Second))
}

// formatClock formats a duration in whole seconds, as in "12s", "3m04s" and "1h02m".
func formatClock(d time.Duration) string {
	s := int64(max(0, d) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}

// formatMillis formats a duration in milliseconds like FormatDuration.
func formatMillis(ms int64) string { return FormatDuration(millisOf(ms)) }

// FormatSeconds formats a duration in seconds like FormatDuration.
func FormatSeconds(s float64) string { return FormatDuration(secondsOf(s)) }

// millisOf converts milliseconds to a duration.
func millisOf(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// secondsOf converts seconds to a duration.
func secondsOf(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// count formats a number with a noun, as in "1 state" and "2 states".
func count(n int, thing string) string { return state.Count(n, thing) }
