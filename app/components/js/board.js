// A table of which only what is in view, and a little around it, is in the page.

const ROW = 34; // as in board.css
const WIDE = 124;
const NARROW = 74; // of a column where all of them fit so: a date in small letters
const TIGHT = 84; // below which letters are smaller
const AROUND = 6;

export function mount({ element, props, trigger, watch }) {
  const { el, csv, download } = window.theodolite;

  const region = el("div", { class: "t-scroll t-board", role: "region", tabindex: "0" });
  const table = el("table", { class: "t-table" });
  const pressing = el("p", { class: "t-small t-muted t-pressing" });
  const said = el("p", { class: "t-reading" });
  const reading = el("details", { class: "t-twin t-reads" }, el("summary", {}, "How to read it"), said);
  const save = el("button", { type: "button", class: "t-link t-small" }, "Download CSV");
  region.append(table);
  element.replaceChildren(region, save, pressing, reading);
  region.hidden = reading.hidden = pressing.hidden = save.hidden = true;

  let data = null;
  let order = []; // places of the rows as they are shown
  let sorted = null; // [column, from the best down]
  let seen = ""; // the part that is drawn
  let hasNote = []; // columns of which a cell has something small beside its number: all keep its place

  const number = (text) => Number.parseFloat(text.replace("−", "-").replaceAll(",", ""));
  const name = (place) => data.rows[place][0];

  // SICK|Relatedness, bbc_|news/|cluster: where a narrow head may break a name of several words.
  const breakable = (title) => title.split(/(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[/_])/).flatMap((part, i) => (i ? [el("wbr"), part] : [part]));

  // The order stands in the address: the head, after a minus if from the highest down. No page has two such tables.
  function asked() {
    const text = new URLSearchParams(location.search).get("sort") ?? "";
    const down = text.startsWith("-");
    const column = data.heads.findIndex(([title]) => title === text.slice(Number(down)));
    return column < 0 ? null : [column, down];
  }

  function sort(column, down) {
    sorted = [column, down];
    const value = (place) => (column ? number(data.rows[place][2][column - 1][0]) : name(place));
    const first = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    order = data.rows.map((_, place) => place);
    order.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y); // nothing comes last
      return down ? first(y, x) : first(x, y);
    });
    draw(true);
  }

  function head(column) {
    const [title, small] = data.heads[column];
    const [at, down] = sorted ?? data.sorted ?? []; // as a person sorted them, else as they came
    const how = at === column ? (down ? "descending" : "ascending") : null;
    const button = el("button", { type: "button", title: `Sort by ${title}` }, ...breakable(title));
    button.addEventListener("click", () => {
      sort(column, at === column ? !down : !(data.heads[column][2] || !column));
      window.theodolite.address?.(["sort"], [`${sorted[1] ? "-" : ""}${title}`]);
    });
    return el("th", { scope: "col", "aria-colindex": column + 1, "aria-sort": how }, button,
      small ? el("small", { title: small }, small) : null);
  }

  function cell([text, css, title, bold, small], column, row) {
    let shown = bold ? el("b", {}, text) : text;
    if (data.heads[column][3] && css !== "t-muted" && !props.frozen) {
      shown = el("button", { type: "button", tabindex: "-1" }, shown);
      shown.addEventListener("click", () => trigger("select", { row, column: data.heads[column][4] ?? data.heads[column][0] }));
    }
    return el("td", { class: css || null, title: title || null, "aria-colindex": column + 1 }, shown, hasNote[column] ? el("small", {}, small ?? "") : null);
  }

  // The place of what has the focus among rows and columns, to be found again once they are drawn anew.
  function place() {
    const at = table.contains(document.activeElement) && document.activeElement.closest("th, td");
    return at ? `[aria-rowindex="${at.parentElement.ariaRowIndex}"] > [aria-colindex="${at.ariaColIndex}"] button` : null;
  }

  const gap = (width) => (width > 0 ? el("td", { class: "t-gap", "aria-hidden": "true", style: `min-width:${width}px` }) : null);

  function draw(anew = false) {
    if (!data) return;
    const columns = data.heads.length - 1;
    const named = table.tHead?.rows[0]?.cells[0]?.offsetWidth ?? 240;
    const [wide, narrow] = [242, 202].map((names) => Math.floor((region.clientWidth - names) / columns));
    const isNarrow = wide < WIDE && narrow >= NARROW;
    const width = isNarrow ? Math.min(narrow, WIDE) : WIDE;
    const left = Math.max(0, Math.floor(region.scrollLeft / width) - 2);
    const right = Math.min(columns, left + Math.ceil((region.clientWidth - named) / width) + 4);
    const top = Math.max(0, Math.floor(region.scrollTop / ROW) - AROUND);
    const bottom = Math.min(order.length, top + Math.ceil(region.clientHeight / ROW) + 2 * AROUND);
    const now = [left, right, top, bottom, width].join();
    if (now === seen && !anew) return;
    seen = now;
    const before = left * width;
    const behind = (columns - right) * width;
    const shown = Array.from({ length: right - left }, (_, i) => left + i + 1);
    const spacer = (rows) => (rows > 0 ? el("tr", { class: "t-gap", "aria-hidden": "true", style: `height:${rows * ROW}px` }) : null);
    const line = (place, i) => {
      const [title, small, cells] = data.rows[place];
      return el("tr", { "aria-rowindex": top + i + 2 },
        el("th", { scope: "row", "aria-colindex": 1, title: small ? `${title}, ${small}` : title }, el("span", { class: "t-spec" }, title), small ? el("small", {}, small) : null),
        gap(before), ...shown.map((column) => cell(cells[column - 1], column, title)), gap(behind));
    };
    const rows = order.slice(top, bottom).map(line);
    const focused = place();
    table.classList.toggle("t-few", 240 + columns * WIDE < region.clientWidth);
    table.classList.toggle("t-narrow", isNarrow);
    table.classList.toggle("t-tight", width < TIGHT);
    table.style.setProperty("--column", `${width}px`);
    table.setAttribute("aria-rowcount", order.length + 1);
    table.setAttribute("aria-colcount", columns + 1);
    table.replaceChildren(
      el("thead", {}, el("tr", { "aria-rowindex": 1 }, head(0), gap(before), ...shown.map(head), gap(behind))),
      el("tbody", {}, spacer(top), ...rows, spacer(order.length - bottom)),
    );
    if (focused) table.querySelector(focused)?.focus({ preventScroll: true });
  }

  function fill() {
    const before = data;
    data = props.value ? JSON.parse(props.value) : null;
    region.hidden = reading.hidden = pressing.hidden = !data;
    save.hidden = !data?.file;
    if (!data) return;
    hasNote = data.heads.map((_, column) => column > 0 && data.rows.some(([, , cells]) => cells[column - 1][4]));
    region.setAttribute("aria-label", data.label);
    said.textContent = data.reading;
    pressing.textContent = data.pressing;
    pressing.hidden = props.frozen || !data.pressing;
    order = data.rows.map((_, place) => place);
    if (!before || before.rows.length !== data.rows.length) region.scrollTo(0, 0);
    sorted = asked();
    if (sorted) sort(...sorted);
    else draw(true);
  }

  // A column a head, and beside those whose cells say over how much they are, what they say.
  save.addEventListener("click", () => {
    const columns = data.heads.map((_, column) => column).slice(1);
    const line = (first, second, at, more) => [first, second, ...columns.flatMap((column) => (hasNote[column] ? [at(column), more(column)] : [at(column)]))];
    const plain = (text) => text.replace("−", "-").replace(/(?<=\d),(?=\d{3})/g, "").replace(/^–$/, "").replace(/^\((.*)\)$/, "$1");
    const named = (column) => data.heads[column][5];
    download(data.file, csv([
      line(data.heads[0][0], "about", named, (column) => `${named(column)}: ${data.heads[column][6]}`),
      ...order.map((row) => data.rows[row]).map(([title, small, cells]) => line(title, small, (column) => plain(cells[column - 1][0]), (column) => plain(cells[column - 1][4] ?? ""))),
    ]));
  });

  // Enter goes into the cells that can be opened, the arrows from one to the next.
  region.addEventListener("keydown", (event) => {
    const at = event.target.closest("td");
    if (event.target === region && event.key === "Enter") return region.querySelector("td button")?.focus();
    if (event.key === "Escape") return region.focus();
    if (!at) return;
    const { cellIndex, parentElement: row } = at;
    const next = {
      ArrowLeft: (td) => td.previousElementSibling, ArrowRight: (td) => td.nextElementSibling,
      ArrowUp: (td) => td.parentElement.previousElementSibling?.cells[cellIndex], ArrowDown: (td) => td.parentElement.nextElementSibling?.cells[cellIndex],
    }[event.key];
    if (!next) return;
    event.preventDefault();
    let to = next(at); // over cells without a score, which open nothing
    while (to && !to.querySelector("button")) to = next(to);
    to?.querySelector("button").focus();
  });

  let waiting = 0;
  region.addEventListener("scroll", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => draw());
  });
  new ResizeObserver(() => draw()).observe(region);
  watch("value", fill);
  fill();
}
