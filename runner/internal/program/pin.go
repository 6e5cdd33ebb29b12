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

// Pin describes the npm package of an agent CLI, in the version with which raymond is tested.
type Pin struct {
	Title   string // name of the CLI for users, for example "Claude Code"
	Package string // name of the npm package
	// Files contains package.json and package-lock.json. In a directory with these two files, `npm ci
	// --ignore-scripts` installs the pinned version and checks its SHA-512.
	Files fs.FS
	// Program is a pattern for fs.Glob. Below the directory into which npm has installed the package, it
	// matches only the program. The program works although the package's install scripts did not run.
	Program string
	// Folder is the name of the CLI's directory in the tool cache of GitHub's runner.
	Folder string
}

// NPMFiles returns the files in the directory npm of an embedded file system.
func NPMFiles(embedded embed.FS) fs.FS {
	files, _ := fs.Sub(embedded, "npm") // returns no error, because the name is valid
	return files
}

// WindowsOr returns windows if this system is Windows, and others if it is not.
func WindowsOr(windows, others string) string {
	if runtime.GOOS == "windows" {
		return windows
	}
	return others
}

// Version returns the pinned version in the form "1.2.3".
func (p Pin) Version() string {
	data, _ := fs.ReadFile(p.Files, "package.json") // returns no error, because the file is embedded
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

// Binary returns the path of the program that npm has installed below dir. It returns an error unless
// Program matches exactly one file.
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
