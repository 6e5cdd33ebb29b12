package installtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// Program is a command of the repository itself, whose sources may have changed since it
// was last built.
type Program struct {
	Name    string // of the program
	Package string // its import path
	Flags   []string
}

// Build builds the program from the sources as they are now, puts it into dir, and returns
// its path. The program is kept in the user's cache folder, with a digest of the module's
// files: packages that are tested side by side, or one after the other, build it once. A -race
// in GOFLAGS is for the tests, not for the program, which has the race detector when Flags
// say so.
func (p Program) Build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, p.Name)
	flags := ownFlags()
	if slices.ContainsFunc(flags, func(f string) bool { return strings.Contains(f, "-overlay") }) {
		return path, p.build(ctx, flags, path) // sources of this one test alone
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	is := strings.Join(slices.Concat([]string{root, p.Package, runtime.Version(), runtime.GOOS, runtime.GOARCH}, flags, p.Flags), "\n")
	kept := filepath.Join(cache, "raymond-action", "built-"+p.Name+"-"+key([]byte(is)))
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	lock := flock.New(kept + ".lock")
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Path(), err)
	}
	defer lock.Close()
	sources, err := digest(root)
	if err != nil {
		return "", err
	}
	if of, err := os.ReadFile(kept + ".of"); err != nil || string(of) != sources || !exists(kept) {
		if err := p.build(ctx, flags, kept); err != nil {
			return "", err
		}
		if err := os.WriteFile(kept+".of", []byte(sources), 0o644); err != nil {
			return "", err
		}
	}
	return path, linkOrCopy(kept, path)
}

// digest is of all files of a module that a program may be built from: not of tests, of what
// they read, and of folders whose names begin with a dot.
func digest(root string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules"):
			return filepath.SkipDir
		case !d.Type().IsRegular() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n", path, len(data))
		sum.Write(data)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}

func (p Program) build(ctx context.Context, goflags []string, path string) error {
	cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build", "-buildvcs=false", "-o", path}, p.Flags, []string{p.Package})...)
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.Join(goflags, " "))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

// ownFlags are those of GOFLAGS that are for programs, too.
func ownFlags() []string {
	return slices.DeleteFunc(strings.Fields(os.Getenv("GOFLAGS")), func(f string) bool { return f == "-race" })
}

// moduleRoot is the folder of the module that is tested.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, "go.mod")) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("no go.mod in the folders above the test's")
		}
	}
	return "", err
}

// linkOrCopy makes a file appear in another place. What is linked keeps its content:
// go build replaces its target.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	// A process that is started meanwhile would inherit the program, which can't be run then.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(to, data, 0o755)
}
