// Package pin knows which Claude Code the project is tested with, and holds
// the npm files that install exactly that one. It installs nothing itself.
package pin

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files holds package.json and package-lock.json. In a folder with both,
// `npm ci --ignore-scripts` installs the pinned CLI, checked by its SHA-512.
//
//go:embed package.json package-lock.json
var Files embed.FS

// Package is the name of the CLI's npm package.
const Package = "@anthropic-ai/claude-code"

// Version returns the pinned version of the CLI, as in "2.1.330".
func Version() string {
	data, err := Files.ReadFile("package.json")
	if err != nil {
		panic(err)
	}
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(data, &manifest); err != nil {
		panic(err)
	}
	return manifest.Dependencies[Package]
}

// Binary returns the path of the native program that npm put below dir. The
// program needs neither Node nor the package's install script.
func Binary(dir string) (string, error) {
	pattern := "node_modules/" + Package + "-*/claude*"
	found, err := fs.Glob(os.DirFS(dir), pattern)
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("want one native program at %s below %s, found %d", pattern, dir, len(found))
	}
	return filepath.Join(dir, filepath.FromSlash(found[0])), nil
}
