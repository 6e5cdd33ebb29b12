package installtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"gotest.tools/v3/assert"
)

// GoTool is a Go program that a module of its own pins.
type GoTool struct {
	Name    string // of the program
	Dir     string // the folder of the module, absolute
	Package string // the import path of the program
}

// Install returns the path of the built program. It ends the test when the
// program can't be built, naming the command to run by hand.
func (g GoTool) Install(t testing.TB) string {
	t.Helper()
	var pins [][]byte
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(g.Dir, name))
		assert.NilError(t, err)
		pins = append(pins, data)
	}
	pins = append(pins, []byte(runtime.Version()+runtime.GOOS+runtime.GOARCH))
	dir, err := once(t.Context(), g.Name+"-"+key(pins...), g.build)
	assert.NilError(t, err, "build %s:\nby hand: go -C %s build -o %s %s", g.Name, g.Dir, os.DevNull, g.Package)
	return filepath.Join(dir, g.program())
}

func (g GoTool) program() string {
	if runtime.GOOS == "windows" {
		return g.Name + ".exe"
	}
	return g.Name
}

func (g GoTool) build(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "-C", g.Dir, "build", "-o", filepath.Join(dir, g.program()), g.Package)
	// What the tests are built with, as the race detector, is not for the tool.
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
