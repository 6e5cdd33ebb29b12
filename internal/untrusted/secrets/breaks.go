package secrets

// Tools break long encodings into lines, at places that depend on what comes before a
// secret: a line break within a form hides nothing of it, be it a real one or as it stands
// in JSON.

// mayBreak reports whether a line break may begin with a byte.
func mayBreak(c byte) bool { return c == '\n' || c == '\r' || c == '\\' }

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
func joinedStart(b []byte) (joined [Shortest]byte, n int) {
	for i := 0; i < len(b) && n < Shortest; n++ {
		joined[n] = b[i]
		i++
		length, _ := breakAt(b[i:])
		i += length
	}
	return joined, n
}
