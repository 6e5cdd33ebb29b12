package repotest

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// The limits on the size of types. What a type embeds of its own package counts as
// its own.
const (
	maxMethods = 30
	maxFields  = 14
)

// largeTypes are the types that may be larger, each with its reason.
var largeTypes = map[string]string{
	"cmd/raymond/internal/outlook.Facts": "holds the arguments of one pure function, Of",
}

// goType is a type of a package, with what it promises and what it holds.
type goType struct {
	methods  []string
	fields   []string
	embedded []string // types of the same package
	tagged   int      // fields that are named in JSON or YAML
}

// typesOf returns the types of the repository, as package.Type. Those for tests are left out.
func typesOf(t *testing.T) map[string]*goType {
	t.Helper()
	types := map[string]*goType{}
	get := func(f sourceFile, name string) *goType {
		key := f.pkg() + "." + name
		if types[key] == nil {
			types[key] = &goType{}
		}
		return types[key]
	}
	for _, f := range sources(t) {
		if f.isTest() || isForTests(f.pkg()) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					typ := get(f, receiver(n).Name)
					typ.methods = append(typ.methods, n.Name.Name)
				}
			case *ast.TypeSpec:
				if st, ok := n.Type.(*ast.StructType); ok {
					get(f, n.Name.Name).addFields(f, st)
				}
			}
			return true
		})
	}
	return types
}

var recordTag = regexp.MustCompile(`\b(json|yaml):"`)

func (g *goType) addFields(f sourceFile, st *ast.StructType) {
	for _, field := range st.Fields.List {
		if field.Tag != nil && recordTag.MatchString(field.Tag.Value) {
			g.tagged++
		}
		for _, name := range field.Names {
			g.fields = append(g.fields, name.Name)
		}
		if len(field.Names) > 0 {
			continue
		}
		typ := field.Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		if id, ok := typ.(*ast.Ident); ok && id.Name != "error" {
			g.embedded = append(g.embedded, f.pkg()+"."+id.Name)
			continue
		}
		g.fields = append(g.fields, "embedded")
	}
}

// size counts what a type has, with what it embeds.
func (g *goType) size(types map[string]*goType) (methods, fields int) {
	methods, fields = len(g.methods), len(g.fields)
	for _, name := range g.embedded {
		if e := types[name]; e != nil {
			m, f := e.size(types)
			methods, fields = methods+m, fields+f
		}
	}
	return methods, fields
}

// isData reports whether a type is written as JSON or YAML, or is a list of settings:
// then the number of its fields is that of what it describes.
func (g *goType) isData(name string) bool {
	return regexp.MustCompile(`(?i)(options|config|settings)$`).MatchString(name) || 2*g.tagged >= len(g.fields)
}

func TestTypesAreSmall(t *testing.T) {
	types := typesOf(t)
	for name, typ := range types {
		methods, fields := typ.size(types)
		isLarge := methods > maxMethods || fields > maxFields && !typ.isData(name)
		switch reason, excepted := largeTypes[name]; {
		case isLarge && !excepted:
			t.Errorf("type %s: got %d methods and %d fields, want at most %d and %d", name, methods, fields, maxMethods, maxFields)
		case !isLarge && excepted:
			t.Errorf("type %s is not large: got it among the exceptions", name)
		case excepted && len(strings.Fields(reason)) < 5:
			t.Errorf("type %s: got the reason %q, want a sentence", name, reason)
		}
	}
	for name := range largeTypes {
		if types[name] == nil {
			t.Errorf("type %s: got it among the exceptions, but not in the repository", name)
		}
	}
}

// maxMainLines is how many lines package main may have, tests aside: flags and help,
// one file a command, and nothing that decides.
const maxMainLines = 1500

func TestTheProgramsPackageIsThin(t *testing.T) {
	lines := 0
	for _, f := range sources(t) {
		if f.pkg() == "cmd/raymond" && !f.isTest() {
			lines += f.fset.File(f.ast.Pos()).LineCount()
		}
	}
	if lines > maxMainLines {
		t.Errorf("cmd/raymond: got %d lines without tests, want at most %d", lines, maxMainLines)
	}
}
