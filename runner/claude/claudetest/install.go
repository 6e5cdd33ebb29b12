package claudetest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/raymond-action/raymond-action/internal/installtest"
	"github.com/raymond-action/raymond-action/runner/claude/pin"
)

// VersionVar is the environment variable that names the version of the CLI which
// the tests drive: one like "2.1.128", "newest" for the newest on the registry,
// "" for the pinned one.
const VersionVar = "RAYMOND_TEST_CLAUDE"

// Install returns the path of the native program of the CLI, in the version that
// VersionVar names. The first call on a machine installs it with npm into the
// user's cache folder; packages tested in parallel wait for each other. It ends
// the test when that does not work, naming the command to run by hand.
func Install(t testing.TB) string {
	t.Helper()
	version := Version(t)
	cli := installtest.NPM{Name: "claude-" + version, Files: pin.Files, Dir: "runner/claude/pin"}
	if version != pin.Version() {
		cli.Files, cli.ByHand = unlocked(version), "npm install --ignore-scripts "+pin.Package+"@"+version
	}
	path, err := pin.Binary(cli.Install(t))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Version returns the version of the CLI that the tests drive.
func Version(t testing.TB) string {
	t.Helper()
	switch v := os.Getenv(VersionVar); {
	case v == "":
		return pin.Version()
	case v == "newest":
		found, err := newest()
		if err != nil {
			t.Fatal(err)
		}
		return found
	case exact.MatchString(v):
		return v
	default:
		t.Fatalf("%s=%q: want an exact version such as %s, or newest", VersionVar, v, pin.Version())
		return ""
	}
}

// Since says whether the CLI that the tests drive is of a version or a later one:
// what differs between versions is data of the tests, by the version in which it was
// first seen.
func Since(t testing.TB, version string) bool {
	t.Helper()
	driven, since := parts(t, Version(t)), parts(t, version)
	return slices.Compare(driven, since) >= 0
}

// parts are the numbers of a version.
func parts(t testing.TB, version string) []int {
	t.Helper()
	var list []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			t.Fatalf("version %q: %v", version, err)
		}
		list = append(list, n)
	}
	return list
}

var exact = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// newest asks the registry, once.
var newest = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	args := []string{"view", pin.Package, "dist-tags.latest"}
	out, err := exec.CommandContext(ctx, "npm", args...).Output()
	v := strings.TrimSpace(string(out))
	if err == nil && !exact.MatchString(v) {
		err = fmt.Errorf("got %q", out)
	}
	if err != nil {
		return "", fmt.Errorf("the newest version of the CLI: %w\nby hand: npm %s", err, strings.Join(args, " "))
	}
	return v, nil
})

// unlocked are npm's files for another version than the pinned one. There is no
// lock file of it: what the registry holds under that version is installed.
func unlocked(version string) fstest.MapFS {
	manifest := `{"private": true, "dependencies": {"` + pin.Package + `": "` + version + `"}}`
	return fstest.MapFS{"package.json": {Data: []byte(manifest)}}
}
