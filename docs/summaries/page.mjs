// Makes a page of HTML of a step summary, as GitHub does: its dialect of
// Markdown, the tags that it lets pass, its style sheet, and Mermaid.
//
//   node page.mjs light|dark FILE.md > FILE.html
//
// With OPEN=1 in the environment what is folded is unfolded.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";

const require = createRequire(process.cwd() + "/");
const markdown = require("markdown-it");
const sanitize = require("sanitize-html");

const [theme, file] = process.argv.slice(2);
const isDark = theme === "dark";

const allowedTags = [
  "h1", "h2", "h3", "h4", "h5", "h6", "br", "b", "i", "strong", "em", "a", "pre", "code", "img", "tt", "div", "ins",
  "del", "sup", "sub", "p", "picture", "ol", "ul", "table", "thead", "tbody", "tfoot", "blockquote", "dl", "dt", "dd",
  "kbd", "q", "samp", "var", "hr", "ruby", "rt", "rp", "li", "tr", "td", "th", "s", "strike", "summary", "details",
  "caption", "figure", "figcaption", "abbr", "cite", "dfn", "mark", "small", "source", "span", "time", "wbr",
];
const allowedAttributes = {
  "*": ["align", "alt", "height", "lang", "open", "start", "title", "valign", "width"],
  a: ["href"],
  img: ["src"],
  code: ["class"],
  th: ["style"],
  td: ["style"],
};

// draw makes of a fence of Mermaid the element that Mermaid looks for.
function draw(html) {
  return html.replace(/<pre><code class="language-mermaid">([\s\S]*?)<\/code><\/pre>/g, '<pre class="mermaid">$1</pre>');
}

function body(text) {
  const html = markdown({ html: true, linkify: true }).render(text);
  return draw(sanitize(html, { allowedTags, allowedAttributes }));
}

let shown = body(readFileSync(file, "utf8"));
if (process.env.OPEN) {
  shown = shown.replaceAll("<details>", "<details open>");
}
const css = readFileSync(require.resolve(`github-markdown-css/github-markdown-${isDark ? "dark" : "light"}.css`), "utf8");
const mermaid = dirname(require.resolve("mermaid/package.json")) + "/dist/mermaid.min.js";

process.stdout.write(`<!doctype html>
<meta charset="utf-8">
<style>${css}
body { margin: 0; padding: 24px; background: ${isDark ? "#0d1117" : "#ffffff"}; }
.markdown-body { font-family: "Noto Sans", "Liberation Sans", sans-serif, "Noto Color Emoji"; }
.markdown-body pre.mermaid { background: none; border: 1px solid ${isDark ? "#3d444d" : "#d1d9e0"}; text-align: center; }
</style>
<body class="markdown-body">
${shown}
<script src="file://${mermaid}"></script>
<script>mermaid.initialize({ startOnLoad: true, theme: "${isDark ? "dark" : "default"}", securityLevel: "strict" });</script>
`);
