'use strict';
// Finds the Go program and becomes it. The action is a node action only because the runner
// gives its runtime token to no other kind that needs no container.
const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const windows = process.platform === 'win32';
const goos = windows ? 'windows' : process.platform;
const goarch = { x64: 'amd64', ia32: '386' }[process.arch] || process.arch;
const suffix = windows ? '.exe' : '';
const action = path.resolve(__dirname, '..', '..');
const shipped = path.join(__dirname, 'bin', `raymond-${goos}-${goarch}${suffix}`);

function fail(text) {
  throw new Error(text);
}

// An earlier step could set RAYMOND_BINARY, and ACT too; RUNNER_ENVIRONMENT it can't, and act leaves it out.
function chosen() {
  const { ACT, RUNNER_ENVIRONMENT, RAYMOND_BINARY } = process.env;
  const asked = RUNNER_ENVIRONMENT === 'self-hosted' || (ACT === 'true' && !RUNNER_ENVIRONMENT);
  if (!asked || !RAYMOND_BINARY) return '';
  return fs.existsSync(RAYMOND_BINARY) ? path.resolve(RAYMOND_BINARY) : fail(`RAYMOND_BINARY names no file: ${RAYMOND_BINARY}`);
}

// The variables that the go command needs, and no secret of the job.
const forGo = /^(PATH|PATHEXT|HOME|USERPROFILE|(LOCAL)?APPDATA|SYSTEMROOT|TMP|TEMP|TMPDIR|NETRC|XDG_\w+|GO[A-Z0-9]+|SSL_CERT_\w+|(HTTPS?|NO|ALL)_PROXY)$/i;

// Builds a branch or a commit that ships no program; '' without a Go toolchain. The folder is new each time,
// so that nothing planted is taken up; the runner empties RUNNER_TEMP after the job.
function built() {
  if (!fs.existsSync(path.join(action, 'go.mod'))) return '';
  const out = path.join(fs.mkdtempSync(path.join(process.env.RUNNER_TEMP || os.tmpdir(), 'raymond-build-')), 'raymond' + suffix);
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => forGo.test(name)));
  // What the job builds, and how, is not how the action is built.
  Object.assign(env, { GOOS: goos, GOARCH: goarch, GOWORK: 'off', GOFLAGS: '-mod=readonly', CGO_ENABLED: '0' });
  const go = spawnSync('go', ['build', '-buildvcs=false', '-o', out, './cmd/raymond'],
    { cwd: action, env, stdio: ['ignore', 'inherit', 'inherit'] });
  if (go.error) return go.error.code === 'ENOENT' ? '' : fail(`go build: ${go.error.message}`);
  return go.status === 0 ? out : fail(`go build of ${action}: ${go.signal || `exit code ${go.status}`}`);
}

// Unpacking a zip archive loses the executable bit.
function executable(program) {
  try {
    fs.accessSync(program, fs.constants.X_OK);
  } catch {
    fs.chmodSync(program, 0o755);
  }
  return program;
}

function find() {
  return chosen() || (fs.existsSync(shipped) && shipped) || built()
    || fail('no program for this machine. Looked for RAYMOND_BINARY (under act and on self-hosted runners only), '
      + `for ${shipped} and for a Go toolchain on PATH to build it with. Name a release, or put actions/setup-go before this step`);
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
  process.exitCode = 1;
}

exports.become = (phase) => {
  try {
    const program = executable(find());
    const env = { ...process.env, RAYMOND_SHIM: __dirname };
    delete env.RAYMOND_SHIM_STDIN; // an earlier step could set it
    // After this no node process is left that has the job's secrets in its memory.
    if (process.execve && !windows) process.execve(program, [program, phase], env);
    accompany(program, phase, env);
  } catch (err) {
    report(err);
  }
};
