(() => {
  const { $, $$ } = raymond;

  // Columns that sort

  const value = (row, i) => {
    const cell = row.cells[i], text = cell.dataset.sort ?? cell.textContent.trim();
    return text === "" ? 0 : Number.isNaN(Number(text)) ? text : Number(text);
  };
  const before = (a, b) => typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;
  for (const table of $$("table.totals")) {
    $$("thead th", table).forEach((head, i) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        // Names begin with the first, numbers with the largest.
        const isDown = head.ariaSort ? head.ariaSort === "ascending" : i > 0;
        for (const other of $$("thead th", table)) other.ariaSort = null;
        head.ariaSort = isDown ? "descending" : "ascending";
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => before(value(a, i), value(b, i)) * (isDown ? -1 : 1));
        table.tBodies[0].append(...rows);
      });
    });
  }

  // Search: Enter goes to the next row that has the text

  const form = $("#find"), input = $("input", form), told = $("output", form);
  let last = "", matches = [], at = -1;
  form.addEventListener("submit", (event) => event.preventDefault());
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    const query = input.value.trim().toLowerCase();
    for (const row of $$("tr.here")) row.classList.remove("here");
    if (query !== last) [last, matches, at] = [query, $$("tbody tr").filter((row) => row.textContent.toLowerCase().includes(query)), -1];
    if (!query || !matches.length) {
      told.textContent = query ? "nothing found" : "";
      return;
    }
    at = (at + (event.shiftKey ? -1 : 1) + matches.length) % matches.length;
    told.textContent = `${at + 1} of ${matches.length}`;
    matches[at].classList.add("here");
    matches[at].scrollIntoView({ block: "center" });
  });
  raymond.listen({ "/": () => input.select() });
})();
