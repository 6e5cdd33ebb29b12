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

// Limits on what is copied of a user's own folder of an agent CLI.
const (
	maxCopied = 16 << 20 // bytes of a file
	maxDepth  = 16       // folders in folders
)

// CopyConfig puts copies of files and folders of one folder into another one, in place of those that are there, and makes
// folders there that a CLI writes to. What is in neither is no error. Links in the first folder are followed, which is the
// user's own; none leads out of the second.
func CopyConfig(from, to string, names, made []string) error {
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
	for _, name := range made {
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

// ProgramFiles returns what has to be read of a program, named by its path or found on PATH, to run it: the file and, of one of
// npm's packages, the packages around it.
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

// RemoveServerSecrets takes from the settings of an agent CLI what its servers of tools are given: variables and headers, in which keys
// are.
func RemoveServerSecrets(settings map[string]any) {
	servers, _ := settings["mcpServers"].(map[string]any)
	for _, s := range servers {
		if server, ok := s.(map[string]any); ok {
			delete(server, "env")
			delete(server, "headers")
		}
	}
}
