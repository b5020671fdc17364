// What the pieces of a page need wherever they stand, in the app, in a frozen page or in a notebook: elements, scripts,
// files, tables that are sorted. It asks nothing of what is around them.
// User text is only ever set with textContent.
(() => {
  if (window.theodolite) return;

  // A cell as a number, where it begins with one: "3 min 20 s" is 200, "−1,204 kB" is -1204000.
  const UNITS = { h: 3600, min: 60, s: 1, ms: 1e-3, "µs": 1e-6, kB: 1e3, MB: 1e6, GB: 1e9, k: 1e3, M: 1e6, B: 1e9 };
  function amount(cell) {
    const text = (cell?.textContent ?? "").trim();
    if (text === "" || text === "–") return null;
    const plain = text.replaceAll(",", "").replaceAll("−", "-");
    const parts = /^[<+]? ?(-?\d+(?:\.\d+)?(?:e-?\d+)?)(?:\s?(h|min|s|ms|µs|kB|MB|GB|k|M|B)(?: (\d+) (min|s))?\b)?/.exec(plain);
    return parts ? Number(parts[1]) * (UNITS[parts[2]] ?? 1) + Number(parts[3] ?? 0) * (UNITS[parts[4]] ?? 0) : text;
  }

  const loading = {};

  window.theodolite = {
    // Load a script of ours once, whoever asks first.
    script(src) {
      loading[src] ??= new Promise((done, failed) => {
        const tag = document.createElement("script");
        tag.src = src;
        tag.onload = done;
        tag.onerror = () => failed(new Error(`could not load ${src}`));
        document.head.append(tag);
      });
      return loading[src];
    },

    // Make an element with text and attributes: el("td", {class: "x"}, "text", child, …).
    el(tag, attributes = {}, ...children) {
      const node = document.createElement(tag);
      for (const [name, value] of Object.entries(attributes)) {
        if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
      }
      node.append(...children.filter((child) => child !== null && child !== undefined));
      return node;
    },

    // Sort a table by the head that was pressed: numbers from the highest, text from A, then the other way
    // round, then as it was. Durations and sizes are compared as such; what is missing stays below.
    sort(button) {
      const head = button.closest("th");
      const body = head.closest("table").tBodies[0];
      const rows = [...body.rows];
      rows.forEach((row, i) => (row.dataset.place ??= i));
      const values = new Map(rows.map((row) => [row, amount(row.cells[head.cellIndex])]));
      const filled = [...values.values()].filter((value) => value !== null);
      const numeric = filled.every((value) => typeof value === "number");
      const ways = numeric ? ["descending", "ascending", null] : ["ascending", "descending", null];
      const way = ways[(ways.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      if (way) head.setAttribute("aria-sort", way);
      const order = (a, b) => (numeric ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
      body.append(...rows.sort((rowA, rowB) => {
        const [a, b] = [values.get(rowA), values.get(rowB)];
        const before = rowA.dataset.place - rowB.dataset.place;
        if (!way || (a === null && b === null)) return before;
        if (a === null || b === null) return a === null ? 1 : -1;
        return (way === "ascending" ? order(a, b) : order(b, a)) || before;
      }));
    },

    // Where there is no page to go to and no panel to open: of a link the words stay inside a sentence, of a button
    // its name; what only leads elsewhere goes, with the whole sentence or the row of a tour that it begins.
    unlink(link) {
      if (link.matches("a") && !/[^.!?\s]\s*$/.test(link.previousSibling?.textContent ?? "")) {
        const begun = link.nextSibling?.nodeType === Node.TEXT_NODE && link.nextSibling.data.trim();
        for (let next = begun && link.nextSibling; next; next = link.nextSibling) {
          const end = next.nodeType === Node.TEXT_NODE ? next.data.search(/[.!?](?=\s|$)/) : -1;
          if (end >= 0) { next.data = next.data.slice(end + 1); break; }
          next.remove();
        }
        return (link.closest(".t-tour li") ?? link).remove();
      }
      const words = theodolite.el("span", { class: link.className.replace("t-change", "") });
      words.append(...link.childNodes);
      link.replaceWith(words);
    },

    // Save what a button holds, or the button before it: a text, or rows as CSV.
    save(button) {
      const { name, text, rows } = (button.dataset.name ? button : button.previousElementSibling).dataset;
      theodolite.download(name, text ?? theodolite.csv(JSON.parse(rows), button.dataset.spreadsheet === "true"));
    },

    // Hand a text to the browser as a file.
    download(name, text) {
      const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
      const anchor = window.theodolite.el("a", { href: url, download: name });
      anchor.click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    },

    // Rows to CSV: the text as it is, or for spreadsheets, with an apostrophe before what one would take for a formula.
    csv(rows, spreadsheet = false) {
      const cell = (value) => {
        let text = value === null || value === undefined ? "" : String(value);
        if (spreadsheet && typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
        return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
      };
      return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
    },
  };

  // What is pressed names the function above that it wants. So our HTML holds no script of its own, and a
  // policy that allows none can stand over it.
  document.addEventListener("click", (event) => {
    const pressed = event.target.closest?.("[data-press]");
    if (pressed) theodolite[pressed.dataset.press]?.(pressed, event);
  });
})();
