package insight

import (
	"fmt"
	"unicode/utf8"
)

// escapes has how many bytes a byte may take in a page or in JSON, whichever is more.
var escapes = func() (size [256]int) {
	for i := range size {
		size[i] = 1
		if i < ' ' {
			size[i] = len(`\u0000`)
		}
	}
	for i, n := range map[byte]int{'\n': 2, '\t': 2, '\r': 2, '\\': 2, '<': 4, '>': 4, '&': 5, '"': 5, '\'': 5, '+': 5} {
		size[i] = n
	}
	return size
}()

// cost is how many bytes a text takes where it is shown.
func cost(text string) int {
	n := 0
	for i := range len(text) {
		n += escapes[text[i]]
	}
	return n
}

// cut returns a text without its middle when it takes more than most bytes where it is shown,
// and how many bytes of it were left out.
func cut(text string, most int) (string, int64) {
	if len(text) <= most && cost(text) <= most {
		return text, 0
	}
	room := most - 40 // of the words in the place of the middle
	head, n := 0, 0
	for head < len(text) && n+escapes[text[head]] <= room*2/3 {
		n += escapes[text[head]]
		head++
	}
	tail := len(text)
	for tail > head && n+escapes[text[tail-1]] <= room {
		tail--
		n += escapes[text[tail]]
	}
	for head > 0 && head < len(text) && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	out := int64(tail - head)
	return fmt.Sprintf("%s\n[... %d bytes ...]\n%s", text[:head], out, text[tail:]), out
}

// fit shortens a text, and returns what it takes then.
func fit(text *string, most int) int {
	*text = short(*text, most)
	return cost(*text)
}

// short is cut for a text whose length nobody needs to know.
func short(text string, most int) string {
	text, _ = cut(text, most)
	return text
}
