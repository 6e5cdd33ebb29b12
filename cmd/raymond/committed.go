package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// committed is a repository's content at a commit, whatever its working tree holds.
type committed struct {
	top, commit string
	env         []string
}

// git runs git where it can run nothing of the repository's.
func (c committed) git(ctx context.Context, args ...string) ([]byte, error) {
	fixed := []string{"-C", c.top, "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}
	cmd := exec.CommandContext(ctx, "git", append(fixed, args...)...)
	cmd.Env = append(c.env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// extract writes what the commit has at name, relative to the repository's top,
// below dir. Links are left out: where they lead is not the commit's.
func (c committed) extract(ctx context.Context, name, dir string) error {
	data, err := c.git(ctx, "archive", "--format=tar", c.commit, "--", filepath.ToSlash(name))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			err = unpackEntry(root, h, r)
		}
		if err != nil {
			return err
		}
	}
}

func unpackEntry(root *os.Root, h *tar.Header, r io.Reader) error {
	if err := root.MkdirAll(path.Dir(h.Name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, h.FileInfo().Mode().Perm()&0o755|0o400)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
