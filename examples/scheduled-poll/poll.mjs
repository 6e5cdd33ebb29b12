// The scripts' requests to GitHub. The progress of an issue is recorded on the issue: in one comment, which is found
// again by its first line, and in the label.
//
//   find            prints the numbers of the issues to look at, the oldest first
//   begin NUMBER    records one more try and prints the issue's text; prints nothing if there is nothing to do
//   answer NUMBER   writes the text from stdin on the issue, and removes the label
import { readFileSync } from 'node:fs';

const env = process.env;
const label = env.RAYMOND_VAR_LABEL || 'examine';
const most = Number(env.RAYMOND_VAR_MOST) || 10;
const tries = Number(env.RAYMOND_VAR_TRIES) || 3;
const onGitea = (env.GITHUB_API_URL || '').endsWith('/api/v1');
const author = env.RAYMOND_VAR_BOT || (onGitea ? 'gitea-actions' : 'github-actions[bot]'); // the account of GITHUB_TOKEN
const inJob = env.GITHUB_ACTIONS === 'true';
const attempt = `${env.RAYMOND_WORKFLOW_ID}-${env.RAYMOND_AGENT_ID}`; // the same in a second try of a state, after a crash

async function ask(method, path, fields) {
  const answer = await fetch(`${env.GITHUB_API_URL}/repos/${env.GITHUB_REPOSITORY}/issues${path}`, {
    method,
    headers: {
      authorization: `Bearer ${env.GITHUB_TOKEN}`, accept: 'application/vnd.github+json', 'content-type': 'application/json',
    },
    body: fields && JSON.stringify(fields),
    redirect: 'error',
    signal: AbortSignal.timeout(60_000),
  });
  const text = await answer.text();
  if (answer.status === 404 && method === 'DELETE') return null; // already removed
  if (!answer.ok) throw new Error(`${method} issues${path}: the API answers ${answer.status}\n${text.slice(0, 1000)}`);
  return text ? JSON.parse(text) : null;
}

// For the API, pull requests are issues too.
async function find() {
  const query = new URLSearchParams({ labels: label, state: 'open', sort: 'created', direction: 'asc', per_page: '100' });
  const issues = await ask('GET', `?${query}`);
  const numbers = issues.filter((issue) => !issue.pull_request).map((issue) => issue.number);
  return numbers.sort((a, b) => a - b).slice(0, most); // Gitea lists the newest first, whatever the query says
}

// The record on an issue: <!-- scheduled-poll state tries attempt -->. Everyone can write such a line, so only
// comments of the token's own account count.
const recordLine = /^<!-- scheduled-poll (working|done) (\d{1,3}) ([\w-]+) -->/;

async function record(number) {
  for (let page = 1; page <= 30; page += 1) {
    const comments = await ask('GET', `/${number}/comments?per_page=100&page=${page}`);
    for (const { id, user, body } of comments) {
      const found = user?.login === author && recordLine.exec(body ?? '');
      if (found) return { id, state: found[1], tries: Number(found[2]), attempt: found[3] };
    }
    if (comments.length < 100) break;
  }
  return { id: 0, state: 'new', tries: 0, attempt: '' };
}

async function note(number, known, state, text) {
  const body = `<!-- scheduled-poll ${state} ${known.tries} ${attempt} -->\n${text}`;
  if (known.id) return ask('PATCH', `/comments/${known.id}`, { body });
  return ask('POST', `/${number}/comments`, { body });
}

// GitHub identifies the label by its name, Gitea by its id.
async function unlabel(number) {
  let which = encodeURIComponent(label);
  if (onGitea) which = (await ask('GET', `/${number}/labels`)).find(({ name }) => name === label)?.id;
  if (which) await ask('DELETE', `/${number}/labels/${which}`);
}

async function begin(number) {
  const issue = await ask('GET', `/${number}`);
  const wanted = issue.state === 'open' && issue.labels.some(({ name }) => name === label);
  const known = await record(number);
  if (!wanted) return '';
  if (known.state === 'done') return unlabel(number).then(() => ''); // a run stopped between answer and label
  if (known.attempt !== attempt) {
    known.tries += 1;
    if (known.tries > tries) {
      await note(number, known, 'done', `An agent was started for this ${tries} times and came to no end.`);
      return unlabel(number).then(() => '');
    }
    await note(number, known, 'working', 'An agent is looking at this.');
  }
  const seen = `${issue.title}\n\n${issue.body ?? ''}`
    .replace(/<!--[^]*?(-->|$)/g, '').replace(/[\p{Cf}\p{Variation_Selector}]/gu, '').slice(0, 30_000);
  return seen.split(/\r\n|[\n\r\v\f\u2028\u2029]/).map((line) => `> ${line}`).join('\n');
}

// The answer is an agent's text, and the issue may have dictated it. It is in a fence, where links, mentions and
// images have no effect.
async function answer(number) {
  const text = readFileSync(0, 'utf8').trim().slice(0, 30_000);
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const known = await record(number);
  if (known.state !== 'done') {
    await note(number, known, 'done', `An agent has read the code for this, and says:\n\n${fence}text\n${text}\n${fence}\n`);
  }
  await unlabel(number);
  return '';
}

// A simulation sends no requests: the numbers come from meta pretend=.
const pretended = {
  find: () => (env.RAYMOND_VAR_PRETEND || '').split(' ').filter(Boolean),
  begin: (number) => `> issue ${number}`,
  answer: () => '',
};

const [what, argument] = process.argv.slice(2);
const number = /^\d{1,18}$/.test(argument ?? '') ? argument : '';
try {
  if (what !== 'find' && !number) throw new Error(`"${argument}" is no number of an issue`);
  const out = await (inJob ? { find, begin, answer } : pretended)[what](number);
  if (out.length) console.log(Array.isArray(out) ? out.join('\n') : out);
} catch (err) {
  console.error(err.cause ? `${err.message}: ${err.cause.message}` : err.message);
  process.exitCode = 1;
}
