package program

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Pin is the version of an agent CLI that the project is tested with, as npm has it.
type Pin struct {
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

// NPMFiles returns the files in the folder npm of those that a package of an agent CLI embeds.
func NPMFiles(embedded embed.FS) fs.FS {
	files, _ := fs.Sub(embedded, "npm") // the name is well-formed
	return files
}

// WindowsOr returns a name on Windows, or that on others.
func WindowsOr(windows, others string) string {
	if runtime.GOOS == "windows" {
		return windows
	}
	return others
}

// Version returns the pinned version, as in "1.2.3".
func (p Pin) Version() string {
	data, _ := fs.ReadFile(p.Files, "package.json") // it is embedded
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	_ = json.Unmarshal(data, &manifest)
	return manifest.Dependencies[p.Package]
}

// HowTo says how to install the pinned version.
func (p Pin) HowTo() string {
	return "install it with `npm install -g " + p.Package + "@" + p.Version() + "`"
}

// Binary returns the path of the program that npm put below dir.
func (p Pin) Binary(dir string) (string, error) {
	found, err := fs.Glob(os.DirFS(dir), p.Program)
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("want one program of %s at %s below %s, found %d", p.Title, p.Program, dir, len(found))
	}
	return filepath.Join(dir, filepath.FromSlash(found[0])), nil
}
