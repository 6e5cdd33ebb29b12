package workspace_test

import (
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/artifacts/workspace"
)

// TestLoginsInCheckoutsAreFound checks that FindLogin finds logins in settings that git or a package
// manager reads.
func TestLoginsInCheckoutsAreFound(t *testing.T) {
	for name, want := range map[string]string{
		"a/b/c/d/.git/config: [remote \"o\"]\n url = https://x-access-token:ghs_x@github.com/o/r":                                                               "remote.*.url",
		"a/.git/config.worktree: [remote \"o\"]\n pushurl = \"https://ghp_x@git\\\nhub.com/o/r\"":                                                               "remote.*.pushurl",
		"a/.git/config: [URL \"https://x:ghs_x@github.com/\"]\n insteadOf = https://github.com/":                                                                "url.*.insteadof",
		"a/.git/modules/b/modules/c/config: [http \"x\"]\n extraHeader = AUTHORIZATION: basic x":                                                                "http.*.extraheader",
		"bare.git/config: [credential \"https://github.com\"]\n helper = \"!f() { echo password=x; }; f\"":                                                      "credential.*.helper",
		"a/.git/config: [include]\n path = ../further":                                                                                                          "url.*.insteadof",
		"a/b/.npmrc: //registry.npmjs.org/:_authToken = npm_x":                                                                                                  "it contains a login",
		"a/.git/config: [remote \"o\"]\n url = https://git@github.com/o/r\n[x \"y\"]\n url = ssh://git@h:22/r\n[include]\n path = gone\n[http]\n extraHeader =": "<nil>",
		"a/config: [remote \"o\"]\n url = https://x:y@github.com/o/r":                                                                                           "<nil>",
		"a/.npmrc: //registry.npmjs.org/:_authToken=${NODE_AUTH_TOKEN}\n# _auth=x\nregistry=https://r/":                                                         "<nil>",
		"a/.npmrc: //r/:_authToken = \"${NODE_AUTH_TOKEN}\"\n_password =":                                                                                       "<nil>",
		"a/.npmrc: //r/:_authToken = npm_x":                                                                                                                     "it contains a login",
		"a/.git/config: [include]\n path = /proc/kmsg":                                                                                                          "<nil>",
	} {
		path, content, _ := strings.Cut(name, ": ")
		dir := t.TempDir()
		git(t, dir, "init", "-q", "--bare", "bare.git")
		write(t, dir, "a/further", "[url \"https://x@github.com\"]\ninsteadOf = gh\n")
		write(t, dir, path, content+"\n")
		file, err := (&workspace.Git{}).FindLogin(t.Context(), []string{dir}, func(name string) bool { return name == ".npmrc" })
		assert.Check(t, (file != "") == (err != nil) && strings.Contains(fmt.Sprint(err), want), "%s: got %s, %v, want %q", name, file, err, want)
	}
}
