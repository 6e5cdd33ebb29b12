package protocol

import "strings"

// template matches a {{name}}. The name begins with a letter, a digit or _. It may continue with
// letters, digits, _, - and dots.
var template = pattern(`\{\{[ \t]*([_\pL\p{Nd}][_\pL\p{Nd}.-]*)[ \t]*\}\}`)

// Render replaces every {{name}} in body with the value that lookup returns for the name. Spaces
// and tabs around the name are allowed. If lookup doesn't know a name, its template stays
// unchanged. Templates in a value are not replaced.
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
	IsForeign bool // true for ${{name}}, which is an expression of GitHub Actions
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
