// Opens the pages of the fixtures in Chromium and clicks through them.
//
//   node click.mjs CHROMIUM FOLDER
//
// Every check that fails is a line on stderr. Pictures of the pages are left in FOLDER.
import { createRequire } from "node:module";
import { mkdir } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const { chromium } = createRequire(process.cwd() + "/")("playwright-core");
const [executablePath, folder] = process.argv.slice(2);
const address = (name, hash = "") => pathToFileURL(`${folder}/${name}.html`).href + hash;
let failed = 0, name = "";

function want(what, got, wanted = true) {
  if (JSON.stringify(got) === JSON.stringify(wanted)) return;
  failed++;
  console.error(`${name}: ${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(wanted)}`);
}

const browser = await chromium.launch({
  executablePath,
  args: ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

// open opens a page, and calls it wrong when anything is fetched, blocked, or thrown.
async function open(file, options = {}, hash = "") {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.on("console", (m) => { if (m.type() === "error") want("console of " + file, m.text(), ""); });
  page.on("pageerror", (e) => want("error in " + file, String(e), ""));
  page.on("dialog", (d) => { want("dialog in " + file, d.message(), ""); d.dismiss(); });
  page.on("request", (r) => { if (!r.url().startsWith(address(file))) want("request of " + file, r.url(), ""); });
  await page.goto(address(file, hash));
  return page;
}

const hash = (page) => page.evaluate(() => location.hash);
const isOpen = (page, n) => page.evaluate((n) => document.querySelector(`#e${n} details`).open, n);
const inView = (page, selector) => page.evaluate((s) => {
  const box = document.querySelector(s).getBoundingClientRect();
  return box.top < innerHeight && box.bottom > 0;
}, selector);

// structure is what programs may rely on.
async function structure(page, executions) {
  const found = await page.evaluate(() => ({
    bars: [...document.querySelectorAll("#timeline a[href^='#e']")].map((a) => a.getAttribute("href").slice(2)).sort((a, b) => a - b),
    sections: [...document.querySelectorAll("section[id^='e']")].map((s) => s.id.slice(1)),
    searches: document.querySelectorAll("input[type=search]").length,
    scripts: document.scripts.length,
  }));
  const all = Array.from({ length: executions }, (_, i) => String(i + 1));
  want("bars", found.bars, all);
  want("sections", found.sections, all);
  want("search fields and scripts", [found.searches, found.scripts], [1, 1]);
}

const tests = {
  async "a click on a bar"() {
    const page = await open("five");
    await structure(page, 5);
    await page.click('#timeline a[href="#e3"]');
    want("address", await hash(page), "#e3");
    want("unfolded", await isOpen(page, 3));
    want("in view", await inView(page, "#e3"));
    await page.goBack();
    await page.evaluate(() => document.querySelector('#timeline a[href="#e5"]').click());
    want("address after the click of a program", await hash(page), "#e5");
    want("in view", await inView(page, "#e5"));
  },

  async "search"() {
    const page = await open("failure");
    await structure(page, 57);
    want("the failure is unfolded", await isOpen(page, 57));
    const box = page.locator("input[type=search]");
    await box.fill("testreopen expects");
    await box.press("Enter");
    want("address", await hash(page), "#e57");
    want("marked", await page.evaluate(() => [...CSS.highlights.get("find")].map(String)), ["TestReopen expects"]);
    for (const [query, wanted] of [["12", "#e12"], ["#e7", "#e7"], ["review", "#e57"]]) {
      await box.fill(query);
      await box.press("Enter");
      want("found " + query, await hash(page), wanted);
    }
    await box.fill("package 2 of 31");
    await box.press("Enter");
    want("found in a prompt", await hash(page), "#e5");
    want("unfolded", await isOpen(page, 5));
    await box.fill("nowhere in the page");
    await box.press("Enter");
    want("told", await page.textContent("#find output"), "nothing found");
    await box.fill("CHECK.sh");
    await box.press("Enter");
    await box.press("Enter");
    want("second match", await hash(page), "#e6");
    await box.press("Shift+Enter");
    want("back to the first", await hash(page), "#e3");
  },

  async "a link from outside"() {
    const page = await open("failure", {}, "#e20");
    await page.waitForFunction(() => document.querySelector("#e20 details").open);
    want("in view", await inView(page, "#e20"));
  },

  async "keys"() {
    const page = await open("failure");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    want("j", await hash(page), "#e2");
    await page.keyboard.press("k");
    want("k", await hash(page), "#e1");
    await page.keyboard.press("f");
    want("f", await hash(page), "#e57");
    await page.keyboard.press("o");
    want("o", await isOpen(page, 57), false);
    await page.keyboard.press("/");
    want("/", await page.evaluate(() => document.activeElement.type), "search");
    await page.keyboard.press("Escape");
    await page.focus('#timeline a[href="#e57"]');
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Enter");
    want("arrow and Enter", await hash(page), "#e56");
    const before = await page.evaluate(() => document.querySelector('#timeline a[href="#e2"]').offsetWidth);
    await page.keyboard.press("+");
    want("+", await page.evaluate((before) => document.querySelector('#timeline a[href="#e2"]').offsetWidth > 1.5 * before, before));
    const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.keyboard.press("t");
    want("t", await page.evaluate((light) => getComputedStyle(document.body).backgroundColor !== light, light));
  },

  async "filters"() {
    const page = await open("failure");
    const shown = () => page.evaluate(() => [...document.querySelectorAll("section.x")].filter((x) => x.checkVisibility()).length);
    await page.click("[data-show=failed]");
    want("failed", await shown(), 1);
    await page.click('#timeline a[href="#e4"]');
    want("all again, for what is hidden", await shown(), 57);
    await page.click("#unfold");
    want("unfolded", await page.evaluate(() => document.querySelectorAll("section.x > details[open]").length), 57);
  },

  async "a hostile run"() {
    const page = await open("hostile");
    await structure(page, 2);
    await page.click("#unfold");
    const found = await page.evaluate(() => ({
      hacked: window.hacked, images: document.images.length, styled: document.querySelectorAll("[style]").length,
      links: [...document.links].filter((a) => !/^#\w+$/.test(a.getAttribute("href"))).length,
      unseen: /[\u0000\u001b\u202e\u2066\u200b]/.test(document.documentElement.outerHTML),
      inBody: document.querySelectorAll("body style, body meta, body iframe").length, hidden: getComputedStyle(document.querySelector("h1")).display,
    }));
    want("harm", found, { images: 0, styled: 0, links: 0, unseen: false, inBody: 0, hidden: "block" });
    await page.fill("input[type=search]", "needle in the haystack");
    await page.press("input[type=search]", "Enter");
    want("address", await hash(page), "#e2");
    page.removeAllListeners("console");
    const blocked = await page.evaluate(async () => {
      document.body.insertAdjacentHTML("beforeend", "<b id=b style='position:fixed' onclick='window.hacked=1'>x</b>");
      const script = document.createElement("script");
      script.textContent = "window.hacked=1";
      document.body.append(script);
      document.getElementById("b").click();
      const fetched = await fetch("https://127.0.0.1:9/").then(() => true, () => false);
      return [window.hacked, getComputedStyle(document.getElementById("b")).position, fetched];
    }).catch(String);
    want("what the policy forbids", blocked, [null, "static", false]);
  },

  async "a thousand agents"() {
    const page = await open("agents");
    await structure(page, 3002);
    await page.click("[data-rows=failed]");
    want("rows", await page.evaluate(() => [...document.querySelectorAll(".row[data-agent]")].filter((r) => r.checkVisibility()).length), 10);
    await page.selectOption("#agent", "main.item700");
    want("of one agent", await page.evaluate(() => [...document.querySelectorAll("section.x")].filter((x) => x.checkVisibility()).length), 3);
    await page.fill("input[type=search]", "main.item900");
    await page.press("input[type=search]", "Enter");
    want("address", await hash(page), "#e2699");
    want("in view", await inView(page, "#e2699"));
  },

  async "without scripts"() {
    const page = await open("five", { javaScriptEnabled: false });
    const box = await page.locator('#timeline a[href="#e2"]').boundingBox();
    want("the bar is placed", box.width > 100 && box.x > 100);
  },

  async "narrow, wide, printed"() {
    for (const file of ["five", "failure", "agents", "hostile", "empty"]) {
      for (const width of [400, 1280]) {
        const page = await open(file, { viewport: { width, height: 900 } });
        if (file !== "agents") await page.click("#unfold");
        want(`${file} is as wide as its window of ${width}`, await page.evaluate(() => document.documentElement.scrollWidth), width);
        want(`tables of ${file} that are wider than ${width}`, await page.evaluate(() => [...document.querySelectorAll(".wide")].filter((w) => w.scrollWidth > w.clientWidth).length), 0);
        await page.context().close();
      }
    }
    const page = await open("failure");
    await page.emulateMedia({ media: "print" });
    want("the bar at the top is not printed", await page.locator(".bar").isVisible(), false);
    want("pages", (await page.pdf()).length > 20_000);
  },

  async "pictures"() {
    await mkdir(folder + "/pictures", { recursive: true });
    for (const colorScheme of ["light", "dark"]) {
      for (const [file, width, height, at] of [
        ["five", 1280, 0], ["five", 400, 0], ["five", 1280, 1400, "#e1"], ["five", 400, 1400, "#e2"], ["failure", 1280, 1500], ["failure", 400, 1500],
        ["failure", 1280, 1500, "#e57"], ["failure", 400, 1500, "#e57"], ["agents", 1280, 1500], ["agents", 400, 1500], ["hostile", 1280, 1500],
        ["hostile", 400, 1500], ["empty", 1280, 700],
      ]) {
        const page = await open(file, { colorScheme, viewport: { width, height: height || 900 }, deviceScaleFactor: 1 }, at);
        await page.screenshot({ path: `${folder}/pictures/${file}${(at ?? "").replace("#", "-")}-${width}-${colorScheme}.png`, fullPage: !height });
        await page.context().close();
      }
    }
  },
};

const chosen = process.argv[4] ? new RegExp(process.argv[4]) : /./;
for (const [title, run] of Object.entries(tests)) {
  if (!chosen.test(title)) continue;
  name = title;
  await run().catch((error) => { failed++; console.error(`${name}: ${error.message}`); });
}
await browser.close();
process.exit(failed ? 1 : 0);
