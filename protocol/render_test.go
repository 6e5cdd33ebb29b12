package protocol

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// TestRender checks which templates in a text are replaced, and what stays unchanged.
func TestRender(t *testing.T) {
	values := map[string]string{"a": "1", "b": "{{a}}", "empty": "", "n_2": "x", "x.y-z": "dots", "é": "accent", "open": "{{", "rest": "a}}"}
	lookup := func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	for _, c := range []struct{ body, want string }{
		{"", ""},
		{"plain\r\n", "plain\r\n"},
		{"{{a}}", "1"},
		{"<{{ a }}|{{\ta  }}>", "<1|1>"},
		{"{{b}}", "{{a}}"},
		{"{{open}}{{rest}}", "{{a}}"},
		{"{{empty}}", ""},
		{"{{unknown}} {{ unknown }}", "{{unknown}} {{ unknown }}"},
		{"{{{a}}}", "{1}"},
		{"{{{{a}}}}", "{{1}}"},
		{"{{a}", "{{a}"},
		{"{{a", "{{a"},
		{"{{", "{{"},
		{"{{}}", "{{}}"},
		{"{{a\n}}", "{{a\n}}"},
		{"{{a b}}", "{{a b}}"},
		{"{{n_2}}{{x.y-z}}{{é}}", "xdotsaccent"},
		{"{{.a}}{{#a}}", "{{.a}}{{#a}}"},
		{"{{unknown {{a}}", "{{unknown 1"},
		{"$10 \\1 {{a}} \xff", "$10 \\1 1 \xff"},
	} {
		assert.Check(t, is.Equal(Render(c.body, lookup), c.want), "body %q", c.body)
	}
}

// TestTemplates checks the names and positions of templates, and whether they belong to GitHub.
func TestTemplates(t *testing.T) {
	body := "é {{b}}\n${{ a }} {{}} {{a b}} {{c"
	got, want := Templates(body), []Template{{"b", Pos{1, 3}, false}, {"a", Pos{2, 2}, true}}
	assert.Check(t, slices.Equal(got, want), "body %q\ngot  %v\nwant %v", body, got, want)
}

// TestRenderIsLinear renders large texts. A renderer that looks back or ahead would need too much
// time for them.
func TestRenderIsLinear(t *testing.T) {
	for _, unit := range []string{"{", "{{", "{{a", "{{ ", "{{a}}", "{{a }"} {
		body := strings.Repeat(unit, 1<<18/len(unit))
		got := Render(body, func(name string) (string, bool) { return "{{" + name + "}}", true })
		assert.Check(t, is.Equal(got, body), "256 KiB of %q changed", unit)
	}
}
