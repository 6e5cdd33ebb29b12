package schema

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"
)

// mustParse parses a schema that must be valid.
func mustParse(t testing.TB, text string) *Schema {
	t.Helper()
	s, v := Parse(text)
	assert.Assert(t, is.Nil(v), "schema %.200s", text)
	return s
}

// textOf returns the violations as text, one per line.
func textOf(list []Violation) string {
	var b strings.Builder
	for _, v := range list {
		b.WriteString(v.String() + "\n")
	}
	return b.String()
}

// TestParseRefuses checks that Parse rejects texts that are not schemas or that refer to other
// documents, and that it reports where the mistake is.
func TestParseRefuses(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "it is empty, not JSON"},
		{"{", "it is not JSON: unexpected EOF (line 1)"},
		{"{\n \"type\": x}", "it is not JSON: invalid character 'x' at start of value (line 2)"},
		{`{"type":"string","type":"null"}`, "at /type: the name appears twice"},
		{"[]", "got array, want boolean or object"},
		{`{"items":[{}]}`, "at /items: got array, want boolean or object"},
		{`{"properties":{"a":{"pattern":"(?=x)"}}}`, "at /properties/a/pattern: '(?=x)' is not a valid regular expression (RE2): error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{`{"properties":{"a":{"$ref":"https://example.com/x.json"}}}`, `at /properties/a/$ref: "https://example.com/x.json" is not in this schema, and nothing else is read; write #/$defs/NAME`},
		{`{"$ref":"other.json#/$defs/a"}`, `at /$ref: "other.json#/$defs/a" is not in this schema, and nothing else is read; write #/$defs/NAME`},
		{`{"$ref":"file:///etc/passwd"}`, `at /$ref: "file:///etc/passwd" is not in this schema, and nothing else is read; write #/$defs/NAME`},
		{`{"$ref":"#/$defs/a"}`, `at /$ref: there is no schema at "#/$defs/a"`},
		{`{"$ref":"#/enum/0","enum":[{"not":{}}]}`, `at /$ref: there is no schema at "#/enum/0"`},
		{`{"$ref":"#a"}`, `at /$ref: there is no schema at "#a"`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#"}`, "at /$schema: only https://json-schema.org/draft/2020-12/schema is possible, at the top"},
		{`{"not":{"$id":"https://example.com/a"}}`, "at /not/$id: only the whole schema can have an id"},
		{`{"items":{"unevaluatedItems":{}}}`, "at /items/unevaluatedItems: the keyword is not supported: see docs/language.md#answers-that-are-checked"},
		{`{"maximum":1e999999999}`, "at /maximum: the number is too large"},
	}
	for _, test := range tests {
		if _, v := Parse(test.text); v == nil || v.String() != test.want {
			t.Errorf("schema %.100s\ngot:  %v\nwant: %s", test.text, v, test.want)
		}
	}
}

// verdict is a schema with many kinds of keywords.
const verdict = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/verdict",
	"type": "object", "required": ["verdict", "findings"], "additionalProperties": false,
	"properties": {
		"verdict": {"enum": ["ok", "bad"]},
		"findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
		"by": {"anyOf": [{"type": "string"}, {"required": ["name"], "maxProperties": 1}]}
	},
	"$defs": {"finding": {"type": "object", "properties": {
		"line": {"type": "integer", "minimum": 1}, "file": {"type": "string", "pattern": "^[a-z]+$", "format": "date"}
	}}}
}`

// TestCheck checks which violations are found in a text, each with its JSON pointer and its rule.
func TestCheck(t *testing.T) {
	s := mustParse(t, verdict)
	tests := []struct{ text, want string }{
		{`{"verdict":"ok","findings":[]}`, ""},
		{" \n{\"verdict\":\"ok\",\"findings\":[{\"file\":\"a\",\"line\":1.0}], \"by\": {\"name\": 1}}\n", ""},
		{"", "it is empty, not JSON\n"},
		{"yes", "it is not JSON: invalid character 'y' at start of value (line 1)\n"},
		{"{}\nthat is all", "it is not JSON: invalid character 't' after top-level value (line 2)\n"},
		{"{} {}", "it is not JSON: invalid character '{' after top-level value (line 1)\n"},
		{"```json\n{}\n```", "it is not JSON: invalid character '`' at start of value (line 1)\n"},
		{`{"verdict":"ok","findings":[{"line":1,"line":2}]}`, "at /findings/0/line: the name appears twice\n"},
		{"{\"verdict\":\"\xff\"}", "it is not JSON: invalid UTF-8 (line 1)\n"},
		{`[]`, "got array, want object (rule /type)\n"},
		{`{"verdict":"ok","findings":[{"line":1e1},{"line":1.5}]}`,
			"at /findings/1/line: got number, want integer (rule /$defs/finding/properties/line/type)\n"},
		{`{"verdict":"maybe","findings":[{"line":"a"},{"line":0,"file":"A"}],"z":1,"a":2}`,
			"additional properties 'a', 'z' not allowed (rule /additionalProperties)\n" +
				"at /findings/0/line: got string, want integer (rule /$defs/finding/properties/line/type)\n" +
				"at /findings/1/file: 'A' does not match pattern '^[a-z]+$' (rule /$defs/finding/properties/file/pattern)\n" +
				"at /findings/1/line: minimum: got 0, want 1 (rule /$defs/finding/properties/line/minimum)\n" +
				"at /verdict: value must be one of 'ok', 'bad' (rule /properties/verdict/enum)\n"},
		{`{"findings":[]}`, "missing property 'verdict' (rule /required)\n"},
		{`{"verdict":"ok","findings":[],"by":1}`, ""},
		{`{"verdict":"ok","findings":[],"by":{"naming":1}}`, "at /by: 'anyOf' failed: at /by: got object, want string; or at /by: missing property 'name' (rule /properties/by/anyOf)\n"},
		{`{"verdict":"ok","findings":[` + strings.Repeat(`{"line":0},`, 20) + `{}]}`, "at /findings/0/line: minimum: got 0, want 1 (rule /$defs/finding/properties/line/minimum)\n" +
			"at /findings/1/line: minimum: got 0, want 1 (rule /$defs/finding/properties/line/minimum)\n" +
			"at /findings/10/line: minimum: got 0, want 1 (rule /$defs/finding/properties/line/minimum)\n" +
			"at /findings/11/line: minimum: got 0, want 1 (rule /$defs/finding/properties/line/minimum)\n" +
			"at /findings/12/line: minimum: got 0, want 1 (rule /$defs/finding/properties/line/minimum)\n15 more of these\n"},
	}
	for _, test := range tests {
		assert.Check(t, is.Equal(textOf(s.Check(test.text)), test.want), "%.300s", test.text)
	}
}

