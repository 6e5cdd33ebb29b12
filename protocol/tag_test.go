package protocol

import (
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// scanText returns the valid tags in a text without a policy, and the problems of the other tags.
func scanText(text string) ([]Tag, []Problem) {
	var tags []Tag
	var problems []Problem
	for _, t := range (&Transitions{}).scanMessage(text).tags {
		if len(t.Problems) == 0 {
			tags = append(tags, t.Tag)
		}
		problems = append(problems, t.Problems...)
	}
	return tags, problems
}

// TestScan checks which tags scanMessage finds in a text, and which problems these tags have.
func TestScan(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"no tag, 1 < 2", ""},
		{"<goto>", ""},
		{"<goto>A</goto>", "1:1 <goto>A</goto>"},
		{"<goto >A</goto\n>", "1:1 <goto>A</goto>"},
		{"< goto>A</goto>", ""},
		{"<goto>A</ goto>", ""},
		{"<goto/>A</goto>", ""},
		{"é\n ü<reset\tcd\n=\r\n'x'input=\"y\">A</reset>", `2:3 <reset input="y" cd="x">A</reset>`},
		{"```\n<goto>A</goto>\n```", "2:1 <goto>A</goto>"},
		{"<Goto>A</Goto><GOTO>A</GOTO><callback>x</callback><goto-x>A</goto-x><gotox>A</gotox>", ""},
		{"<goto>A <goto>B</goto>", "1:9 <goto>B</goto>"},
		{"<goto>A</goto></goto>", "1:1 <goto>A</goto>"},
		{"<goto>A<reset>B</goto>C</reset>", "1:1 <goto>A<reset>B</goto> | 1:8 <reset>B</goto>C</reset>"},
		{"<result>a<result>b</result>c</result>d", "1:1 <result>a<result>b</result>c</result>"},
		{"<result>a<goto>b</result>c</goto>", "1:1 <result>a<goto>b</result>"},
		{"<goto>A<result>b</goto>c</result>", "1:8 <result>b</goto>c</result>"},
		{"<result>a <result>b</result>", "1:11 <result>b</result>"},
		{"<result>a</result><result>b</result>", "1:1 <result>a</result> | 1:19 <result>b</result>"},
		{"<result>a <goto input='</result>'>b</goto></result>", "1:1 <result>a <goto input='</result>'>b</goto></result>"},
		{`<goto input="<result>x</result>">A</goto>`, `1:1 <goto input="&lt;result&gt;x&lt;/result&gt;">A</goto>`},
		{`<goto input="a>b">A</goto>`, `1:1 <goto input="a&gt;b">A</goto>`},
		{`<goto input='"'>A</goto>`, `1:1 <goto input="&quot;">A</goto>`},
		{`<goto input="&amp;lt; &quot; &apos; &lt; &gt; &#65; &nbsp;">A</goto>`,
			`1:1 <goto input="&amp;lt; &quot; ' &lt; &gt; &amp;#65; &amp;nbsp;">A</goto>`},
		{`<goto input="x>A</goto>`, `! 1:1 <goto>: its attributes "input=\"x" are not written name="value"`},
		{`<goto input>A</goto>`, `! 1:1 <goto>: its attributes "input" are not written name="value"`},
		{`<goto input=\"x\">A</goto>`, `! 1:1 <goto>: its attributes "input=\\\"x\\\"" are not written name="value"`},
		{`<goto / >A</goto>`, `! 1:1 <goto>: its attributes "/" are not written name="value"`},
		{`<goto <b>A</goto>`, ""},
		{`<goto Input="x">A</goto>`, `! 1:1 <goto>: it has no attribute "Input"`},
		{`<fork x="1" next="N" x="2">A</fork>`, `! 1:1 <fork>: attribute "x" appears twice`},
		{`<fork x="1">A</fork>`, `! 1:1 <fork>: attribute "next" is missing`},
		{`<fork ü="1" next="N">A</fork>`, `! 1:1 <fork>: attribute "ü" is not a name of letters, digits, _ and -`},
		{`<call next="N">A</call>`, `! 1:1 <call>: it has no attribute "next" | ! 1:1 <call>: attribute "return" is missing`},
		{`<result input="x">A</result>`, `! 1:1 <result>: it has no attribute "input"`},
		// The tags ask and join, which are also words in prose.
		{"<join>A</join> <goto>B</goto>", "1:16 <goto>B</goto>"},
		{"<join>a b</join>", "1:1 <join>a b</join>"},
		{"<join>a b</join><result>c</result>", "1:17 <result>c</result>"},
		{`<ask next="A">b<ask next='B'>c</ask>d</ask>e</ask>`, `1:1 <ask next="A">b<ask next='B'>c</ask>d</ask>`},
		{`<ask next="A">b<ask>c</ask>d</ask>`, `1:1 <ask next="A">b<ask>c</ask>d</ask>`},
		{`<ask next="A">b<result>c</ask>d</result>`, `1:1 <ask next="A">b<result>c</ask>`},
		{`<result>b<ask next="A">c</result>d</ask>`, `1:1 <result>b<ask next="A">c</result>`},
		{`<ask next="A">b<goto>C</goto>`, `1:16 <goto>C</goto>`},
		{`<ask>b<goto>C</goto></ask>`, `1:7 <goto>C</goto>`},
		{`<ask>b</ask>`, `! 1:1 <ask>: attribute "next" is missing`},
	} {
		tags, problems := scanText(c.text)
		var parts []string
		for _, t := range tags {
			parts = append(parts, t.Pos.String()+" "+t.String())
		}
		for _, p := range problems {
			parts = append(parts, "! "+p.Pos.String()+" "+p.Message)
		}
		assert.Check(t, is.Equal(strings.Join(parts, " | "), c.want), "text %q", c.text)
	}
}

