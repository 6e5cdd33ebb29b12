//go:build linux && (amd64 || arm64)

package cage_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// task is a typical task of an agent: a script that fails if any of its commands doesn't work.
type task struct {
	name   string
	script string
	needs  []string // programs that this task needs in addition to bash, perl and git
}

// everydayTasks are tasks that need bash, perl and git.
var everydayTasks = []task{
	{name: "files", script: `
mkdir a; echo x > a/f; chmod 755 a/f; mv a/f a/g; ln -s g a/link; ln a/g b; mkdir c; mv a/g c/; ln c/g c/h; mkfifo pipe; cp -a c d; touch -d yesterday b
[ -x c/g ] && [ "$(cat <(cat d/h))" = x ]; truncate -s 1G sparse; rm -r sparse a d; tar cf t.tar c; tar xf t.tar`},
	{name: "temporary files and devices", script: `
echo x > "$(mktemp)"; mktemp -d; seq 1 60000 | sort -R -S 100k | sort -n -S 100k | tail -n 1 | grep -qx 60000
echo x > /dev/null; head -c 4 /dev/urandom | wc -c | grep -q 4; echo x > /dev/shm/raymond-$$; rm /dev/shm/raymond-$$; exec 5<>/dev/null; echo "x" > /dev/stderr`},
	{name: "processes of the shell", script: `
set -m; sleep 0.05 & sleep 60 & kill %2; wait %1; bash -c 'sleep 60 & sleep 60 & wait' & group=$!; kill -- -$group; wait $group || true
(sleep 0.01; echo late) & wait; setsid -w true; nohup true > /dev/null 2>&1; nice -n 5 true; ulimit -c 0; ulimit -n 256
exec 6< <(echo started; exec sleep 60 > /dev/null); child=$!; read -r -u 6; until [ "$(cat /proc/$child/comm)" = sleep ]; do :; done
cat /proc/$child/environ /proc/$child/maps > /dev/null; ls /proc/$child/fd > /dev/null; readlink /proc/$child/fd/0 /proc/self/fd/0 > /dev/null; kill -STOP $child; kill -9 $child
timeout 0.05 sleep 60 || [ $? = 124 ]`},
	{name: "servers", script: `
perl -MSocket -e 'for my $at ("s", "/dev/shm/raymond-$$") { socket(my $s, AF_UNIX, SOCK_STREAM, 0); bind($s, sockaddr_un($at)) && listen($s, 1) or die "$at: $!";
  socket(my $c, AF_UNIX, SOCK_STREAM, 0); connect($c, sockaddr_un($at)) or die "$at: $!"; unlink $at }
  socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die; my ($port, @all) = 0; for (1, 2) { socket(my $s, AF_INET, SOCK_STREAM, 0);
  setsockopt($s, SOL_SOCKET, $_, 1) or die $! for SO_REUSEADDR, SO_REUSEPORT; bind($s, sockaddr_in($port, INADDR_LOOPBACK)) && listen($s, 1) or die "tcp: $!";
  ($port) = sockaddr_in(getsockname $s); push @all, $s } socket(my $c, AF_INET, SOCK_STREAM, 0); connect($c, sockaddr_in($port, INADDR_LOOPBACK)) or die "tcp: $!"'`},
	{name: "git", script: `
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q repo; cd repo; echo x > f; git add f; git commit -qm first; git worktree add -q ../tree -b topic; cd ../tree; echo y > f; git commit -qam second
git init -q --bare ../bare.git; git push -q ../bare.git HEAD:main; git clone -q -b main ../bare.git ../clone; cd ../repo; git merge -q topic; git gc -q; git fsck
git rev-parse HEAD | grep -qx "$(git -C ../clone rev-parse HEAD)"; git worktree remove ../tree`},
}

// TestEverydayTasksWork checks that everyday tasks work in a cage with the same policy as an agent's, with each
// kind of network.
func TestEverydayTasksWork(t *testing.T) {
	output, err := exec.Command("go", "env", "GOCACHE").Output()
	assert.NilError(t, err)
	cache := strings.TrimSpace(string(output))
	assert.NilError(t, os.MkdirAll(cache, 0o700))
	for name, network := range map[string]cage.Network{"open": open, "none": {OnRefused: func(target string) { t.Errorf("refused: got %s, want nothing", target) }}} {
		for _, w := range everydayTasks {
			t.Run(name+"/"+w.name, func(t *testing.T) {
				for _, program := range w.needs {
					_, err := exec.LookPath(program)
					assert.NilError(t, err, "%v; this test needs Go, Node and: apt-get install python3 python3-venv make gcc util-linux openssh-client procps ncurses-bin", err)
				}
				dir := t.TempDir()
				assert.NilError(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o700))
				t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
				p := cage.Policy{Network: network, Writable: append([]string{dir, cache}, devices...)}
				got := runCaged(t, p, "bash", "-c", "set -e\ncd "+dir+"\n"+w.script+"\necho all done")
				assert.Check(t, strings.HasSuffix(got, "all done\n"), "%s\ngot %s\nwant all of it done", w.script, got)
			})
		}
	}
}

// devices are the devices to which agents may write.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}
