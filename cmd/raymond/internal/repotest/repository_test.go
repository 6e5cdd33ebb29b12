package repotest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// root is the path of the repository, relative to this package.
const root = "../../../.."

// at returns the path of a file in the repository. All other functions take and return names relative to the
// repository, with slashes.
func at(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }

func exists(name string) bool {
	_, err := os.Stat(at(name))
	return err == nil
}

func readText(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(at(name))
	assert.NilError(t, err)
	return string(data)
}

func textLines(t *testing.T, name string) []string {
	t.Helper()
	return strings.Split(strings.TrimSuffix(readText(t, name), "\n"), "\n")
}

// glob returns the files that match a pattern, and fails the test if there are none.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(at(pattern))
	assert.NilError(t, err, pattern)
	assert.Assert(t, len(found) != 0, "%s: got %q (%v), want some", pattern, found, err)
	var names []string
	for _, f := range found {
		name, err := filepath.Rel(root, f)
		assert.NilError(t, err)
		names = append(names, filepath.ToSlash(name))
	}
	return names
}

// pages returns the documents for users.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md", ".github/CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "docs/schema/*.md", "examples/*.md", "examples/*/README.md"} {
		all = append(all, glob(t, pattern)...)
	}
	return all
}

// block is a fenced code block of a page.
type block struct{ language, file, text string }

func blocks(text string) []block {
	var found []block
	for _, m := range regexp.MustCompile("(?ms)^```([a-z]*)(?: file=(\\S+))?\n(.*?)^```$").FindAllStringSubmatch(text, -1) {
		found = append(found, block{m[1], m[2], m[3]})
	}
	return found
}

// rewrite writes a generated file.
func rewrite(t *testing.T, name, text string) {
	t.Helper()
	assert.NilError(t, os.WriteFile(at(name), []byte(text), 0o644))
}
