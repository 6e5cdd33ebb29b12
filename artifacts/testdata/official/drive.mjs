// Does one thing with the client that is installed in the folder given first, and writes what came of it
// to the file given second: {"ok": …} or {"error": "…"}. What to do comes as JSON on stdin.
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, answer] = process.argv.slice(2);
const entry = path.join(folder, 'node_modules', '@actions', 'artifact', 'lib', 'artifact.js');
const { DefaultArtifactClient } = await import(pathToFileURL(entry).href);
const client = new DefaultArtifactClient();

const actions = {
  async upload({ name, root }) {
    const files = fs.readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
    return client.uploadArtifact(name, files, root);
  },
  async download({ id, root }) {
    return client.downloadArtifact(id, { path: root });
  },
  async list() {
    return (await client.listArtifacts()).artifacts;
  },
  async delete({ name }) {
    return client.deleteArtifact(name);
  },
};

let result;
try {
  const { action, ...rest } = JSON.parse(fs.readFileSync(0, 'utf8'));
  result = { ok: await actions[action](rest) };
} catch (err) {
  result = { error: `${err.name}: ${err.message}` };
}
fs.writeFileSync(answer, JSON.stringify(result));
// Connections that the client keeps alive are no reason to stay.
process.exit(0);
