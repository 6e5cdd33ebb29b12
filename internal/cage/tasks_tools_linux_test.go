//go:build linux && world && (amd64 || arm64)

package cage_test

func init() { everydayTasks = append(everydayTasks, toolTasks...) }

// toolTasks are tasks that need Go, Node and the programs in their needs.
var toolTasks = []task{
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
