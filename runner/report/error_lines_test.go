package report

import (
	"testing"
)

// TestErrorLines: the quote of a program's output has line breaks again, and nothing else
// has.
func TestErrorLines(t *testing.T) {
	for fault, want := range map[string]string{
		`exit code 3; stderr: line one\nline two`:   "exit code 3; stderr:\nline one\nline two",
		`exit code 3; stdout: a\r\nb; stderr: c`:    "exit code 3; stdout:\na\nb; stderr: c",
		`no tag; the output ends in "a\nb \\n c\n"`: "no tag; the output ends in\na\nb \\n c\n",
		`exit code 3; stderr: one line`:             `exit code 3; stderr: one line`,
		`the file C:\new is missing`:                `the file C:\new is missing`,
		`no tag; the output ends in "one"`:          `no tag; the output ends in "one"`,
		`max_ralph_iters_reached`:                   `max_ralph_iters_reached`,
	} {
		if got := ErrorLines(fault); got != want {
			t.Errorf("%s: got %q, want %q", fault, got, want)
		}
	}
}
