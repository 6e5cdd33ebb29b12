package installtest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"testing"

	"gotest.tools/v3/assert"
)

// NPM is a set of npm packages at pinned versions.
type NPM struct {
	Name  string
	Files fs.FS  // contains package.json and, unless ByHand is set, package-lock.json
	Dir   string // directory of these files in the repository, for a message about installing by hand
	// ByHand is the command that installs the packages by hand if they have no lock file. Then package.json
	// contains their exact versions. If the packages have a lock file, ByHand is empty.
	ByHand string
}

// Install returns a directory whose node_modules contains the packages and their dependencies. It runs no
// install scripts. If npm fails, the test fails with a message that contains the command to run by hand.
func (n NPM) Install(t testing.TB) string {
	t.Helper()
	pins, byHand := "package-lock.json", "cd "+n.Dir+" && npm ci --ignore-scripts"
	if n.ByHand != "" {
		pins, byHand = "package.json", n.ByHand
	}
	data, err := fs.ReadFile(n.Files, pins)
	assert.NilError(t, err)
	dir, err := once(t.Context(), n.Name+"-"+key(data), n.fill)
	assert.NilError(t, err, "install %s:\nby hand: %s", n.Name, byHand)
	return dir
}

// fill installs the packages in a directory.
func (n NPM) fill(ctx context.Context, dir string) error {
	if err := os.CopyFS(dir, n.Files); err != nil {
		return err
	}
	command := "ci"
	if n.ByHand != "" {
		command = "install"
	}
	cmd := exec.CommandContext(ctx, "npm", command, "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
