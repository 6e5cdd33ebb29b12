// Runs one prompt with OpenCode 1.18, and tells raymond in JSON lines what comes of it. Use it as
// agent command: node "$RAYMOND_SCOPE/opencode.mjs", when it lies beside the states.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const env = process.env;
const tell = (line) => console.log(JSON.stringify(line));
const list = (text) => (text ?? '').split('\n').filter(Boolean);

const args = ['run', '--pure', '--format', 'json', '--title', env.RAYMOND_STATE];
if (env.RAYMOND_MODEL) args.push('--model', env.RAYMOND_MODEL);
if (env.RAYMOND_SESSION) args.push('--session', env.RAYMOND_SESSION);
if (env.RAYMOND_SESSION_MODE === 'branch') args.push('--fork');
if (env.RAYMOND_PERMISSION_MODE === 'plan') args.push('--agent', 'plan');

// A tool that is disallowed for some inputs is denied for all.
const tools = { Bash: 'bash', Edit: 'edit', Write: 'edit', NotebookEdit: 'edit', WebFetch: 'webfetch', Task: 'task' };
const denied = list(env.RAYMOND_DISALLOWED_TOOLS).map((tool) => tools[tool.replace(/\(.*/, '')]).filter(Boolean);
const permission = Object.fromEntries(denied.map((tool) => [tool, 'deny']));
// Where raymond keeps the key of Anthropic's API, its proxy has to be asked.
const { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: apiKey } = env;
const provider = url ? { anthropic: { options: { baseURL: `${url}/v1`, apiKey } } } : {};
env.OPENCODE_CONFIG_CONTENT = JSON.stringify({ permission, provider, share: 'disabled', autoupdate: false });

const classes = { 401: 'authentication', 403: 'authentication', 429: 'rate_limit', 400: 'invalid', 404: 'invalid' };
const opencode = spawn('opencode', args, { stdio: ['inherit', 'pipe', 'pipe'] });
opencode.on('error', (error) => tell({ type: 'error', class: 'invalid', message: error.message }));
opencode.on('close', (code) => { process.exitCode = code ?? 1; });
opencode.stderr.on('data', (text) => {
	process.stderr.write(text);
	if (/Session not found/.test(text)) tell({ type: 'error', class: 'session_gone', message: env.RAYMOND_SESSION });
});
let session;
for await (const line of createInterface({ input: opencode.stdout })) {
	const { type, sessionID, part, error } = JSON.parse(line);
	if (sessionID && !session) tell({ type: 'session', id: session = sessionID });
	if (type === 'text') tell({ type, text: part.text });
	if (type === 'tool_use') tell({ type: 'tool', name: part.tool, input: part.state.input });
	if (type === 'step_finish') {
		const { input, output, reasoning, cache } = part.tokens;
		const cost = { type: 'cost', input: input + cache.write, cached: cache.read, output: output + reasoning };
		tell(part.cost > 0 ? { ...cost, usd: part.cost } : cost); // it knows no price of some models
	}
	if (type === 'error') {
		const { statusCode: status, message = error.name } = error.data ?? {};
		tell({ type: 'error', class: classes[status] ?? (status >= 500 ? 'overloaded' : 'other'), message });
	}
}
