package text

import "strings"

// Fence returns a text as a code block of Markdown, which nothing in the text can end,
// with a line break at its end. Line breaks at the end of the text are dropped.
func Fence(s, language string) string {
	marks := strings.Repeat("`", max(3, LongestRun(s)+1))
	return marks + language + "\n" + strings.TrimRight(s, "\n") + "\n" + marks + "\n"
}

// LongestRun returns the number of backticks in the longest run of them. A code span
// or block whose marks are longer can't be ended by the text.
func LongestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if run++; s[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
