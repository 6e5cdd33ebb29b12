package secrets

import "strings"

// A form is a secret value in a particular encoding. Many programs break long encodings into lines. Where
// they break them depends on the text before the secret. So a form is also found if it contains line breaks,
// even if these are escaped as in JSON.

// maxBreak is the maximum length of a line break between two bytes of a form, in bytes.
const maxBreak = 8

// breakAt returns the length of the line break at the start of b, or 0 if b starts differently. open
// reports whether the line break may continue after the end of b.
func breakAt(b []byte) (n int, open bool) {
	for n < len(b) && n < maxBreak {
		switch at := n; b[n] {
		case '\n', '\r':
			n++
		case '\\':
			for at < len(b) && at < maxBreak && b[at] == '\\' {
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

// match returns the length of the form at the start of b, including line breaks in it. It returns 0 if b
// starts differently. open reports whether b is too short to decide. inside means that form is the end of a
// longer form, so b may begin with a line break.
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

// joinedStart returns the first MinLength bytes of b that are not line breaks, as the key for byStart. If b
// has fewer such bytes, n is their number.
func joinedStart(b []byte) (joined [MinLength]byte, n int) {
	for i := 0; i < len(b) && n < MinLength; n++ {
		joined[n] = b[i]
		i++
		length, _ := breakAt(b[i:])
		i += length
	}
	return joined, n
}

// withoutPieces masks pieces of a wrapped encoding at the start or end of a word, if a piece has at least
// MinLength bytes. It is needed for logs that show a text line by line: each line contains only a piece of
// the encoding.
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

// isEncoding reports whether a byte can occur in hex, in base64 or in URL-safe base64.
func isEncoding(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '-' || c == '_'
}

// piece returns the length of the longest piece of a known encoding that contains word[at:at+MinLength]. It
// returns 0 if no encoding contains these bytes.
func (s *Set) piece(word string, at int) (longest int) {
	key := word[at : at+MinLength]
	if !s.pieces[key] { // a search in wrapped for each word would take too long
		return 0
	}
	for i := strings.Index(s.wrapped, key); i >= 0; {
		from, to := 0, MinLength
		for from < min(i, at) && s.wrapped[i-from-1] == word[at-from-1] {
			from++
		}
		for at+to < len(word) && s.wrapped[i+to] == word[at+to] { // stops at a line break, so it stays within wrapped
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
