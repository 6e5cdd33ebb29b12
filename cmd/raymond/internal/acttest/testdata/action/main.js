'use strict';
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const { env } = process;

const add = (file, text) => fs.appendFileSync(env[file], text + '\n');

add('GITHUB_OUTPUT', `said<<END\n${env.INPUT_SAY}\nsecond line\nEND`);
add('GITHUB_OUTPUT', `event=${JSON.stringify(JSON.parse(fs.readFileSync(env.GITHUB_EVENT_PATH, 'utf8')))}`);
for (const name of ['GITHUB_RUN_ID', 'GITHUB_REPOSITORY', 'GITHUB_EVENT_NAME', 'HOME', 'FROM_TEST']) {
  add('GITHUB_OUTPUT', `${name}=${env[name] ?? ''}`);
}
add('GITHUB_STATE', `from-main=${env.INPUT_SAY}`);
add('GITHUB_STEP_SUMMARY', '# Summary\n\n| a | b |');
console.log('::add-mask::hushhush');
console.log('::warning file=a b.md,line=3,title=A%3A title::first%0Asecond 100%25');
console.log('::notice::done');
console.log('::group::some group');
console.log('plain line with hushhush');
console.log('::endgroup::');
if (env.INPUT_LEAVE) spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }).unref();
if (env.INPUT_WAIT) {
  fs.writeFileSync(env.INPUT_WAIT, JSON.stringify({ url: env.ACTIONS_RESULTS_URL, token: env.ACTIONS_RUNTIME_TOKEN }));
  console.log('waiting');
  setInterval(() => {}, 1000);
}
