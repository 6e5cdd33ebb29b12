'use strict';
// Finds the Go program and becomes it. The action is a node action only because the runner
// gives its runtime token to no other kind that needs no container.
const { spawn, spawnSync } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const windows = process.platform === 'win32';
const goos = windows ? 'windows' : process.platform;
const goarch = { x64: 'amd64', ia32: '386' }[process.arch] || process.arch;
const suffix = windows ? '.exe' : '';
const action = path.resolve(__dirname, '..', '..');
const shipped = path.join(__dirname, 'bin', `raymond-${goos}-${goarch}${suffix}`);

function fail(text, exit = 1) {
  throw Object.assign(new Error(text), { exit });
}

// An earlier step could set ACT; RUNNER_ENVIRONMENT it can't, and act leaves it out.
const byAct = process.env.ACT === 'true' && !process.env.RUNNER_ENVIRONMENT;

// An earlier step could set RAYMOND_BINARY too.
function chosen() {
  const { RUNNER_ENVIRONMENT, RAYMOND_BINARY } = process.env;
  if (!RAYMOND_BINARY || !(byAct || RUNNER_ENVIRONMENT === 'self-hosted')) return '';
  return fs.existsSync(RAYMOND_BINARY) ? path.resolve(RAYMOND_BINARY) : fail(`RAYMOND_BINARY names no file: ${RAYMOND_BINARY}`);
}

const sha256 = (data) => crypto.createHash('sha256').update(data).digest('hex');

// The runtime token is known to all steps of the job that use the action, and to no agent. act gives each part of a
// step another one, so there nothing is sealed.
function seal(text) {
  const token = process.env.ACTIONS_RUNTIME_TOKEN;
  if (!token || byAct) return 'unsealed';
  const key = crypto.hkdfSync('sha256', token, '', `raymond program v1\0${action}`, 32);
  return crypto.createHmac('sha256', Buffer.from(key)).update(text).digest('hex');
}

// A note names a program and what it is, under the seal.
function noteOf(program) {
  const text = `${sha256(fs.readFileSync(program))} ${program}`;
  return `${seal(text)} ${text}`;
}

// The program of a note, if it is still that. Agents can't write where it lies, but change modes.
function noted(note) {
  const [mac, sum, ...name] = note.split(' ');
  const program = name.join(' ');
  const deny = (what) => fail(`denied: ${program || 'the program'}: ${what}; nothing of it is run`, 8);
  if (!program || mac !== seal(`${sum} ${program}`)) deny('this job\'s main part has left no note of it, or it was altered');
  reopen();
  const now = fs.existsSync(program) ? sha256(fs.readFileSync(executable(program))) : '';
  return now === sum ? program : deny('altered since the main part of this step noted it');
}

// The variables that the go command needs, and no secret of the job.
const forGo = /^(PATH|PATHEXT|HOME|USERPROFILE|(LOCAL)?APPDATA|SYSTEMROOT|TMP|TEMP|TMPDIR|NETRC|XDG_\w+|GO[A-Z0-9]+|SSL_CERT_\w+|(HTTPS?|NO|ALL)_PROXY)$/i;

// Where the program is built, for all steps of the job that use this folder of the action. Agents don't see it.
const { RUNNER_TEMP, GITHUB_RUN_ID, GITHUB_RUN_ATTEMPT, GITHUB_JOB } = process.env;
let builds = path.join(RUNNER_TEMP || '', 'raymond-build');
try {
  if (RUNNER_TEMP) fs.chmodSync(builds, 0o700);
} catch (err) { // root in a container has left it, unless it isn't there, or agents have closed what it is in
  if (!['ENOENT', 'EACCES'].includes(err.code)) builds += `-${process.getuid?.()}`;
}
const build = path.join(builds, sha256([action, GITHUB_RUN_ID, GITHUB_RUN_ATTEMPT, GITHUB_JOB].join('\n')).slice(0, 16));

// Makes our folders ours again, and nobody else's. Agents may have closed the folders around them too.
function reopen() {
  if (!RUNNER_TEMP) return;
  const around = [];
  for (let dir = path.resolve(RUNNER_TEMP); !around.includes(dir); dir = path.dirname(dir)) around.unshift(dir);
  for (const dir of around) {
    const { mode, uid } = fs.statSync(dir);
    if (uid === process.getuid?.()) fs.chmodSync(dir, mode | 0o700);
  }
  for (const dir of [builds, build]) if (fs.existsSync(dir)) fs.chmodSync(dir, 0o700);
}

