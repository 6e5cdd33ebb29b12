"use strict";
const raymond = (() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];

  // Light and dark

  const root = document.documentElement;
  function setTheme(theme) {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  }
  const store = (() => { try { return globalThis.localStorage; } catch { return null; } })();
  setTheme(store?.getItem("raymond-theme"));
  function turnTheme() {
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    setTheme(isDark ? "light" : "dark");
    store?.setItem("raymond-theme", root.dataset.theme);
  }
  $("#theme").addEventListener("click", turnTheme);

  // listen calls what belongs to a key, unless the reader is typing.
  function listen(keys) {
    const all = { ...keys, t: turnTheme };
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
      if (!Object.hasOwn(all, event.key)) return;
      event.preventDefault();
      all[event.key]();
    });
  }
  return { $, $$, listen };
})();
(() => {
  const { $, $$ } = raymond;
  const list = $(".list"), timeline = $("#timeline");
  const sections = $$("section.x", list);
  const isShown = (x) => x.checkVisibility ? x.checkVisibility() : x.offsetParent !== null;

  // Where the reader is

  let current = null;

  // unfold opens everything that an element is folded in.
  function unfold(element) {
    for (let up = element; up; up = up.parentElement) {
      if (up.tagName === "DETAILS") up.open = true;
    }
  }

  // show unfolds a state execution, marks it there and on the timeline, and scrolls to it.
  function show(section, doesScroll = true) {
    if (!isShown(section)) setFilter("all", "");
    for (const old of $$(".here")) old.classList.remove("here");
    current = section;
    section.classList.add("here");
    $("details", section).open = true;
    const bar = $(`a[href="#${section.id}"]`, timeline);
    if (bar) {
      bar.classList.add("here");
      reveal(bar);
      focusable(bar);
    }
    if (doesScroll) section.scrollIntoView({ block: "start" });
  }

  // reveal scrolls the timeline, and nothing else, to a bar.
  function reveal(bar) {
    const box = $(".scroll", timeline), b = bar.getBoundingClientRect(), view = box.getBoundingClientRect();
    if (b.top < view.top + 80 || b.bottom > view.bottom) box.scrollTop += b.top - view.top - view.height / 2;
    if (b.left < view.left + 150 || b.right > view.right) box.scrollLeft += b.left - view.left - view.width / 2;
  }

  function go(section) {
    show(section);
    location.hash = "#" + section.id;
  }

  function followHash() {
    const section = /^#e\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    if (section && section !== current) show(section);
  }
  addEventListener("hashchange", followHash);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#e"]');
    const section = link && document.getElementById(link.getAttribute("href").slice(1));
    if (section) show(section);
  });

  // step goes to the next or the previous execution that is listed and passes a test.
  function step(by, test = () => true) {
    const shown = sections.filter((x) => isShown(x) && test(x));
    if (!shown.length) return;
    let i = shown.indexOf(current);
    if (i < 0) {
      const at = current ? sections.indexOf(current) : -1;
      i = shown.findIndex((x) => sections.indexOf(x) > at);
      i = by > 0 ? (i < 0 ? 0 : i) : (i < 0 ? shown.length - 1 : i - 1);
    } else {
      i += by;
    }
    go(shown[(i + shown.length) % shown.length]);
  }

  // Search

  const form = $("#find"), input = $("input", form), told = $("output", form);
  let last = "", matches = [], at = -1;

  // search returns the executions that match: by number, then by state or agent, then by
  // any text.
  function search(query) {
    const number = /^(?:#?e?)(\d+)$/i.exec(query);
    const exact = number && document.getElementById("e" + number[1]);
    const words = query.toLowerCase(), named = [], others = [];
    for (const x of sections) {
      if (x === exact) continue;
      if (x.dataset.state.toLowerCase().includes(words) || x.dataset.agent.toLowerCase() === words) named.push(x);
      else if (x.textContent.toLowerCase().includes(words)) others.push(x);
    }
    return [...(exact ? [exact] : []), ...named, ...others];
  }

  // mark highlights the first place of a text in an execution and scrolls to it.
  function mark(section, query) {
    const words = query.toLowerCase(), walker = document.createTreeWalker($(".in", section), NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const start = node.data.toLowerCase().indexOf(words);
      if (start < 0 || start + words.length > node.length) continue;
      unfold(node.parentElement);
      const range = new Range();
      range.setStart(node, start);
      range.setEnd(node, start + words.length);
      if (globalThis.Highlight) CSS.highlights.set("find", new Highlight(range));
      node.parentElement.scrollIntoView({ block: "nearest" });
      const place = range.getBoundingClientRect();
      if (place.top < 70 || place.bottom > innerHeight - 20) scrollBy(0, place.top - innerHeight / 3);
      return;
    }
  }

  form.addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      input.value = "";
      input.blur();
    }
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    const query = input.value.trim();
    globalThis.CSS?.highlights?.delete("find");
    if (!query) {
      told.textContent = "";
      return;
    }
    if (query !== last) [last, matches, at] = [query, search(query), -1];
    if (!matches.length) {
      told.textContent = "nothing found";
      return;
    }
    at = (at + (event.shiftKey ? -1 : 1) + matches.length) % matches.length;
    told.textContent = `${at + 1} of ${matches.length}`;
    const section = matches[at];
    history.replaceState(null, "", "#" + section.id);
    show(section);
    mark(section, query);
  });

  // Filters

  function setFilter(kind, agent) {
    list.dataset.show = kind;
    for (const button of $$("[data-show]", $(".filters"))) button.setAttribute("aria-pressed", button.dataset.show === kind);
    for (const x of sections) x.classList.toggle("off", agent !== "" && x.dataset.agent !== agent);
    for (const row of $$(".row", timeline)) row.classList.toggle("off", agent !== "" && row.dataset.agent !== undefined && row.dataset.agent !== agent);
    if ($("#agent")) $("#agent").value = agent;
  }
  $("[data-rows]")?.addEventListener("click", (event) => {
    const isOn = event.target.getAttribute("aria-pressed") !== "true";
    event.target.setAttribute("aria-pressed", isOn);
    timeline.dataset.rows = isOn ? event.target.dataset.rows : "";
  });
  const chosenAgent = () => $("#agent")?.value ?? "";
  for (const button of $$(".filters [data-show]")) {
    button.addEventListener("click", () => setFilter(button.dataset.show, chosenAgent()));
  }
  $("#agent")?.addEventListener("change", () => setFilter(list.dataset.show || "all", chosenAgent()));
  $("#unfold").addEventListener("click", (event) => {
    const isOpen = event.target.getAttribute("aria-pressed") !== "true";
    event.target.setAttribute("aria-pressed", isOpen);
    event.target.textContent = isOpen ? "fold all" : "unfold all";
    for (const x of sections) {
      if (isShown(x)) $("details", x).open = isOpen;
    }
  });

  // The timeline: one tab stop, arrow keys between bars, zoom

  const bars = $$("a.b", timeline);
  function focusable(bar) {
    for (const old of $$('a.b[tabindex="0"]', timeline)) old.tabIndex = -1;
    bar.tabIndex = 0;
  }
  for (const bar of bars) bar.tabIndex = -1;
  if (bars.length) bars[0].tabIndex = 0;
  timeline.addEventListener("keydown", (event) => {
    const bar = event.target.closest("a.b");
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!bar || !by) return;
    let next = bars[bars.indexOf(bar) + by];
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const rows = $$(".row", timeline).filter((row) => $("a.b", row)), row = rows[rows.indexOf(bar.closest(".row")) + by];
      const x = bar.getBoundingClientRect().left;
      next = row && $$("a.b", row).reduce((best, b) =>
        Math.abs(b.getBoundingClientRect().left - x) < Math.abs(best.getBoundingClientRect().left - x) ? b : best);
    }
    if (!next) return;
    event.preventDefault();
    focusable(next);
    next.focus({ preventScroll: true });
    reveal(next);
  });

  let zoom = 0;
  function setZoom(by) {
    const box = $(".scroll", timeline), middle = (box.scrollLeft + box.clientWidth / 2) / box.scrollWidth;
    timeline.classList.remove("z" + zoom);
    zoom = Math.min(5, Math.max(0, zoom + by));
    timeline.classList.add("z" + zoom);
    box.scrollLeft = middle * box.scrollWidth - box.clientWidth / 2;
  }
  for (const button of $$("[data-zoom]")) button.addEventListener("click", () => setZoom(+button.dataset.zoom));

  // Keys

  raymond.listen({
    "/": () => input.select(), j: () => step(1), k: () => step(-1),
    f: () => step(1, (x) => x.classList.contains("failed")), F: () => step(-1, (x) => x.classList.contains("failed")),
    o: () => { if (current) $("details", current).toggleAttribute("open"); },
    "+": () => setZoom(1), "=": () => setZoom(1), "-": () => setZoom(-1),
  });

  followHash();
})();
