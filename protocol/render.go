package protocol

import "strings"

// template matches a {{name}}: letters, digits and _, and after the first of them also - and
// dots.
var template = pattern(`\{\{[ \t]*([_\pL\p{Nd}][_\pL\p{Nd}.-]*)[ \t]*\}\}`)

// Render returns body with every {{name}} replaced by the value that lookup returns for the
// name. Spaces and tabs around the name are allowed. Names that lookup doesn't know stay
// unchanged, and templates in a value are not replaced.
func Render(body string, lookup func(name string) (string, bool)) string {
	return template().ReplaceAllStringFunc(body, func(whole string) string {
		if value, ok := lookup(strings.Trim(whole, "{ \t}")); ok {
			return value
		}
		return whole
	})
}

// Template is a {{name}} in a text.
type Template struct {
	Name      string
	Pos       Pos
	IsForeign bool // ${{ }} is an expression of GitHub
}

// Templates returns the templates in body, in order.
func Templates(body string) []Template {
	var list []Template
	place := placer{text: body, pos: Pos{1, 1}}
	for _, m := range template().FindAllStringSubmatchIndex(body, -1) {
		list = append(list, Template{body[m[2]:m[3]], place.at(m[0]), strings.HasSuffix(body[:m[0]], "$")})
	}
	return list
}