// Builds a branch or a commit that ships no program, once a job; '' without a Go toolchain. What others put there
// before is no build of ours. Modules are what go.sum says, wherever they come from.
function built() {
  if (!fs.existsSync(path.join(action, 'go.mod'))) return '';
  if (!RUNNER_TEMP) fail('RUNNER_TEMP is not set, and the program is to be built there');
  reopen();
  const kept = path.join(build, 'note');
  if (fs.existsSync(kept)) return noted(fs.readFileSync(kept, 'utf8'));
  fs.rmSync(build, { recursive: true, force: true });
  if (!fs.existsSync(builds)) fs.mkdirSync(builds, 0o700);
  fs.mkdirSync(build, 0o700);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => forGo.test(name)));
  // What the job builds, and how, is not how the action is built.
  Object.assign(env, { GOOS: goos, GOARCH: goarch, GOWORK: 'off', GOFLAGS: '-mod=readonly -modcacherw', CGO_ENABLED: '0' });
  const go = (stdout, ...args) => spawnSync('go', args, { cwd: action, env, stdio: ['ignore', stdout, 'inherit'] });
  const asked = go('pipe', 'env', '-json', 'GOMODCACHE', 'GOPROXY');
  if (asked.error?.code === 'ENOENT') return '';
  if (asked.status === 0) {
    const { GOMODCACHE, GOPROXY } = JSON.parse(asked.stdout);
    env.GOPROXY = `${pathToFileURL(path.join(GOMODCACHE, 'cache', 'download'))},${GOPROXY}`;
  }
  Object.assign(env, { GOCACHE: path.join(build, 'cache'), GOMODCACHE: path.join(build, 'mod') });
  const program = path.join(build, 'raymond' + suffix);
  console.log('raymond: this commit of the action ships no program: building it, once a job, about a minute');
  const made = go('inherit', 'build', '-buildvcs=false', '-o', program, './cmd/raymond');
  if (made.error || made.status !== 0) fail(`go build of ${action}: ${made.error?.message || made.signal || `exit code ${made.status}`}`);
  for (const cache of [env.GOCACHE, env.GOMODCACHE]) fs.rmSync(cache, { recursive: true, force: true });
  fs.writeFileSync(kept, noteOf(program));
  return program;
}

// Unpacking a zip archive loses the executable bit.
function executable(program) {
  try {
    fs.accessSync(program, fs.constants.R_OK | fs.constants.X_OK);
  } catch {
    fs.chmodSync(program, 0o755);
  }
  return program;
}

// Finds the program for main, and notes it for post, which the runner tells so. Nothing is looked up there.
function find() {
  const program = executable(chosen() || (fs.existsSync(shipped) && shipped) || built()
    || fail('no program for this machine. Looked for RAYMOND_BINARY (under act and on self-hosted runners only), '
      + `for ${shipped} and for a Go toolchain on PATH to build it with. Name a release, or put actions/setup-go before this step`));
  if (process.env.GITHUB_STATE) fs.appendFileSync(process.env.GITHUB_STATE, `program=${noteOf(program)}\n`);
  return program;
}

// What this process began with can be read by every process of the same user. On Linux it is overwritten, once the
// program has it; copies in the memory, which only a tracer can read, are not, and elsewhere nothing can be done.
function forgetEnvironment() {
  if (process.platform !== 'linux') return;
  try {
    const stat = fs.readFileSync('/proc/self/stat', 'latin1');
    const [start, end] = stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(47, 49).map(Number);
    const memory = fs.openSync('/proc/self/mem', 'r+');
    fs.writeSync(memory, Buffer.alloc(end - start), 0, end - start, start);
    fs.closeSync(memory);
  } catch { /* the step goes on as it is: docs/security.md says what that means */ }
}

// Ends as the program ends. The end of the pipe on its stdin tells the program that this process is gone.
function accompany(program, phase, env) {
  let child;
  // No signal tells that the runner is gone, but another parent does.
  const parent = process.ppid;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // Before the start, so that none is lost. Windows tells every process of a console, and kill would be no signal.
    process.on(signal, () => windows || child.kill(signal));
  }
  child = spawn(program, [phase], { stdio: ['pipe', 'inherit', 'inherit'], env: { ...env, RAYMOND_SHIM_STDIN: '1' } });
  forgetEnvironment();
  setInterval(() => process.ppid === parent || child.stdin.end(), 1000).unref();
  child.on('error', report);
  child.on('exit', (code, signal) => process.exit(code ?? 128 + os.constants.signals[signal]));
}

function report(err) {
  const text = err.message.replace(/%/g, '%25').replace(/\r/g, '%0D').replace(/\n/g, '%0A');
  console.log(`::error::raymond: ${text}`);
  process.exitCode = err.exit || 1;
}

exports.become = (phase) => {
  try {
    const program = phase === 'action' ? find() : noted(process.env.STATE_program || '');
    const env = { ...process.env, RAYMOND_SHIM: __dirname };
    delete env.RAYMOND_SHIM_STDIN; // an earlier step could set it
    // After this no node process is left that has the job's secrets in its memory.
    if (process.execve && !windows) process.execve(program, [program, phase], env);
    accompany(program, phase, env);
  } catch (err) {
    report(err);
  }
};
