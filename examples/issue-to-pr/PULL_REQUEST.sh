# Opens the pull request, or updates the open one, and asks there for changes. The payload is the summary. Like the
# issue's title it is text of strangers: a program builds the JSON, and the summary is in a fence, where mentions and
# keywords have no effect.
# raymond: job=publish trusted=true

set -eu
export NODE_USE_ENV_PROXY=1
exec node --input-type=module - <<'END'
import { readFileSync } from 'node:fs';

const env = process.env;
const branch = `raymond/issue-${env.RAYMOND_VAR_ISSUE}`;
const done = (text) => console.log(`<result>${text.replace(/</g, '')}</result>`);

// The run waits for an answer on the pull request. FOLLOW_UP.sh gets it, in the conversation of the agent that wrote
// the work.
const review = ({ number }) => console.log(`<ask next="FOLLOW_UP.sh" where="${number}">
Say what should be different, and the agent that wrote this changes it; or "done".
</ask>`);

async function ask(...question) {
  try {
    return await send(...question);
  } catch (err) {
    const why = err.cause?.code ?? err.cause?.message ?? err.message;
    throw new Error(`the API at ${env.GITHUB_API_URL} can't be reached (${why}); the branch is pushed, run the job again`);
  }
}

async function send(method, path, fields) {
  const answer = await fetch(`${env.GITHUB_API_URL}/repos/${env.GITHUB_REPOSITORY}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${env.GITHUB_TOKEN}`, accept: 'application/vnd.github+json', 'content-type': 'application/json',
    },
    body: fields && JSON.stringify(fields),
    redirect: 'error',
    signal: AbortSignal.timeout(60_000),
  });
  const text = await answer.text();
  return { ok: answer.ok, status: answer.status, text, json: answer.ok ? JSON.parse(text) : null };
}

function refused(what, { status, text }) {
  const hint = status === 403
    ? '; it needs pull-requests: write, and "Allow GitHub Actions to create and approve pull requests" in the settings' : '';
  throw new Error(`${what}: the API answers ${status}${hint}\n${text.slice(0, 1000)}`);
}

function wording(event) {
  const summary = readFileSync(env.RAYMOND_RESULT_FILE, 'utf8').trim().slice(0, 20_000);
  const longest = Math.max(2, ...[...summary.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const title = event.issue?.pull_request ? '' : [...(event.issue?.title ?? '').replace(/[\p{C}\p{Z}]+/gu, ' ').trim()].slice(0, 200).join('');
  return {
    title: title || `Work on issue ${env.RAYMOND_VAR_ISSUE}`,
    body: `Closes #${env.RAYMOND_VAR_ISSUE}.\n\nWhat the agents say of their work:\n\n${fence}text\n${summary}\n${fence}\n`,
  };
}

// The open pull request of the branch, of which there is one at most for each base.
async function existing(base) {
  const query = new URLSearchParams({ state: 'open', base, head: `${env.GITHUB_REPOSITORY.split('/')[0]}:${branch}` });
  const found = await ask('GET', `/pulls?${query}`);
  if (!found.ok) refused('look for the pull request', found);
  return found.json.find((pull) => pull.head.ref === branch);
}

async function main() {
  if (env.GITHUB_ACTIONS !== 'true') return done(`This is no job: ${branch} gets no pull request.`);
  const event = JSON.parse(readFileSync(env.GITHUB_EVENT_PATH, 'utf8'));
  const base = event.repository.default_branch;
  const words = wording(event);
  const open = await existing(base);
  if (open) {
    const changed = await ask('PATCH', `/pulls/${open.number}`, { body: words.body });
    if (!changed.ok) refused(`change pull request ${open.number}`, changed);
    return review(open);
  }
  const made = await ask('POST', '/pulls', { ...words, head: branch, base });
  if (!made.ok) refused('open the pull request', made);
  return review(made.json);
}

main().catch((err) => {
  console.error(err.message);
  process.exitCode = 1;
});
END
