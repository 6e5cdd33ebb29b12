package main

import (
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/raymond-action/raymond-action/cmd/raymond/internal/sitetest"
)

// withRegistries are what agents do with packages, as scripts that fail if they can't.
var withRegistries = map[string]string{
	"npm": `echo '{"name":"a","version":"1.0.0","dependencies":{"is-odd":"3.0.1"}}' >package.json
npm install --no-fund --no-audit && rm -r node_modules && npm ci --no-fund --no-audit && node -e 'require("is-odd")'`,
	"npx": `npx --yes semver@7.6.3 1.2.3`,
	"go": `go mod init example.test/m && printf 'package main\n\nimport "golang.org/x/mod/semver"\n\nfunc main() { println(semver.Major("v1.2.3")) }\n' >main.go
go mod tidy && go run . && go test ./...`,
}

// TestPackagesInACage: programs find the registries that a list allows, by the variables
// of the cage alone. It needs the network, and so is a part of the full dose.
func TestPackagesInACage(t *testing.T) {
	t.Parallel()
	list := "registry-npm registry-go"
	for _, host := range []string{"registry.npmjs.org", "proxy.golang.org", "sum.golang.org"} {
		// A mirror may have a private address, which has to be listed.
		if addresses, err := net.LookupHost(host); err == nil {
			for _, a := range addresses {
				list += " " + net.JoinHostPort(a, "443")
			}
		}
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"npm", "npx", "go"}
	for _, network := range []string{list, "open"} {
		for _, name := range names[:sitetest.Dose(0, len(names))] {
			t.Run(name+", "+strings.Fields(network)[0], func(t *testing.T) {
				t.Parallel()
				s, modules := newSite(t, ""), t.TempDir()
				s.Env = append(s.Env, "GOCACHE="+strings.TrimSpace(string(cache)), "GOFLAGS=-modcacherw", "GOTOOLCHAIN=local", "GOPATH="+modules)
				o := s.Raymond(0, "cage", "--network", network, "--cage-write", modules, "--", "bash", "-c", "set -e\n"+withRegistries[name])
				if strings.Contains(o.Stderr, "refused") {
					t.Errorf("got %v, want nothing refused", o)
				}
			})
		}
	}
}
