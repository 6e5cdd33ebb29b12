// Does one thing with the client that is installed in the folder given first, and writes what came of it
// to the file given second: {"ok": …} or {"error": "…"}, with how long the client took (wall, in ms) and its
// CPU time (cpu, in µs). What to do comes as JSON on stdin.
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [folder, answer] = process.argv.slice(2);
// Both the newest client, which is a module for import alone, and older ones can be imported by their file.
const entry = path.join(folder, 'node_modules', '@actions', 'artifact', 'lib', 'artifact.js');
const loaded = await import(pathToFileURL(entry).href);
const { DefaultArtifactClient } = loaded.DefaultArtifactClient ? loaded : createRequire(entry)(entry);
const client = new DefaultArtifactClient();

const actions = {
  async upload({ name, root, raw }) {
    const files = fs.readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
    return client.uploadArtifact(name, files, root, { skipArchive: raw });
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
  const began = performance.now();
  const before = process.cpuUsage();
  result = { ok: await actions[action](rest) };
  const { user, system } = process.cpuUsage(before);
  Object.assign(result, { wall: performance.now() - began, cpu: user + system });
} catch (err) {
  result = { error: `${err.name}: ${err.message}` };
}
fs.writeFileSync(answer, JSON.stringify(result));
// Connections that the client keeps alive are no reason to stay.
process.exit(0);
