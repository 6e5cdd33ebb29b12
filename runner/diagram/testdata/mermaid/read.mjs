// Reads a JSON list of Mermaid texts from stdin and writes, for each, what
// Mermaid makes of it: {error} or {nodes, edges}. The argument is a folder with
// node_modules.
import {createRequire} from 'node:module';
import {readFileSync} from 'node:fs';
import {pathToFileURL} from 'node:url';

const folder = process.argv[2] + '/';
const {JSDOM} = createRequire(folder)('jsdom');
const {window} = new JSDOM('');
globalThis.window = window;
globalThis.document = window.document;
const {default: mermaid} = await import(pathToFileURL(folder + 'node_modules/mermaid/dist/mermaid.core.mjs'));
const {marked} = await import(pathToFileURL(folder + 'node_modules/marked/lib/marked.esm.js'));
mermaid.initialize({startOnLoad: false, securityLevel: 'strict'});

// shown is the text that a reader of a label sees, line by line.
function shown(label) {
  const html = (label ?? '').replaceAll('ﬂ°°', '&#').replaceAll('ﬂ°', '&').replaceAll('¶ß', ';');
  return html.split(/<br ?\/?>/).map((line) => {
    const element = document.createElement('div');
    element.innerHTML = line;
    return element.textContent;
  });
}

// isPlain reports whether a label is nothing but text to the Markdown parser that
// Mermaid hands it to before it is drawn.
function isPlain(label) {
  const lines = (label ?? '').replaceAll('ﬂ°°', '&#').replaceAll('ﬂ°', '&').replaceAll('¶ß', ';').split(/<br ?\/?>/);
  return lines.every((line) => {
    const blocks = marked.lexer(line);
    return line === '' || blocks.length === 1 && blocks[0].type === 'paragraph' && blocks[0].tokens.every((t) => t.type === 'text');
  });
}

async function read(text) {
  try {
    await mermaid.parse(text);
    const {db} = await mermaid.mermaidAPI.getDiagramFromText(text);
    return {
      nodes: [...db.getVertices().values()].map((v) => ({id: v.id, text: shown(v.text), plain: isPlain(v.text), shape: v.type ?? '', classes: v.classes})),
      edges: db.getEdges().map((e) => ({from: e.start, to: e.end, text: shown(e.text), plain: isPlain(e.text), stroke: e.stroke})),
    };
  } catch (e) {
    return {error: String(e.message || e)};
  }
}

const answers = [];
for (const text of JSON.parse(readFileSync(0, 'utf8'))) {
  answers.push(await read(text));
}
process.stdout.write(JSON.stringify(answers));
