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
