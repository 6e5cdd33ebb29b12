//go:build linux && (amd64 || arm64)

package cage_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/raymond-action/raymond-action/internal/cage"
)

// toolsVar makes the tests try programs as well that no other test needs.
const toolsVar = "RAYMOND_TEST_TOOLS"

// work is something that agents do all day, as a script that fails if it can't.
type work struct {
	name   string
	script string
	needs  []string // programs beside those that every test needs
}

// everyday needs bash, git, Go and Node.
var everyday = []work{
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
	{name: "git", script: `
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
git init -q repo; cd repo; echo x > f; git add f; git commit -qm first; git worktree add -q ../tree -b topic; cd ../tree; echo y > f; git commit -qam second
git init -q --bare ../bare.git; git push -q ../bare.git HEAD:main; git clone -q -b main ../bare.git ../clone; cd ../repo; git merge -q topic; git gc -q; git fsck
git rev-parse HEAD | grep -qx "$(git -C ../clone rev-parse HEAD)"; git worktree remove ../tree`},
	{name: "go", script: `
printf 'module example.com/m\n\ngo 1.24\n' > go.mod
cat > m_test.go <<'X'
package m

import ("net"; "os/exec"; "testing")

func TestServer(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "localhost:0", ":0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := net.Dial("tcp", l.Addr().String()); err != nil {
			t.Error(err)
		}
	}
	if out, err := exec.Command("git", "--version").CombinedOutput(); err != nil {
		t.Errorf("%s, %v", out, err)
	}
}
X
go test ./...`},
	{name: "node", script: `
cat > all.js <<'X'
const http = require('http'), net = require('net'), cp = require('child_process'), fs = require('fs'), { Worker } = require('worker_threads');
if (process.argv[2]) { process.send('x', () => process.disconnect()); return; }
const fail = why => e => { console.log(why, e); process.exit(1); };
const asked = at => new Promise(done => { const s = http.createServer((q, r) => r.end('hello')).listen(0, at, () =>
  http.get({ host: at || 'localhost', port: s.address().port }, r => r.resume().on('end', () => s.close(done))).on('error', fail('server at ' + at))); });
const all = [asked(), asked('127.0.0.1'),
  new Promise(done => new Worker('require("worker_threads").parentPort.postMessage(1)', { eval: true }).on('message', done).on('error', fail('thread'))),
  new Promise(done => cp.fork(__filename, ['child']).on('message', done).on('error', fail('fork'))),
  new Promise(done => { const p = cp.spawn('sleep', ['60'], { detached: true, stdio: 'ignore' }).on('error', fail('detached')).on('exit', done); process.kill(-p.pid); }),
  new Promise(done => { const at = process.env.TMPDIR + '/s'; const s = net.createServer(c => c.end('x')).listen(at, () =>
    net.connect(at).resume().on('end', () => s.close(done)).on('error', fail('socket'))); }),
  new Promise(done => { const w = fs.watch('.', () => { w.close(); done(); }); fs.writeFileSync('watched', ''); })];
Promise.all(all).then(() => process.exit(0));
X
node all.js; node --inspect-brk=0 -e 1 2> inspected & until grep -q listening inspected; do kill -0 $!; done; kill $!`},
}

