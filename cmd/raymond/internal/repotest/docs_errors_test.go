package repotest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// quotedRow is a row of a table that begins with texts of the program.
var quotedRow = regexp.MustCompile("(?m)^\\| (`.*?) \\| ")

// TestQuotedErrorsAreTheProgramsOwn: each text that docs/errors.md quotes is in the
// program's source, piece by piece, so that a search for an error finds it.
func TestQuotedErrorsAreTheProgramsOwn(t *testing.T) {
	source, classes := ownSource(t), exitCodes(t)
	_, table, _ := strings.Cut(readText(t, "docs/errors.md"), "<!-- quoted: what the program says -->")
	table, _, _ = strings.Cut(table, "<!-- end -->")
	rows := quotedRow.FindAllStringSubmatch(table, -1)
	if len(rows) < 20 {
		t.Errorf("docs/errors.md: got %d rows of quoted errors, want at least 20 between their marks", len(rows))
	}
	for _, row := range rows {
		for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			for _, piece := range quotedPieces(code[1], classes) {
				if !strings.Contains(source, piece) {
					t.Errorf("docs/errors.md quotes %q: got no %q in the source of the program", code[1], piece)
				}
			}
		}
	}
}

// quotedPieces are the parts of a quoted error that stand in the source as they
// are: an ellipsis stands for a value, a semicolon is before a hint, and a class
// before all.
func quotedPieces(quoted string, classes []exitCode) []string {
	name, rest, _ := strings.Cut(quoted, ": ")
	if slices.ContainsFunc(classes, func(c exitCode) bool { return c.class == name }) {
		quoted = rest
	}
	var pieces []string
	for _, part := range strings.FieldsFunc(quoted, func(r rune) bool { return r == '…' || r == ';' }) {
		if part = strings.Trim(part, " :,"); part != "" {
			pieces = append(pieces, part)
		}
	}
	return pieces
}

// ownSource is all that the program and the shim are made of.
func ownSource(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(path)
		isOurs := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/cmd/shim/") && strings.HasSuffix(name, ".js")
		if err != nil || d.IsDir() || !isOurs {
			return err
		}
		data, err := os.ReadFile(path)
		all.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}
