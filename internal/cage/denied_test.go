package cage

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

func TestDeniedPath(t *testing.T) {
	for output, want := range map[string]string{
		"/bin/bash: line 1: /etc/x: Permission denied":                                          "/etc/x",
		"mkdir: cannot create directory ‘/opt/a b’: Permission denied":                          "/opt/a",
		"touch: cannot touch '/home/u/.bashrc': Permission denied\n":                            "/home/u/.bashrc",
		"PermissionError: [Errno 13] Permission denied: '/srv/f.txt'":                           "/srv/f.txt",
		"npm ERR! Error: EACCES: permission denied, mkdir '/usr/lib/node_modules/x'":            "/usr/lib/node_modules/x",
		"open /root/.ssh/id_rsa: permission denied":                                             "/root/.ssh/id_rsa",
		"fine\nall good /a\nerror: could not lock config file /h/.gitconfig: Permission denied": "/h/.gitconfig",
		"sudo: a password is required":                                                          "",
		"Permission denied (publickey).":                                                        "",
		"relative.txt: Permission denied":                                                       "",
		strings.Repeat("x", maxSearched) + "\n/a: Permission denied":                            "",
		"": "",
	} {
		assert.Check(t, cmp.Equal(DeniedPath(output), want), "%.80q", output)
	}
}