// TestViolationIsReportedOnce checks that a violation which is found on several paths through the
// schema is reported once. It also checks that violations are sorted by their JSON pointers.
func TestViolationIsReportedOnce(t *testing.T) {
	const ab = `"$defs":{"ab":{"required":["a","b"],"properties":{"a":{"minimum":1}}}}`
	tests := []struct{ schema, text, want string }{
		{`{"$ref":"#/$defs/ab","allOf":[{"$ref":"#/$defs/ab"},{"$ref":"#/$defs/ab"}],` + ab + `}`, `{"a":0}`,
			"missing property 'b' (rule /$defs/ab/required)\n" +
				"at /a: minimum: got 0, want 1 (rule /$defs/ab/properties/a/minimum)\n"},
		{`{"anyOf":[{"required":["a"]},{"required":["a"],"maxProperties":1},{"required":["a","b"]},{"type":"null"},{"type":"array"}]}`, `{}`,
			"'anyOf' failed: missing property 'a'; or missing properties 'a', 'b'; or got object, want null (rule /anyOf)\n"},
		{`{"oneOf":[{"$ref":"#/$defs/ab"},{"$ref":"#/$defs/ab"}],` + ab + `}`, `{"a":0,"b":0}`,
			"'oneOf' failed, none matched: at /a: minimum: got 0, want 1 (rule /oneOf)\n"},
	}
	for _, test := range tests {
		assert.Check(t, is.Equal(textOf(mustParse(t, test.schema).Check(test.text)), test.want), "schema %s\n%s", test.schema, test.text)
	}
}

// TestLargeAnswers checks the limits on the size and depth of a text, and on its numbers.
func TestLargeAnswers(t *testing.T) {
	s := mustParse(t, "true")
	for name, test := range map[string]struct{ text, want string }{
		"deep":      {strings.Repeat("[", 300) + strings.Repeat("]", 300), "too much to decode: its values are more than 256 deep\n"},
		"long":      {`"` + strings.Repeat("x", 1<<20) + `"`, "it has 1048578 bytes, over the limit of 1048576\n"},
		"number":    {"[1e400000000]", "at /0: the number is too large\n"},
		"some long": {"[" + strings.Repeat("9", 300) + ", 1e-300, 1E+10]", ""},
	} {
		assert.Check(t, is.Equal(textOf(s.Check(test.text)), test.want), name)
	}
}

// TestExplodingSchemaIsStopped checks that a check stops if each level of the schema doubles the
// work, for a valid and an invalid value.
func TestExplodingSchemaIsStopped(t *testing.T) {
	levels := ""
	for i := range 60 {
		levels += fmt.Sprintf(`"%d":{"allOf":[{"$ref":"#/$defs/%[2]d"},{"$ref":"#/$defs/%[2]d"}]},`, i, i+1)
	}
	s := mustParse(t, `{"$ref":"#/$defs/0","$defs":{`+levels+`"60":{"type":"object"}}}`)
	for _, text := range []string{"{}", "1"} {
		assert.Check(t, is.Contains(textOf(s.Check(text)), "simplify the schema"), text)
	}
}

// FuzzCheck checks that Check can handle any text, and that its messages are neither long nor empty.
func FuzzCheck(f *testing.F) {
	schemas := []*Schema{
		mustParse(f, verdict),
		mustParse(f, `{"multipleOf":0.1,"uniqueItems":true,"prefixItems":[true],"additionalProperties":{"$ref":"#"}}`),
	}
	for _, text := range []string{`{"verdict":"ok","findings":[]}`, `{"a":[1,{"b":null}]}`, `["\ud800", -0]`, "1e5"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range schemas {
			for _, v := range s.Check(text) {
				assert.Check(t, len(v.Message) <= 2000, "text %q: got the message %q, want one for people", text, v.Message)
				assert.Check(t, strings.TrimSpace(v.Message) != "", "text %q: got the message %q, want one for people", text, v.Message)
			}
		}
	})
}
