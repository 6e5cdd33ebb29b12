package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// packageDoc is what the source of a package says of its types.
type packageDoc struct {
	types  map[string]string            // comments, without the name at their beginning
	fields map[string]map[string]string // comments by type and field
	values map[string][]string          // exported string constants by type, in order
}

// docOf reads the source of the package of a type of this module.
func docOf(t *testing.T, typ reflect.Type) *packageDoc {
	t.Helper()
	path := strings.TrimPrefix(typ.PkgPath(), module+"/")
	d := &packageDoc{map[string]string{}, map[string]map[string]string{}, map[string][]string{}}
	for _, f := range glob(t, path+"/*.go") {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), at(f), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range tree.Decls {
			if g, ok := decl.(*ast.GenDecl); ok {
				d.add(g)
			}
		}
	}
	return d
}

func (d *packageDoc) add(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			text := oneParagraph(firstDoc(s.Doc, g.Doc))
			d.types[s.Name.Name] = strings.TrimPrefix(text, s.Name.Name+" ")
			if st, ok := s.Type.(*ast.StructType); ok {
				d.fields[s.Name.Name] = fieldDocs(st)
			}
		case *ast.ValueSpec:
			d.constants(g.Tok, s)
		}
	}
}

// constants notes the values of constants that are given a type by name.
func (d *packageDoc) constants(kind token.Token, s *ast.ValueSpec) {
	typ, ok := s.Type.(*ast.Ident)
	if !ok || kind != token.CONST || !s.Names[0].IsExported() {
		return
	}
	for _, v := range s.Values {
		if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			text, _ := strconv.Unquote(lit.Value)
			d.values[typ.Name] = append(d.values[typ.Name], text)
		}
	}
}

func fieldDocs(st *ast.StructType) map[string]string {
	texts := map[string]string{}
	for _, f := range st.Fields.List {
		text := strings.TrimSpace(oneParagraph(f.Doc) + " " + oneParagraph(f.Comment))
		for _, n := range f.Names {
			texts[n.Name] = strings.TrimSuffix(text, ".")
		}
	}
	return texts
}

func oneParagraph(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }

// field is one key of an object in a file.
type field struct {
	key      string
	required bool // always written
	typ      reflect.Type
	owner    string // the type and the field in Go, as in Run.Schema
}

// fieldsOf returns the keys that a struct has in JSON or YAML, those of embedded
// structs included.
func fieldsOf(typ reflect.Type, tag string) []field {
	var found []field
	for _, f := range reflect.VisibleFields(typ) {
		name, options, _ := strings.Cut(f.Tag.Get(tag), ",")
		if !f.IsExported() || f.Anonymous || name == "-" || name == "" {
			continue
		}
		owner := typ
		if len(f.Index) > 1 {
			owner = typ.FieldByIndex(f.Index[:len(f.Index)-1]).Type
		}
		found = append(found, field{name, !strings.Contains(options, "omit"), f.Type, owner.Name() + "." + f.Name})
	}
	return found
}

func firstDoc(own, group *ast.CommentGroup) *ast.CommentGroup {
	if own != nil {
		return own
	}
	return group
}
