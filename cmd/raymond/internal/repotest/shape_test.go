package repotest

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// The limits on the shape of the code. Line limits count comments too.
const (
	maxFuncLines = 60
	maxFileLines = 400
)

func TestFunctionsAndFilesAreShort(t *testing.T) {
	for _, f := range sources(t) {
		if n := f.fset.File(f.ast.Pos()).LineCount(); n > maxFileLines && !f.isTest() {
			t.Errorf("%s: got %d lines, want at most %d", f.name, n, maxFileLines)
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.lines(fn) > maxFuncLines {
				t.Errorf("%s: %s: got %d lines, want at most %d", f.name, fn.Name.Name, f.lines(fn), maxFuncLines)
			}
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, f := range sources(t) {
		if f.isTest() {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || receiver(d).IsExported() && d.Name.Name != "Error" {
					wantDoc(t, f, d.Name, d.Doc)
				}
			case *ast.GenDecl:
				wantDocs(t, f, d)
			}
		}
	}
}

// receiver is the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) *ast.Ident {
	var name *ast.Ident
	ast.Inspect(d.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == nil {
			name = id
		}
		return name == nil
	})
	return name
}

// wantDocs checks a declaration of types, constants or variables. In a group
// one comment may stand for all names.
func wantDocs(t *testing.T, f sourceFile, d *ast.GenDecl) {
	t.Helper()
	if d.Lparen != token.NoPos && d.Doc != nil {
		return
	}
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			wantDoc(t, f, s.Name, firstDoc(s.Doc, d.Doc))
		case *ast.ValueSpec:
			for _, name := range s.Names {
				wantDoc(t, f, name, firstDoc(s.Doc, d.Doc))
			}
		}
	}
}

func firstDoc(own, group *ast.CommentGroup) *ast.CommentGroup {
	if own != nil {
		return own
	}
	return group
}

func wantDoc(t *testing.T, f sourceFile, name *ast.Ident, doc *ast.CommentGroup) {
	t.Helper()
	if !name.IsExported() {
		return
	}
	text := strings.TrimSpace(doc.Text())
	for _, article := range []string{"A ", "An ", "The "} {
		text = strings.TrimPrefix(text, article)
	}
	if !strings.HasPrefix(text, name.Name+" ") {
		t.Errorf("%s: comment of %s: got %q, want one that begins with the name", f.fset.Position(name.Pos()), name.Name, text)
	}
}