// randomTag returns a random tag. Only the body of a result may contain other tags.
func randomTag(r *rand.Rand) Tag {
	alphabet := []string{"a", "B", "é", "<", ">", "&", `"`, "'", "\n", " ", "&amp;", "</goto>", "<b>", "\xff"}
	words := func(not string) string {
		var b strings.Builder
		for range r.IntN(8) {
			if w := alphabet[r.IntN(len(alphabet))]; not == "" || !strings.Contains(w, not) {
				b.WriteString(w)
			}
		}
		return b.String()
	}
	t := Tag{Verb: verbs[r.IntN(len(verbs))], Body: words("<")}
	names := attributesOf[t.Verb]
	if t.Verb == Fork {
		names = append([]string{"item", "A_1"}, names...)
	}
	for _, name := range names {
		if name != requiredOf[t.Verb] && r.IntN(2) == 0 {
			continue
		}
		if t.Attrs == nil {
			t.Attrs = map[string]string{}
		}
		t.Attrs[name] = words("")
	}
	if t.Verb == Result && r.IntN(2) == 0 {
		t.Body += "<result>" + words("<") + "<goto>A</goto></result>" + words("<")
	}
	return t
}

// TestTagRoundTrip checks that scanning the text of a tag returns the tag.
func TestTagRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		want := randomTag(r)
		text := "x\n" + want.String() + "y"
		tags, problems := scanText(text)
		assert.Assert(t, is.Len(tags, 1), "text %q\ngot  %+v %v\nwant one tag", text, tags, problems)
		assert.Assert(t, is.Len(problems, 0), "text %q\ngot  %+v %v\nwant one tag", text, tags, problems)
		got := tags[0]
		if got.Verb != want.Verb || got.Body != want.Body || !maps.Equal(got.Attrs, want.Attrs) || got.Pos != (Pos{2, 1}) {
			t.Fatalf("text %q\ngot  %+v\nwant %+v at 2:1", text, got, want)
		}
	}
}

// TestScanIsLinear scans large texts. A scanner that looks back or ahead would need too much time
// for them.
func TestScanIsLinear(t *testing.T) {
	for _, c := range []struct {
		unit string
		size int // in bytes
		want int // number of tags
	}{
		{"<result>", 1 << 18, 0},
		{"<goto>", 1 << 18, 0},
		{"</result>", 1 << 18, 0},
		{"<goto>A</goto>", 14 * 10_000, 10_000},
		{"<result></result>", 17 * 10_000, 10_000},
		{"<goto x>A</goto>", 16 * 10_000, 0},
		{`<ask a="">`, 1 << 18, 0},
		{"<ask><result>", 1 << 18, 0},
		{`<ask next="A">q</ask>`, 21 * 10_000, 10_000},
		{`<ask next="`, 1 << 18, 0},
		{"<join>A</join>", 14 * 10_000, 10_000},
		{"<join>A</join><goto>A</goto>", 28 * 10_000, 10_000},
		{"<goto a=\"", 1 << 18, 0},
		{"<goto a='x' b=\"", 1 << 18, 0},
		{"<goto a='\"' b=\"' c='", 1 << 18, 0},
		{"<fork a=\"' b='<fork a=\"' b='", 1 << 18, 0},
		{"<goto ", 1 << 18, 0},
		{"</goto ", 1 << 18, 0},
	} {
		tags, _ := scanText(strings.Repeat(c.unit, c.size/len(c.unit)))
		assert.Check(t, is.Equal(len(tags), c.want), "%d bytes of %q\ngot  %d tags\nwant %d", c.size, c.unit, len(tags), c.want)
	}
}
