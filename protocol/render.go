package protocol

import (
	"strings"
	"unicode"
)

// Render returns body with every {{name}} replaced by the value that lookup has for the
// name. Blanks around the name are allowed. Names that lookup does not have remain as
// they are, and templates in a value are not replaced.
func Render(body string, lookup func(name string) (string, bool)) string {
	var b strings.Builder
	eachTemplate(body, func(before, whole, name string) {
		b.WriteString(before)
		if value, ok := lookup(name); ok && name != "" {
			b.WriteString(value)
			return
		}
		b.WriteString(whole)
	})
	return b.String()
}

// Template is one {{name}} of a text.
type Template struct {
	Name      string
	Pos       Pos
	IsForeign bool // ${{ }} is GitHub's
}

// Templates returns those of body, in order.
func Templates(body string) []Template {
	var list []Template
	place, offset := placer{text: body, pos: Pos{1, 1}}, 0
	eachTemplate(body, func(before, whole, name string) {
		at := offset + len(before)
		offset = at + len(whole)
		if name != "" {
			list = append(list, Template{name, place.at(at), strings.HasSuffix(before, "$")})
		}
	})
	return list
}

// eachTemplate calls yield for every {{name}} with the text before it and the template
// itself, and at the end with the rest of the body and no name.
func eachTemplate(body string, yield func(before, whole, name string)) {
	from := 0
	for at := 0; ; {
		i := strings.Index(body[at:], "{{")
		if i < 0 {
			yield(body[from:], "", "")
			return
		}
		at += i
		name, length := templateAt(body[at:])
		if name == "" {
			at++
			continue
		}
		yield(body[from:at], body[at:at+length], name)
		at += length
		from = at
	}
}

// templateAt returns the name in the {{name}} that s begins with and the length
// of the whole, or "" when s begins with something else.
func templateAt(s string) (name string, length int) {
	inner := strings.TrimLeft(s[len("{{"):], " \t")
	n := nameLength(inner)
	rest, ok := strings.CutPrefix(strings.TrimLeft(inner[n:], " \t"), "}}")
	if !ok {
		return "", 0
	}
	return inner[:n], len(s) - len(rest)
}

// nameLength counts the bytes of the name that s begins with: letters, digits
// and _, and after the first of them also - and dots.
func nameLength(s string) int {
	for i, r := range s {
		word := r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
		if !word && (i == 0 || r != '-' && r != '.') {
			return i
		}
	}
	return len(s)
}