// ofTools needs more.
var ofTools = []work{
	{name: "python", needs: []string{"python3", "pip"}, script: `
cat > all.py <<'X'
import asyncio, fcntl, http.server, mmap, multiprocessing, os, pty, sqlite3, sys, threading, urllib.request
from multiprocessing import shared_memory
def square(x): return x * x
async def talk():
    p = await asyncio.create_subprocess_exec('echo', 'x', stdout=-1)
    assert (await p.communicate())[0] == b'x\n'
    async def hello(r, w): w.write(b'x'); await w.drain(); w.close()
    tcp, local = await asyncio.start_server(hello, '127.0.0.1', 0), await asyncio.start_unix_server(hello, 'socket')
    for r, w in (await asyncio.open_connection(*tcp.sockets[0].getsockname()), await asyncio.open_unix_connection('socket')):
        assert await r.read() == b'x'
if __name__ == '__main__':
    for method in 'fork', 'spawn', 'forkserver':
        with multiprocessing.get_context(method).Pool(2) as pool: assert pool.map(square, range(4)) == [0, 1, 4, 9]
    with multiprocessing.Manager() as m: d = m.dict(); d[1] = 2; assert dict(d) == {1: 2}
    shared = shared_memory.SharedMemory(create=True, size=100); shared.close(); shared.unlink()
    with multiprocessing.Lock(): pass
    s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
    threading.Thread(target=s.serve_forever, daemon=True).start()
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open('http://127.0.0.1:%d/' % s.server_port).read()
    asyncio.run(talk())
    assert pty.spawn(['bash', '-c', 'tty && stty size']) == 0
    c = sqlite3.connect('db'); c.execute('pragma journal_mode=wal'); c.execute('create table t(a)'); c.commit()
    f = open('mapped', 'w+b'); f.truncate(4096); fcntl.lockf(f, fcntl.LOCK_EX); mmap.mmap(f.fileno(), 4096)[0:1] = b'x'
X
python3 all.py`},
	{name: "pip, with an index on loopback", needs: []string{"python3", "pip"}, script: `
mkdir -p index/simple/hello hello
cat > wheel.py <<'X'
import zipfile
w = zipfile.ZipFile('index/simple/hello/hello-1.0-py3-none-any.whl', 'w')
w.writestr('hello.py', 'print("hello")\n')
w.writestr('hello-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n')
w.writestr('hello-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
w.writestr('hello-1.0.dist-info/RECORD', '')
X
python3 wheel.py; echo '<a href="hello-1.0-py3-none-any.whl">hello-1.0-py3-none-any.whl</a>' > index/simple/hello/index.html
cat > serve.py <<'X'
import functools, http.server, subprocess, sys, threading
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(http.server.SimpleHTTPRequestHandler, directory='index'))
threading.Thread(target=s.serve_forever, daemon=True).start()
sys.exit(subprocess.call(['venv/bin/pip', 'install', '-q', '--disable-pip-version-check', '--index-url', 'http://127.0.0.1:%d/simple' % s.server_port, 'hello']))
X
python3 -m venv venv; python3 serve.py; venv/bin/python -c 'import hello'`},
	{name: "make and a compiler", needs: []string{"make", "gcc"}, script: `
printf 'all: a b c d\na b c d: main.c ; gcc -pipe -o $@ $<\n' > Makefile; echo 'int main(void) { return 0; }' > main.c; make -j4; ./d
printf 'module example.com/m\n\ngo 1.24\n' > go.mod
printf 'package main\n\n// int three(void) { return 3; }\nimport "C"\n\nfunc main() { go func() {}(); println(C.three()) }\n' > main.go
rm main.c; go run -race .`},
	{name: "terminals, keys and lists of processes", needs: []string{"script", "ssh-keygen", "ps", "flock", "tput"}, script: `
script -qec 'tty && tput -T xterm cols && stty size && bash -ic "sleep 60 & kill %1; wait"' /dev/null
ssh-keygen -q -t ed25519 -N '' -f key; ssh-keygen -lf key; ps aux > /dev/null; ps -ef | grep -q bash; flock lock true`},
}

// TestHonestWork: agents notice nothing of the cage, whatever the network.
func TestHonestWork(t *testing.T) {
	all := everyday
	if os.Getenv(toolsVar) != "" {
		all = append(all, ofTools...)
	}
	for name, network := range map[string]cage.Network{"open": open, "none": {Refused: func(target string) { t.Errorf("refused: got %s, want nothing", target) }}} {
		for _, w := range all {
			t.Run(name+"/"+w.name, func(t *testing.T) { w.do(t, network) })
		}
	}
}

// do does the work in a cage like that of a run.
func (w work) do(t *testing.T, network cage.Network) {
	t.Helper()
	for _, program := range w.needs {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v; with %s set, this test needs: apt-get install python3 python3-venv make gcc util-linux openssh-client procps ncurses-bin", err, toolsVar)
		}
	}
	dir := t.TempDir()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "tmp"), strings.TrimSpace(string(cache))} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
	p := cage.Policy{Network: network, Writable: append([]string{dir, strings.TrimSpace(string(cache))}, devices...)}
	got := caged(t, p, "bash", "-c", "set -e\ncd "+dir+"\n"+w.script+"\necho all done")
	if !strings.HasSuffix(got, "all done\n") {
		t.Errorf("%s\ngot %s\nwant all of it done", w.script, got)
	}
}

// devices are those that a run may write.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm"}

// TestTerminalsWorkInACage: the program of the tests opens one, and its child has it.
func TestTerminalsWorkInACage(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("RAYMOND_TEST_TERMINAL", "1")
	if got := caged(t, cage.Policy{Network: open, Writable: devices}, self); got != "24 80\n" {
		t.Errorf("size of a terminal in the cage: got %q, want 24 lines of 80 characters", got)
	}
}

// openTerminal says what a shell at a new terminal says of its size.
func openTerminal() error {
	leader, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer leader.Close()
	fd := int(leader.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return err
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return err
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer terminal.Close()
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		return err
	}
	cmd := exec.Command("bash", "-c", "stty size < /dev/tty")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, os.Stdout, os.Stderr
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true, Setctty: true}
	return cmd.Run()
}
