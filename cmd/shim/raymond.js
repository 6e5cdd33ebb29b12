'use strict';
// Finds the Go program and replaces itself by it. The action is a node action only because, of all kinds
// of actions without a container, the runner gives its runtime token only to this kind.
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

// An earlier step can set ACT, but not RUNNER_ENVIRONMENT, which act does not set.
const byAct = process.env.ACT === 'true' && !process.env.RUNNER_ENVIRONMENT;

// Returns the program in RAYMOND_BINARY, if no earlier step can have set that variable.
function chosen() {
  const { RUNNER_ENVIRONMENT, RAYMOND_BINARY } = process.env;
  if (!RAYMOND_BINARY || !(byAct || RUNNER_ENVIRONMENT === 'self-hosted')) return '';
  return fs.existsSync(RAYMOND_BINARY) ? path.resolve(RAYMOND_BINARY) : fail(`RAYMOND_BINARY names no file: ${RAYMOND_BINARY}`);
}

const sha256 = (data) => crypto.createHash('sha256').update(data).digest('hex');

// Returns a signature that only steps of this job can make: they know the runtime token, agents do not. Under act, each
// phase of a step has another token, so there are no signatures.
function seal(text) {
  const token = process.env.ACTIONS_RUNTIME_TOKEN;
  if (!token || byAct) return 'unsealed';
  const key = crypto.hkdfSync('sha256', token, '', `raymond program v1\0${action}`, 32);
  return crypto.createHmac('sha256', Buffer.from(key)).update(text).digest('hex');
}

// Returns a record of a program: signature, digest and path.
function noteOf(program) {
  const text = `${sha256(fs.readFileSync(program))} ${program}`;
  return `${seal(text)} ${text}`;
}

// Returns the program in a record if it is unchanged. Agents can't write to its directory, but can change modes.
function noted(note) {
  const [mac, sum, ...name] = note.split(' ');
  const program = name.join(' ');
  const deny = (what) => fail(`denied: ${program || 'the program'}: ${what}; it is not run`, 8);
  if (!program || mac !== seal(`${sum} ${program}`)) deny('the main phase of this step has not recorded it, or the record was altered');
  reopen();
  const now = fs.existsSync(program) ? sha256(fs.readFileSync(executable(program))) : '';
  return now === sum ? program : deny('altered since the main phase of this step recorded it');
}

// The variables that the go command gets: those that it needs, without secrets of the job.
const forGo = /^(PATH|PATHEXT|HOME|USERPROFILE|(LOCAL)?APPDATA|SYSTEMROOT|TMP|TEMP|TMPDIR|NETRC|XDG_\w+|GO[A-Z0-9]+|SSL_CERT_\w+|(HTTPS?|NO|ALL)_PROXY)$/i;

// The directory of the build, for all steps of the job that use this copy of the action. Agents can't see it.
const { RUNNER_TEMP, GITHUB_RUN_ID, GITHUB_RUN_ATTEMPT, GITHUB_JOB } = process.env;
let builds = path.join(RUNNER_TEMP || '', 'raymond-build');
try {
  if (RUNNER_TEMP) fs.chmodSync(builds, 0o700);
} catch (err) { // other errors: root in a container has created it
  if (!['ENOENT', 'EACCES'].includes(err.code)) builds += `-${process.getuid?.()}`;
}
const build = path.join(builds, sha256([action, GITHUB_RUN_ID, GITHUB_RUN_ATTEMPT, GITHUB_JOB].join('\n')).slice(0, 16));

// Restores the modes of our directories and of those around them, which agents may have changed.
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

// Builds the program of a commit that contains no binary, once per job; returns '' without a Go toolchain. Files that
// others have put there are not used. go.sum verifies modules, wherever they come from.
function built() {
  if (!fs.existsSync(path.join(action, 'go.mod'))) return '';
  if (!RUNNER_TEMP) fail('RUNNER_TEMP is not set, but the program has to be built there');
  reopen();
  const kept = path.join(build, 'note');
  if (fs.existsSync(kept)) return noted(fs.readFileSync(kept, 'utf8'));
  fs.rmSync(build, { recursive: true, force: true });
  if (!fs.existsSync(builds)) fs.mkdirSync(builds, 0o700);
  fs.mkdirSync(build, 0o700);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => forGo.test(name)));
  // Settings of the job for its own builds must not affect this build.
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
  console.log('raymond: this commit of the action contains no binary: compiling it, once per job; this takes a minute or two');
  const made = go('inherit', 'build', '-buildvcs=false', '-o', program, './cmd/raymond');
  if (made.error || made.status !== 0) fail(`go build of ${action}: ${made.error?.message || made.signal || `exit code ${made.status}`}`);
  for (const cache of [env.GOCACHE, env.GOMODCACHE]) fs.rmSync(cache, { recursive: true, force: true });
  fs.writeFileSync(kept, noteOf(program));
  return program;
}

// Makes a program executable: a zip archive may lose the executable bit.
function executable(program) {
  try {
    fs.accessSync(program, fs.constants.R_OK | fs.constants.X_OK);
  } catch {
    fs.chmodSync(program, 0o755);
  }
  return program;
}

// Finds the program for the main phase, and records it for the post phase, which does not search.
function find() {
  const program = executable(chosen() || (fs.existsSync(shipped) && shipped) || built()
    || fail('no program for this machine. Looked for RAYMOND_BINARY (under act and on self-hosted runners only), '
      + `for ${shipped} and for a Go toolchain on PATH to build it with. Use a release, or put actions/setup-go before this step`));
  if (process.env.GITHUB_STATE) fs.appendFileSync(process.env.GITHUB_STATE, `program=${noteOf(program)}\n`);
  return program;
}

// Overwrites the initial environment of this process once the program has it, because every process of the same user
// could read it. This is possible only on Linux. Other copies in memory remain; only a tracer can read them.
function forgetEnvironment() {
  if (process.platform !== 'linux') return;
  try {
    const stat = fs.readFileSync('/proc/self/stat', 'latin1');
    const [start, end] = stat.slice(stat.lastIndexOf(')') + 2).split(' ').slice(47, 49).map(Number);
    const memory = fs.openSync('/proc/self/mem', 'r+');
    fs.writeSync(memory, Buffer.alloc(end - start), 0, end - start, start);
    fs.closeSync(memory);
  } catch { /* the step continues without it; see docs/security.md */ }
}

// Runs the program as a child process, and exits with its code. When this process ends, the pipe to its stdin closes.
function accompany(program, phase, env) {
  let child;
  // No signal reports the end of the runner, but the parent process changes.
  const parent = process.ppid;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // Before the start, so that no signal is lost. Windows signals every process of a console, and kill would end the child.
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
    delete env.RAYMOND_SHIM_STDIN; // an earlier step can have set it
    // After execve, no node process is left with secrets of the job in its memory.
    if (process.execve && !windows) process.execve(program, [program, phase], env);
    accompany(program, phase, env);
  } catch (err) {
    report(err);
  }
};
