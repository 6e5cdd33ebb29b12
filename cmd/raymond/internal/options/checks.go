package options

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// OneOf checks a flag that takes one of some words.
func OneOf(s string, words ...string) error {
	if slices.Contains(words, s) {
		return nil
	}
	return fmt.Errorf("want %s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
}

// checkLogFile says why events can't be appended to a file, though it may be
// missing; "-" is stdout.
func checkLogFile(path string) error {
	if path == "" {
		return errors.New("is empty")
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return errors.New("is a directory")
	}
	return checkFolder(filepath.Dir(path))
}

// checkFolder says why dir can't be a folder, though it may be missing. Any other
// reason is found out when the folder is used.
func checkFolder(dir string) error {
	if dir == "" {
		return errors.New("is empty")
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is no directory", at)
		}
		if err == nil || at == filepath.Dir(at) {
			return nil
		}
	}
}
