package text

import "strings"

// Fence returns a text as a code block of Markdown, which nothing in the text can end,
// with a line break at its end. Line breaks at the end of the text are dropped.
func Fence(s, language string) string {
	marks := strings.Repeat("`", max(3, longestRun(s)+1))
	return marks + language + "\n" + strings.TrimRight(s, "\n") + "\n" + marks + "\n"
}

// Code returns a line that isn't empty as a code span of Markdown, which nothing in it can end.
func Code(line string) string {
	marks := strings.Repeat("`", longestRun(line)+1)
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") {
		line = " " + line + " "
	}
	return marks + line + marks
}

// longestRun returns the number of backticks in the longest run of them. A code span
// or block whose marks are longer can't be ended by the text.
func longestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if run++; s[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
