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

// Limits for the files that are copied from the user's own configuration directory of an agent CLI.
const (
	maxCopied = 16 << 20 // size of a file in bytes
	maxDepth  = 16       // depth of nested directories
)

// CopyConfig copies the files and directories in names from one directory (from) to another (to). It
// replaces existing files and directories with these names there. A name that doesn't exist in the source
// is removed from the target. If both directories are the same, nothing is copied. CopyConfig also creates
// the directories in created, to which the CLI writes.
//
// Symbolic links in the source are followed, because the source belongs to the user. Agents can create links
// in the target, but a link can't make CopyConfig write outside of the target.
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

// copyTo copies the file or directory at the path from, with everything below it, to a name in root. It
// copies at most depth levels, of which from is the first, and ignores other kinds of files.
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

// ProgramFiles returns the paths that a process must be able to read to run a program. name is the
// program's path or its name on PATH. The result is the program's file or, if it belongs to an npm
// package, the node_modules directory that contains it. It is nil if the program doesn't exist.
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

// RemoveServerSecrets deletes the environment variables and the headers of all MCP servers in the
// settings of an agent CLI, because they may contain keys.
func RemoveServerSecrets(settings map[string]any) {
	servers, _ := settings["mcpServers"].(map[string]any)
	for _, s := range servers {
		if server, ok := s.(map[string]any); ok {
			delete(server, "env")
			delete(server, "headers")
		}
	}
}
