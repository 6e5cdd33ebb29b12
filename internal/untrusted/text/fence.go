package text

import "strings"

// Fence returns a text as a Markdown code block that nothing in the text can end, followed by a line
// break. Line breaks at the end of the text are dropped.
func Fence(s, language string) string {
	marks := strings.Repeat("`", max(3, longestRun(s)+1))
	return marks + language + "\n" + strings.TrimRight(s, "\n") + "\n" + marks + "\n"
}

// Code returns a non-empty line as a Markdown code span that nothing in the line can end.
func Code(line string) string {
	marks := strings.Repeat("`", longestRun(line)+1)
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") {
		line = " " + line + " "
	}
	return marks + line + marks
}

// longestRun returns the length of the longest run of backticks. A text can't end a code span or block
// whose delimiters are longer.
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
