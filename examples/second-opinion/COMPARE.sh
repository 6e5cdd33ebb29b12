# The payload is a JSON array of the verdicts, in the order of the forks. A finding of at least two reviewers goes back
# to the agent that did the work; a finding of only one is shown to people at the end.

set -eu
exec node --input-type=module - <<'END'
import { readFileSync } from 'node:fs';

const most = Number(process.env.RAYMOND_VAR_ROUNDS ?? 3); // --meta rounds=N
const near = 3; // lines that two reviewers may be apart

const agents = JSON.parse(readFileSync(process.env.RAYMOND_RESULT_FILE, 'utf8'));
const round = Number(process.env.RAYMOND_VISITS); // how often this state was entered
const verdicts = agents.map(({ result }) => (result ? JSON.parse(result).findings : null)); // checked by verdict.json
if (verdicts.filter(Boolean).length < 2) {
	console.error('fewer than two reviewers have answered:', agents.map(({ agent, error }) => `${agent}: ${error ?? 'ok'}`).join('; '));
	process.exit(1);
}

// Findings at about the same line are one finding, whatever their words.
const places = [];
verdicts.forEach((findings, reviewer) => (findings ?? []).forEach(({ file, line, problem }) => {
	const name = file.replace(/^\.\//, '');
	let place = places.find((p) => p.file === name && Math.abs(p.line - line) <= near);
	if (!place) places.push(place = { file: name, line, reviewers: new Set(), problems: [] });
	place.reviewers.add(reviewer);
	place.problems.push(problem);
}));

// Text of agents must not end a tag, or begin a line that looks like the script's.
const quote = (text) => text.trim().split(/\r\n|[\n\r\v\f\u2028\u2029]/).map((line) => `  > ${line}`).join('\n');
const show = (list) => list.map(({ file, line, problems }) => `- ${quote(`${file}:${line}`).slice(4)}\n${problems.map(quote).join('\n')}`).join('\n');
const attribute = (text) => text.replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const agreed = places.filter(({ reviewers }) => reviewers.size >= 2);
const alone = places.filter(({ reviewers }) => reviewers.size < 2);

if (agreed.length > 0 && round < most) {
	console.log(`<goto input="${attribute(show(agreed))}">FIX.md</goto>`);
} else {
	const end = agreed.length > 0 ? `after ${round} rounds two reviewers still agree on:\n\n${show(agreed)}` : `round ${round}: no two reviewers found the same`;
	const rest = alone.length > 0 ? `\n\nOnly one reviewer found:\n\n${show(alone)}` : '';
	console.log(`<goto input="${attribute(end + rest)}">PATCH.sh</goto>`);
}
END
