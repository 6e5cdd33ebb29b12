package secrets

import "strings"

// Tools break long encodings into lines, at places that depend on what comes before a
// secret: a line break within a form hides nothing of it, be it a real one or as it stands
// in JSON.

// mostBreak bounds how many bytes there are between two bytes of a form.
const mostBreak = 8

// breakAt returns the length of the line break that b begins with; 0 for none. It is open
// if b ends before that is known.
func breakAt(b []byte) (n int, open bool) {
	for n < len(b) && n < mostBreak {
		switch at := n; b[n] {
		case '\n', '\r':
			n++
		case '\\':
			for at < len(b) && at < mostBreak && b[at] == '\\' {
				at++
			}
			if at == len(b) {
				return n, true
			}
			if b[at] != 'n' && b[at] != 'r' {
				return n, false
			}
			n = at + 1
		default:
			return n, false
		}
	}
	return n, n == len(b)
}

// match returns how many bytes of b are the form, with line breaks in it, and 0 if b doesn't
// begin so; it is open if b ends before that is known. Inside says that the form is the end
// of one, before which there may be a line break too.
func match(form string, b []byte, inside bool) (n int, open bool) {
	for i := 0; i < len(form); {
		if n == len(b) {
			return 0, true
		}
		if b[n] == form[i] {
			n, i = n+1, i+1
			continue
		}
		if i == 0 && !inside {
			return 0, false
		}
		length, isOpen := breakAt(b[n:])
		if n += length; length == 0 || n == len(b) {
			return 0, isOpen
		}
		if b[n] != form[i] {
			return 0, isOpen
		}
	}
	return n, false
}

// joinedStart returns as many bytes as decide which forms b may begin with, without the line
// breaks between them; fewer where b ends before that.
func joinedStart(b []byte) (joined [MinLength]byte, n int) {
	for i := 0; i < len(b) && n < MinLength; n++ {
		joined[n] = b[i]
		i++
		length, _ := breakAt(b[i:])
		i += length
	}
	return joined, n
}

// withoutPieces hides the pieces of wrapped encodings, of Shortest bytes or more, with which words of a text begin or end: where
// a text is shown line by line, the other pieces are in other texts.
func (s *Set) withoutPieces(text string) string {
	if s.wrapped == "" {
		return text
	}
	var out strings.Builder
	shown := 0
	for i := 0; i < len(text); i++ {
		begin := i
		for i < len(text) && isEncoding(text[i]) {
			i++
		}
		if i-begin < MinLength {
			continue
		}
		word := text[begin:i]
		from, to := s.piece(word, 0), len(word)-s.piece(word, len(word)-MinLength)
		if from == 0 && to == len(word) {
			continue
		}
		stars := map[bool]string{true: hidden}
		out.WriteString(text[shown:begin] + stars[from > 0] + word[from:max(from, to)] + stars[to < len(word) && (from == 0 || from < to)])
		shown = i
	}
	return out.String() + text[shown:]
}

// isEncoding reports whether base64, in one of its alphabets, or hex may have a byte.
func isEncoding(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// piece returns the length of the longest piece of an encoding of which a word has the Shortest bytes at a position.
func (s *Set) piece(word string, at int) (longest int) {
	key := word[at : at+MinLength]
	if !s.pieces[key] { // a search for each word would take long
		return 0
	}
	for i := strings.Index(s.wrapped, key); i >= 0; {
		from, to := 0, MinLength
		for from < min(i, at) && s.wrapped[i-from-1] == word[at-from-1] {
			from++
		}
		for at+to < len(word) && s.wrapped[i+to] == word[at+to] { // each encoding ends with a line break
			to++
		}
		longest = max(longest, from+to)
		next := strings.Index(s.wrapped[i+1:], key)
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return longest
}
