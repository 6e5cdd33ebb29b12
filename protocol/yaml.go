package protocol

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"gopkg.in/yaml.v3"
)

// maxCopied is the largest number of nodes that may replace aliases. Authors need far fewer.
const maxCopied = 20_000

// ParseYAML returns the root of the only document in text. It returns nil if text contains no
// document. Aliases are replaced by copies of their values. The Problem has the code "yaml" or
// "duplicate-key", and has a position but no file.
func ParseYAML(text string) (*yaml.Node, *Problem) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	err := dec.Decode(&doc)
	switch {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err == nil:
		if err = dec.Decode(&more); err == nil {
			return nil, malformed(more.Line, "there is a second document")
		}
	}
	if !errors.Is(err, io.EOF) || len(doc.Content) != 1 {
		line, message := yamlProblem(text, err)
		return nil, malformed(line, message)
	}
	e := expander{left: maxCopied}
	return e.expand(doc.Content[0], false), e.problem
}

// malformed returns the problem for malformed YAML.
func malformed(line int, message string) *Problem {
	return &Problem{Pos: Pos{Line: line}, Code: "yaml", Message: "malformed YAML: " + message}
}

// Patterns for the error messages of the YAML library.
var (
	yamlError     = pattern(`(?s)^yaml: (?:line (\d+): )?(.*)$`)
	yamlParser    = pattern(`^did not find expected (<|'[,-]'|key|node)|^found (duplicate|incompatible|undefined)`)
	unknownAnchor = pattern(`^unknown anchor '(.*)' referenced$`)
)

// yamlProblem returns the line and the message for an error that the YAML library returned.
func yamlProblem(text string, err error) (int, string) {
	m := yamlError().FindStringSubmatch(err.Error())
	if m == nil {
		return 1, err.Error()
	}
	line, _ := strconv.Atoi(m[1])
	for i, l := range strings.Split(text, "\n") {
		number := i + 1
		indent := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if strings.Contains(indent, "\t") && len(indent) < len(strings.TrimRight(l, "\r")) && number >= line-1 && number <= line+1 {
			return number, "there is a tab in the indentation, where YAML allows only blanks"
		}
	}
	if yamlParser().MatchString(m[2]) {
		line++ // the library counts lines from 0 in errors of its parser, from 1 in errors of its scanner
	}
	if a := unknownAnchor().FindStringSubmatch(m[2]); a != nil {
		line = 1 + strings.Count(text[:max(0, strings.Index(text, "*"+a[1]))], "\n")
	}
	return min(max(line, 1), 1+strings.Count(text, "\n")), m[2]
}

// expander replaces the aliases in a YAML tree.
type expander struct {
	left    int // the number of nodes that may still replace aliases
	problem *Problem
}

// expand returns a copy of the tree in which aliases are replaced by their values. If the copy
// would exceed maxCopied or a map contains a key twice, expand sets problem and returns nil.
func (e *expander) expand(n *yaml.Node, isAlias bool) *yaml.Node {
	if isAlias {
		e.left--
	}
	if e.left < 0 {
		e.problem = &Problem{Pos: PosOf(n), Code: "yaml", Message: "the aliases of the YAML expand without bound"}
		return nil
	}
	if n.Kind == yaml.AliasNode {
		return e.expand(n.Alias, true)
	}
	c := *n
	c.Content = make([]*yaml.Node, 0, len(n.Content))
	for _, child := range n.Content {
		copied := e.expand(child, isAlias)
		if copied == nil {
			return nil
		}
		c.Content = append(c.Content, copied)
	}
	lines := map[string]int{}
	for i := 0; c.Kind == yaml.MappingNode && i < len(c.Content); i += 2 {
		key := c.Content[i]
		name := key.ShortTag() + " " + key.Value
		if line, twice := lines[name]; twice && key.Kind == yaml.ScalarNode {
			e.problem = &Problem{Pos: PosOf(key), Code: "duplicate-key", Message: fmt.Sprintf("key %s appears twice", Quote(key.Value)),
				Hint: fmt.Sprintf("it is already set in line %d", line)}
			return nil
		}
		lines[name] = key.Line
	}
	return &c
}

// MapValue returns the value of a key in a map. It returns nil if the key is missing or n is not a
// map.
func MapValue(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// PosOf returns the position at which a node begins.
func PosOf(n *yaml.Node) Pos { return Pos{n.Line, n.Column} }

// isNull reports whether a node is a null value, for example because the value is missing.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// Describe returns a description of a node for messages, for example "a map".
func Describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	switch tag := n.ShortTag(); tag {
	case "!!null":
		return "empty"
	case "!!str":
		return Quote(n.Value)
	case "!!int", "!!float":
		return "the number " + Quote(n.Value)
	case "!!bool":
		return "the boolean " + Quote(n.Value)
	default:
		return Quote(n.Value) + " of type " + Quote(tag)
	}
}

// pattern returns a function that compiles expr on its first call, because most runs don't need
// most of the expressions.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
