package text

import "strings"

// Fence returns a text as a fenced Markdown code block, followed by a line break. The fence is longer than
// all runs of backticks in the text, so the text can't end the block. Line breaks at the end of the text
// are removed.
func Fence(s, language string) string {
	marks := strings.Repeat("`", max(3, longestRun(s)+1))
	return marks + language + "\n" + strings.TrimRight(s, "\n") + "\n" + marks + "\n"
}

// Code returns a line as a Markdown code span. Nothing in the line can end the span. The line must not be
// empty.
func Code(line string) string {
	marks := strings.Repeat("`", longestRun(line)+1)
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") {
		line = " " + line + " "
	}
	return marks + line + marks
}

// longestRun returns the length of the longest run of backticks in a text. If the delimiters of a code span
// or block are longer, the text can't end it.
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
