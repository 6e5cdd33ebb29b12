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

// Pin is the version of an agent CLI that the project is tested with, as an npm package.
type Pin struct {
	Title   string // for people
	Package string // name of the npm package
	// Files holds package.json and package-lock.json. In a directory with both,
	// `npm ci --ignore-scripts` installs the pinned CLI and checks its SHA-512.
	Files fs.FS
	// Program is a pattern for fs.Glob that matches the one program below the directory into which npm
	// installed the package. The program works without the package's install scripts.
	Program string
	Folder  string // its directory in a runner's tool cache
}

// NPMFiles returns the files in the directory npm of an embedded file system.
func NPMFiles(embedded embed.FS) fs.FS {
	files, _ := fs.Sub(embedded, "npm") // no error: the name is valid
	return files
}

// WindowsOr returns windows on Windows and others on every other system.
func WindowsOr(windows, others string) string {
	if runtime.GOOS == "windows" {
		return windows
	}
	return others
}

// Version returns the pinned version in the form "1.2.3".
func (p Pin) Version() string {
	data, _ := fs.ReadFile(p.Files, "package.json") // no error: the file is embedded
	var manifest struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	_ = json.Unmarshal(data, &manifest)
	return manifest.Dependencies[p.Package]
}

// HowTo returns an instruction for installing the pinned version.
func (p Pin) HowTo() string {
	return "install it with `npm install -g " + p.Package + "@" + p.Version() + "`"
}

// Binary returns the path of the program that npm installed below dir.
func (p Pin) Binary(dir string) (string, error) {
	found, err := fs.Glob(os.DirFS(dir), p.Program)
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("expected one program of %s at %s below %s, found %d", p.Title, p.Program, dir, len(found))
	}
	return filepath.Join(dir, filepath.FromSlash(found[0])), nil
}
