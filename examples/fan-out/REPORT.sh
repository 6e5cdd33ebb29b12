# The payload is a JSON array of the workers' results, in the order of the forks. Each line of an agent's text
# gets a mark, so that no line can end the tag.

set -eu
exec node --input-type=module - <<'END'
import { readFileSync } from 'node:fs';

const workers = JSON.parse(readFileSync(process.env.RAYMOND_RESULT_FILE, 'utf8'));
const quote = (text) => text.trim().split(/\r\n|[\n\r\v\f\u2028\u2029]/).map((line) => `> ${line}`).join('\n').replace(/</g, '‹');
const cost = workers.reduce((sum, { cost_usd: usd }) => sum + usd, 0);
const failed = workers.filter(({ status }) => status === 'failed').length;
const parts = workers.map(({ agent, status, result, error }) => `${agent}: ${status}\n${quote(result ?? error ?? '')}`);
console.log(`<result>${workers.length} worker${workers.length === 1 ? '' : 's'}, ${failed} failed, $${cost.toFixed(2)}\n\n${parts.join('\n\n')}</result>`);
END
