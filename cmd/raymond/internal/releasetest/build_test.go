package releasetest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// version is one whose digits no other text of a program has.
const version = "v98.76.54"

var systems = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

func program(system string) string {
	name := "raymond-" + strings.ReplaceAll(system, "/", "-")
	if strings.HasPrefix(system, "windows") {
		name += ".exe"
	}
	return name
}

// fakeGo stands in for the go command, whose builds take too long for a test. The
// programs that it builds tell how they were built; release.yml builds real ones.
const fakeGo = `#!/bin/bash
set -e
case "$1 $2" in
"build -trimpath")
	out=
	for arg; do [ "$last" != -o ] || out=$arg; last=$arg; done
	version=${5##*=}
	cat >"$out" <<END
#!/bin/sh
echo "raymond version ${version}"
exit
	build	GOOS=$GOOS
	build	GOARCH=$GOARCH
	build	CGO_ENABLED=$CGO_ENABLED
	build	$2=true
	built with $3 $4 $5 in $GOFLAGS $GOENV $GOWORK $GOPROXY ${GOAMD64-}${GODEBUG-}
END
	chmod +x "$out" ;;
"version -m") cat "$3" ;;
"run ./cmd/sbom")
	sum=$(sha256sum "$4" | cut -d ' ' -f 1)
	for purl in example.com/self@$3 example.com/dep@v1.0.0 "stdlib@$(cat .ci/go-version)"; do
		printf '"content": "%s", "version": "%s"\n "purl": "pkg:golang/%s",\n' "$sum" "$3" "$purl"
	done ;;
"list -m") echo example.com/self ;;
"list -deps") printf '\nexample.com/dep@v1.0.0\nexample.com/dep@v1.0.0\n' ;;
"env GOHOSTOS") echo "$HOST_OS" ;;
"env GOHOSTARCH") echo "$HOST_ARCH" ;;
env\ *) echo "/private/$2" ;;
"mod download") ;;
*) echo "go $*: not in the fake" >&2; exit 1 ;;
esac
`

// withFakeGo makes the scripts of a checkout use fakeGo.
func (r *remote) withFakeGo() {
	r.t.Helper()
	r.fake(r.t, "go", fakeGo)
	r.env = append(r.env, "HOST_OS="+runtime.GOOS, "HOST_ARCH="+runtime.GOARCH)
}

// built is the folder of a release that fakeGo has built.
func (r *remote) built(systems ...string) string {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "files")
	r.must(r.t, "release", append([]string{dir, version}, systems...)...)
	return dir
}

// TestReleaseIsBuiltTheSameEverywhere: each program is built for its system, without
// the network and without what the machine has set.
func TestReleaseIsBuiltTheSameEverywhere(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.withFakeGo()
	r.env = append(r.env, "GOFLAGS=-race", "GOAMD64=v3", "GODEBUG=panicnil=1", "CGO_ENABLED=1", "GOOS=plan9", "GOWORK=/else", "GOENV=/else")
	dir := r.built()
	for _, system := range systems {
		data, err := os.ReadFile(filepath.Join(dir, program(system)))
		if err != nil {
			t.Fatal(err)
		}
		goos, goarch, _ := strings.Cut(system, "/")
		want := "#!/bin/sh\necho \"raymond version " + version + "\"\nexit\n\tbuild\tGOOS=" + goos + "\n\tbuild\tGOARCH=" + goarch +
			"\n\tbuild\tCGO_ENABLED=0\n\tbuild\t-trimpath=true\n" +
			"\tbuilt with -buildvcs=false -ldflags -s -w -X main.version=" + version + " in -mod=readonly off off off \n"
		if diff := cmp.Diff(want, string(data)); diff != "" {
			t.Errorf("how %s was built (-want +got):\n%s", system, diff)
		}
	}
	r.must(t, "release-verify", dir, version)
	r.must(t, "release-same", dir, version)
}

// TestFilesThatAreNotAsTheyShouldBeAreRefused changes one file of a release.
func TestFilesThatAreNotAsTheyShouldBeAreRefused(t *testing.T) {
	t.Parallel()
	r := newRemote(t)
	r.withFakeGo()
	two := []string{runtime.GOOS + "/" + runtime.GOARCH, "windows/arm64"}
	native, other := program(two[0]), program(two[1])
	built := r.built(two...)
	changed := func(file, old, text string) string {
		spoilt, dir := t.TempDir(), t.TempDir()
		copyFiles(t, built, spoilt, ".")
		r.spoil(filepath.Join(spoilt, file), old, text)
		copyFiles(t, spoilt, dir, ".")
		return dir
	}
	for _, c := range []struct{ file, old, new, says string }{
		{other, "GOOS=windows", "GOOS=linux", "was not built with GOOS=windows"},
		{native, "CGO_ENABLED=0", "CGO_ENABLED=1", "was not built with CGO_ENABLED=0"},
		{native, "exit", "exit # /private/GOROOT/src", "contains the path /private/GOROOT"},
		{native, "exit", strings.Repeat("# long\n", 3<<20), "has more than"},
		{native, version, "v1.0.0", "does not say that it is " + version},
		{other, version, "v1.0.0", "does not contain " + version},
		{native + ".cdx.json", "example.com/dep", "example.com/other", "does not name the modules"},
		{native + ".cdx.json", `"content": "`, `"content": "0`, "lacks the checksum"},
		{"SHA256SUMS", native + "\n", "other\n", "does not list these files"},
	} {
		dir := changed(c.file, c.old, c.new)
		if c.file != "SHA256SUMS" {
			sum(t, dir)
		}
		if e := r.run(t, "release-verify", append([]string{dir, version}, two...)...); e.code != 1 || !strings.Contains(e.err, c.says) {
			t.Errorf("%s with %.20q: got %+v, want it refused because it %s", c.file, c.new, e, c.says)
		}
	}
	dir := changed(native, "exit", "exit 0")
	if e := r.run(t, "release-verify", dir, version, two[0]); e.code != 1 || !strings.Contains(e.err, "is not that of the files") {
		t.Errorf("a program that was changed: got %+v, want it refused because of its checksum", e)
	}
	if e := r.run(t, "release-same", dir, version, two[0]); e.code == 0 {
		t.Errorf("a program that was changed: got %+v, want it refused because it is not the same", e)
	}
}

// spoil replaces a text in a file.
func (r *remote) spoil(path, old, text string) {
	r.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		r.t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		r.t.Fatalf("%s: got no %q in it", path, old)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), old, text)), 0o755); err != nil {
		r.t.Fatal(err)
	}
}

// sum writes the checksums of a folder's files.
func sum(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var sums strings.Builder
	for _, e := range entries {
		if e.Name() == "SHA256SUMS" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	if err := os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
