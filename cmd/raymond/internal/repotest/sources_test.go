package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// sourceFile is one Go file of the repository, whatever it is built for.
type sourceFile struct {
	name string // relative to the root, with slashes
	ast  *ast.File
	fset *token.FileSet
}

func (f sourceFile) pkg() string { return filepath.ToSlash(filepath.Dir(f.name)) }

func (f sourceFile) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

// lines counts the lines of a node.
func (f sourceFile) lines(n ast.Node) int {
	return f.fset.Position(n.End()).Line - f.fset.Position(n.Pos()).Line + 1
}

func (f sourceFile) imports() []string {
	var paths []string
	for _, spec := range f.ast.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}

// sources returns every Go file of the repository, which are read once.
func sources(t *testing.T) []sourceFile {
	t.Helper()
	files, err := parseAll()
	if err != nil || len(files) < 50 {
		t.Fatalf("Go files of the repository: got %d (%v), want at least 50", len(files), err)
	}
	return files
}

var parseAll = sync.OnceValues(func() ([]sourceFile, error) {
	var files []sourceFile
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		name, _ := filepath.Rel(root, path)
		files = append(files, sourceFile{name: filepath.ToSlash(name), ast: tree, fset: fset})
		return err
	})
	return files, err
})

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}
