package repotest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"
	"gotest.tools/v3/assert"
	is "gotest.tools/v3/assert/cmp"

	"github.com/raymond-action/raymond-action/protocol"
)

// schema compiles a file of docs/schema.
func schema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	path := at("docs/schema/" + name + ".schema.json")
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(path)
	assert.NilError(t, err)
	assert.Equal(t, s.DraftVersion, 2020, "%s: the draft", path)
	return s
}

// validJSON validates one JSON value.
func validJSON(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	assert.NilError(t, err, data)
	return s.Validate(v)
}

// validYAML validates a YAML document as an editor would.
func validYAML(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		return err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return validJSON(t, s, data)
}

// values are the values that the test tries for every key.
var values = []string{
	"A.md", "fail", "suspend", `" "`, `""`, `"5"`, "5", "-1", "0", "100", "101", "1.5", "true", "null", "[]", "[A.md]", `[""]`, "[5]", "[[A.md]]",
	"[null]", "{}", "{a: b}", "90s", "1h30m", "0s", "-5s", "5", "ten", "none", "entry", "fresh", "continue", "entri", "plan", "default", "dontAsk",
	"acceptEdits", "auto", "bypassPermissions", "planned", "codex", "{type: object}", "[goto]", "[goto, result]", "[jump]", `["**/*.go"]`, "[{}]", "[{tag: goto}]", "[5, {tag: goto}]",
	"{base: 1s}", "{max: 1m, base: 2s}", "{base: 0s}", "{base: x}", "{top: 1s}", "{base: 5}", "[" + strings.Repeat("x, ", 64) + "y]",
}

// unresolved are the codes of problems that depend on other files of the workflow, which a schema can't check.
var unresolved = []string{"no-state", "bad-target", "ambiguous", "wrong-platform"}

// frontmatterProblems returns the problems that the program reports for a frontmatter, except unresolved ones.
func frontmatterProblems(t *testing.T, text string) []protocol.Problem {
	t.Helper()
	fsys := fstest.MapFS{"A.md": {Data: []byte("---\n" + text + "\n---\ngo\n")}}
	w, _ := protocol.Load(fsys, protocol.LoadOptions{Entry: "A.md", Platform: protocol.Unix})
	s, ok := w.State("A.md")
	assert.Assert(t, ok, "%s: got no state", text)
	return slices.DeleteFunc(slices.Clone(s.Problems), func(p protocol.Problem) bool { return slices.Contains(unresolved, p.Code) })
}

// TestSchemaOfFrontmatterAgreesWithTheProgram checks that the schema and the program accept the same frontmatters. It tries
// every value for every key, and every pair of keys in an entry of allowed_transitions.
func TestSchemaOfFrontmatterAgreesWithTheProgram(t *testing.T) {
	t.Parallel()
	s := schema(t, "frontmatter")
	agree := func(text string) {
		problems, err := frontmatterProblems(t, text), validYAML(t, s, text)
		assert.Check(t, is.Equal(len(problems) == 0, err == nil), "%s\nthe program says %v\nthe schema says %v", text, problems, err)
	}
	for _, k := range protocol.Keys() {
		for _, v := range values {
			agree(k + ": " + v)
		}
	}
	for _, text := range []string{"", "# nothing", "model: a\neffort: b", "max_attempts: 5\nmax_ralph_iters: 5", "Model: a", "[]", "text"} {
		agree(text)
	}
	parts := []string{
		"", "target: A.md", `target: ""`, "target: 5", "return: A.md", "next: A.md", "payload: x", `payload: ""`, "payload: 5", "many: true",
		"many: x", "input: x", "input: 5", "cd: x", "model: x", "agent: codex", "agent: x", "item: x", "my-item: x", "Target: A.md",
		"after: 10m", "after: 10", "after: x", "timeout: 48h", "timeout: x", "timeout_next: A.md", `timeout_next: ""`, "timeout_next: 5", "choices: 'yes, no'", "choices: 'a,,b'",
		"choices: 5", "where: 12", "where: '12'", "where: -1", "where: x", "from: 'octocat, hubot'", "from: 'a b'", "untrusted: true", "untrusted: 'false'", "untrusted: x", "untrusted: 5",
	}
	for _, verb := range append([]string{"", "jump"}, verbNames()...) {
		for i, one := range parts {
			for _, other := range parts[i+1:] {
				if entry := entryOf(verb, one, other); entry != "" {
					agree("allowed_transitions: [" + entry + "]")
				}
			}
		}
	}
}

func verbNames() []string {
	var names []string
	for _, v := range protocol.Verbs() {
		names = append(names, string(v))
	}
	return names
}

// entryOf returns an entry of allowed_transitions with these keys, or "" if the entry would contain a key twice.
func entryOf(verb, one, other string) string {
	if k, _, _ := strings.Cut(one, ":"); one != "" && strings.HasPrefix(other, k+":") {
		return ""
	}
	parts := slices.DeleteFunc([]string{"tag: " + verb, one, other}, func(p string) bool { return p == "" || p == "tag: " })
	return "{" + strings.Join(parts, ", ") + "}"
}
