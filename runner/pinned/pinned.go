// Package pinned says what the pin of an agent CLI is: the version that the project is tested
// with, and the npm files that install exactly that one. It installs nothing itself.
package pinned

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CLI is an agent CLI as npm has it.
type CLI struct {
	Title   string // for people
	Package string // its name
	// Files holds package.json and package-lock.json. In a folder with both,
	// `npm ci --ignore-scripts` installs the pinned CLI, checked by its SHA-512.
	Files fs.FS
	// Program is the one program that npm puts below a folder, with slashes and a pattern, as in
	// fs.Glob. It needs none of the package's install scripts.
	Program string
	Folder  string // its own folder in a runner's tool cache
}

// Version returns the pinned version, as in "1.2.3".
func (c CLI) Version() string {
	data, err := fs.ReadFile(c.Files, "package.json")
	if err != nil {
		panic(err)
	}
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		panic(err)
	}
	return manifest.Dependencies[c.Package]
}

// Binary returns the path of the program that npm put below dir.
func (c CLI) Binary(dir string) (string, error) {
	found, err := fs.Glob(os.DirFS(dir), c.Program)
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("want one program of %s at %s below %s, found %d", c.Title, c.Program, dir, len(found))
	}
	return filepath.Join(dir, filepath.FromSlash(found[0])), nil
}
