package program

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/raymond-action/raymond-action/internal/untrusted/files"
)

// Limits on the files that are copied from the user's configuration directory of an agent CLI.
const (
	maxCopied = 16 << 20 // bytes of a file
	maxDepth  = 16       // nested directories
)

// CopyConfig replaces the named files and directories in to with copies from the directory from, and creates
// the directories created, to which the CLI writes. A name that doesn't exist in from is only removed.
// Symbolic links in from are followed, because that directory belongs to the user. A link in to, which
// agents can write, never leads out of to.
func CopyConfig(from, to string, names, created []string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer root.Close()
	if filepath.Clean(from) != filepath.Clean(to) {
		for _, name := range names {
			err = errors.Join(err, root.RemoveAll(name), copyTo(root, name, filepath.Join(from, name), maxDepth))
		}
	}
	for _, name := range created {
		err = errors.Join(err, root.MkdirAll(name, 0o700))
	}
	return err
}

func copyTo(root *os.Root, name, from string, depth int) error {
	info, err := os.Stat(from)
	switch {
	case errors.Is(err, fs.ErrNotExist) || depth == 0:
		return nil
	case err != nil:
		return err
	case info.Mode().IsRegular():
		data, err := files.ReadTarget(from, maxCopied)
		if err != nil {
			return err
		}
		return root.WriteFile(name, data, info.Mode().Perm()&0o700|0o600)
	case !info.IsDir():
		return nil
	}
	entries, err := os.ReadDir(from)
	err = errors.Join(err, root.MkdirAll(name, 0o700))
	for _, e := range entries {
		err = errors.Join(err, copyTo(root, filepath.Join(name, e.Name()), filepath.Join(from, e.Name()), depth-1))
	}
	return err
}

// ProgramFiles returns the paths that must be readable to run a program, which is given as a path or a
// name on PATH: its file or, for a program of an npm package, the node_modules directory around it.
func ProgramFiles(name string) []string {
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil
	}
	if at := strings.LastIndex(path, "/node_modules/"); at >= 0 {
		return []string{path[:at+len("/node_modules")]}
	}
	return []string{path}
}

// RemoveServerSecrets removes the environment variables and the headers of MCP servers from the
// settings of an agent CLI, because these may contain keys.
func RemoveServerSecrets(settings map[string]any) {
	servers, _ := settings["mcpServers"].(map[string]any)
	for _, s := range servers {
		if server, ok := s.(map[string]any); ok {
			delete(server, "env")
			delete(server, "headers")
		}
	}
}
