// A heatmap of scores, as app/components/heatmap.py says. Event for Python: "select". Sorting and published rows live in
// the address. Where nobody serves it, `props.cards` has the HTML of each result, and `props.intervals` its interval.

export function mount({ element, props, trigger, server, watch }) {
  const { el, csv, download, address } = window.theodolite;
  const query = new URLSearchParams(location.search);
  const state = {
    sort: query.get("sort") || "",
    down: query.get("order") !== "up",
    published: query.get("published") === "1",
    at: [0, 0], // the cell that Tab leads to: row, column
  };

  const legend = el("span", { class: "t-heat-legend" }, "lower ", el("i", { "aria-hidden": "true" }), " higher, within a column");
  const box = el("input", { type: "checkbox", id: "t-published" });
  const toggle = el("label", { class: "t-heat-toggle" }, box, "Published rows");
  const save = el("button", { type: "button", class: "t-link" }, "Download CSV");
  const tools = el("div", { class: "t-heat-tools" }, legend, toggle, save);
  const scroll = el("div", { class: "t-scroll t-heat-scroll", role: "region", tabindex: "-1", "aria-label": props.caption });
  const tip = el("div", { class: "t-tip", role: "tooltip", id: "t-heat-tip", hidden: "" });
  const card = el("div", { "aria-live": "polite" });
  element.replaceChildren(el("div", { class: "t-heat", hidden: "" }, tools, scroll, tip), card);
  box.checked = state.published;

  let read = null; // the text that `grid` was read from
  let grid = { columns: [], rows: [] };
  function value() {
    if (props.value !== read) {
      read = props.value;
      grid = read ? JSON.parse(read) : { columns: [], rows: [] };
    }
    return grid;
  }
  const text = (cell) => cell.score.toFixed(2).replace("-", "\u2212");
  const hasScore = (cell) => cell && typeof cell.score === "number";

  function rows() {
    const shown = value().rows.filter((row) => state.published || !row.published);
    if (!state.sort) return shown;
    if (state.sort === "name") {
      return shown.sort((a, b) => (state.down ? 1 : -1) * a.name.localeCompare(b.name, "en"));
    }
    // An average is ranked only among those over the same tasks; averages over more tasks come first.
    const average = state.sort.startsWith("average:");
    const tasks = (cell) => (average ? cell.over.split(",").length : 0);
    const over = (cell) => (average ? cell.over : "");
    return shown.sort((rowA, rowB) => {
      const [a, b] = [rowA.cells[state.sort], rowB.cells[state.sort]];
      if (!hasScore(a) || !hasScore(b)) return hasScore(a) ? -1 : hasScore(b) ? 1 : 0;
      return tasks(b) - tasks(a) || over(a).localeCompare(over(b)) ||
        (state.down ? b.score - a.score : a.score - b.score);
    });
  }

  // The scores of a column that a tint compares: averages only among those over the same tasks.
  function scales(column, shown) {
    const scores = shown.map((row) => row.cells[column.key]).filter(hasScore);
    const groups = Object.groupBy(scores, (cell) => cell.over);
    return Object.fromEntries(Object.entries(groups).map(([over, cells]) => {
      const points = cells.map((cell) => cell.score);
      return [over, { low: Math.min(...points), high: Math.max(...points) }];
    }));
  }

  // 0 to 1 within the column.
  function tint(cell, scale) {
    if (!hasScore(cell)) return null;
    const { low, high } = scale[cell.over];
    return high > low ? (cell.score - low) / (high - low) : null; // one value alone says nothing
  }

  function head(column) {
    const sorted = state.sort === column.key;
    const button = el("button", { type: "button", title: column.about || null },
      el("span", {}, ...column.label.split(/(?<=[|:]|[a-z],)/).flatMap((part) => [part, el("wbr")])), el("i", { "aria-hidden": "true" }));
    button.addEventListener("click", () => {
      if (!sorted) Object.assign(state, { sort: column.key, down: true });
      else if (state.down) state.down = false;
      else Object.assign(state, { sort: "", down: true });
      remember();
      draw();
      scroll.querySelector(`th[data-key="${CSS.escape(column.key)}"] button`)?.focus();
    });
    return el("th", {
      scope: "col", "data-key": column.key, class: `t-${column.kind || "name"}`,
      "aria-sort": sorted ? (state.down === (column.key !== "name") ? "descending" : "ascending") : null,
    }, button);
  }

  function body(row, r, scale) {
    const name = el("th", { scope: "row" },
      el("span", { class: "t-spec" }, row.name),
      row.note ? el("small", {}, row.published ? el("b", {}, "published") : null, row.note) : null);
    const cells = value().columns.map((column, c) => {
      const cell = row.cells[column.key];
      const heat = tint(cell, scale[c]);
      const inner = !cell ? "–"
        : cell.state === "error" || !hasScore(cell) ? cell.state || "–"
        : text(cell);
      const td = el("td", {
        tabindex: r === state.at[0] && c === state.at[1] ? "0" : "-1",
        class: ["t-cell", `t-${column.kind}`, cell?.state ? `t-${cell.state}` : "", cell?.result ? "t-more" : ""].join(" "),
        "data-r": r, "data-c": c,
      }, el("span", {}, inner), cell?.note ? el("small", {}, cell.note) : null);
      if (heat !== null) td.style.setProperty("--heat", `${Math.round(100 * heat)}%`);
      return td;
    });
    return el("tr", { class: row.published ? "t-published" : null }, name, ...cells);
  }

  let present = [];

  function draw() {
    const focused = scroll.contains(document.activeElement) && document.activeElement.matches("td");
    present = rows();
    state.at[0] = Math.min(state.at[0], Math.max(0, present.length - 1));
    element.firstChild.hidden = !value().rows.length;
    toggle.hidden = !value().rows.some((row) => row.published);
    const scale = value().columns.map((column) => scales(column, present));
    const first = head({ key: "name", label: "Encoder", kind: "name" });
    scroll.replaceChildren(
      el("table", { class: "t-table t-heat-table", role: "grid", "aria-label": props.caption },
        el("thead", {}, el("tr", {}, first, ...value().columns.map(head))),
        el("tbody", {}, ...present.map((row, r) => body(row, r, scale)))));
    if (focused) at(...state.at)?.focus();
  }

  const at = (r, c) => scroll.querySelector(`td[data-r="${r}"][data-c="${c}"]`);
  const of = (td) => [present[td.dataset.r], value().columns[td.dataset.c]];
  const remember = () =>
    address(["sort", "order", "published"], [state.sort, state.down ? "" : "up", state.published ? "1" : ""], {});

  // Hover and focus: what the number stands on, and its interval when there is one.
  const intervals = {};
  let tipped = null;

  function place(td) {
    const around = element.getBoundingClientRect();
    const cell = td.getBoundingClientRect();
    const left = cell.left - around.left + cell.width / 2 - tip.offsetWidth / 2;
    tip.style.left = `${Math.max(0, Math.min(left, around.width - tip.offsetWidth))}px`;
    const below = cell.bottom + tip.offsetHeight + 12 < innerHeight;
    tip.style.top = `${below ? cell.bottom - around.top + 6 : cell.top - around.top - tip.offsetHeight - 6}px`;
  }

  async function show(td) {
    const [row, column] = of(td);
    const cell = row?.cells[column.key];
    if (!cell || !(cell.facts || []).length) return hide();
    tipped = td;
    const fact = (what, said) => [el("dt", {}, what), el("dd", {}, said)];
    const range = el("dd", {}, "…");
    tip.replaceChildren(
      el("strong", {}, `${column.label} · ${row.name}`),
      el("dl", {}, ...cell.facts.flatMap(([what, said]) => fact(what, said)),
        ...(cell.result && hasScore(cell) ? [el("dt", {}, "95 % interval"), range] : [])));
    tip.hidden = false;
    td.setAttribute("aria-describedby", tip.id);
    place(td);
    if (!cell.result || !hasScore(cell)) return;
    await new Promise((done) => setTimeout(done, intervals[cell.result] ? 0 : 200));
    if (tipped !== td) return;
    intervals[cell.result] ??= props.intervals ? Promise.resolve(props.intervals[cell.result]) : server.interval(cell.result);
    const found = await intervals[cell.result].catch(() => null);
    range.textContent = found ? `${found[0].toFixed(2)} to ${found[1].toFixed(2)}` : "not known";
    if (tipped === td) place(td);
  }

  function hide() {
    tipped?.removeAttribute("aria-describedby");
    tipped = null;
    tip.hidden = true;
  }

  function open(td) {
    const [row, column] = of(td);
    const cell = row?.cells[column.key];
    if (!cell?.result) return;
    address(["result"], [cell.result], {});
    trigger("select", { result: cell.result, row: row.name, column: column.key });
    showCard(cell.result);
  }

  function showCard(result) {
    const html = props.cards?.[result];
    if (!html) return;
    card.innerHTML = html;
    card.scrollIntoView({ block: "nearest", behavior: "smooth" });
  }

  function move(td, dr, dc, edge) {
    const last = value().columns.length - 1;
    const r = Math.max(0, Math.min(present.length - 1, Number(td.dataset.r) + dr));
    const c = edge === "start" ? 0 : edge === "end" ? last : Math.max(0, Math.min(last, Number(td.dataset.c) + dc));
    td.tabIndex = -1;
    state.at = [r, c];
    const next = at(r, c);
    next.tabIndex = 0;
    next.focus();
  }

  const KEYS = {
    ArrowUp: (td) => move(td, -1, 0), ArrowDown: (td) => move(td, 1, 0),
    ArrowLeft: (td) => move(td, 0, -1), ArrowRight: (td) => move(td, 0, 1),
    Home: (td) => move(td, 0, 0, "start"), End: (td) => move(td, 0, 0, "end"),
    Enter: open, " ": open, Escape: hide,
  };

  const target = (event) => event.target.closest?.("td.t-cell");
  scroll.addEventListener("keydown", (event) => {
    const td = target(event);
    if (!td || !KEYS[event.key]) return;
    event.preventDefault();
    KEYS[event.key](td);
  });
  scroll.addEventListener("click", (event) => target(event) && open(target(event)));
  scroll.addEventListener("focusin", (event) => target(event) && show(target(event)));
  scroll.addEventListener("mouseover", (event) => (target(event) ? show(target(event)) : hide()));
  scroll.addEventListener("focusout", hide);
  scroll.addEventListener("mouseleave", hide);
  scroll.addEventListener("scroll", hide);
  box.addEventListener("change", () => { state.published = box.checked; remember(); draw(); });
  save.addEventListener("click", () => {
    const { columns } = value();
    const moved = new Set(columns.map((c) => c.key).filter((key) => rows().some((row) => row.cells[key]?.spread)));
    const lines = rows().map((row) => [row.name, row.published ? "published" : "evaluated",
      ...columns.flatMap((column) => {
        const cell = row.cells[column.key];
        const score = hasScore(cell) && cell.state !== "waiting" ? cell.score : "";
        if (column.kind === "average") return [score, cell?.note || ""];
        return moved.has(column.key) ? [score, cell?.spread || ""] : [score];
      })]);
    const heads = columns.flatMap((c) => {
      if (c.kind === "average") return [c.label, `${c.label}: tasks`];
      return moved.has(c.key) ? [c.key, `${c.key}: spread`] : [c.key];
    });
    download(`${props.name}.csv`, csv([["encoder", "origin", ...heads], ...lines]));
  });
  watch("value", draw);
  draw();
  showCard(query.get("result"));
}
