// The tools of the map: selections, filters, undo, bar, legend, view. Function declarations only: map.js
// below holds the state they work on.

const UNDONE = 100;
const LEGEND_ROWS = 300;
const SIZES = { small: 0.6, usual: 1, large: 1.8 };

// What undo brings back: selection, filters and colour, not the view.
const present = () => ({ chosen: map.chosen, filters: map.filters, colour: map.colour });

function remember() {
  past.push(present());
  if (past.length > UNDONE) past.shift();
  future = [];
}

function travel(from, to) {
  const state = from.pop();
  if (!state) return;
  to.push(present());
  Object.assign(map, state);
  filtered();
  colourBy(map.colour, false).then(chosenAnew);
}

// After the selection has changed, however.
function chosenAnew() {
  repaint();
  panelled();
  list();
  trigger("select", { ids: chosenNumbers(SENT), count: map.chosen ? sum(map.chosen) : 0 });
  tellOthers({ chosen: map.chosen });
}

function select(numbers, how) {
  remember();
  const chosen = how === "replace" || !map.chosen ? new Uint8Array(map.n) : map.chosen.slice();
  for (const i of numbers) if (passes(i)) chosen[i] = how === "subtract" ? 0 : 1;
  map.chosen = chosen.some((one) => one) ? chosen : null;
  chosenAnew();
}

function clear() {
  if (!map.chosen) return;
  remember();
  map.chosen = null;
  chosenAnew();
}

// Escape lets go of one thing at a time: the open point, what was found, the selection.
function release() {
  if (map.point || map.guest || map.said) closePoint();
  else if (map.found) find("");
  else clear();
}

function chosenNumbers(most = Infinity) {
  const numbers = [];
  if (map.chosen) for (let i = 0; i < map.n && numbers.length < most; i++) if (map.chosen[i]) numbers.push(i);
  return numbers;
}

async function colourBy(key, undoable = true) {
  if (undoable) remember();
  map.colour = (await column(key)) ? key : null;
  repaint();
  legendary();
  list();
}

// A filter is a set of labels, or the lowest and highest value; a point must pass all of them.
function filtered() {
  const active = Object.entries(map.filters).filter(([key]) => map.columns[key]);
  map.allowed = active.length ? new Uint8Array(map.n).fill(1) : null;
  for (const [key, filter] of active) {
    const { kind, values } = map.columns[key];
    for (let i = 0; i < map.n; i++) {
      const fits = kind === "label" ? filter.has(values[i]) : values[i] >= filter[0] && values[i] <= filter[1];
      if (!fits) map.allowed[i] = 0;
    }
  }
}

function filterBy(key, filter) {
  remember();
  map.filters = { ...map.filters };
  if (filter === null) delete map.filters[key];
  else map.filters[key] = filter;
  tellOthers({ filters: map.filters });
  filtered();
  repaint();
  const at = [...legend.querySelectorAll("button, input")].indexOf(document.activeElement);
  legendary();
  if (at >= 0) legend.querySelectorAll("button, input")[at]?.focus();
  list();
}

// Bar ---------------------------------------------------------------------------------------

function tools() {
  const button = (label, act, attributes = {}) => {
    const made = el("button", { type: "button", class: "t-button", ...attributes }, label);
    made.addEventListener("click", () => { act(); over.focus({ preventScroll: true }); });
    return made;
  };
  const modes = ["move", "lasso", "rectangle", ...(map.value.decoding ? ["decode"] : [])].map((name) =>
    button(name[0].toUpperCase() + name.slice(1), () => choose(name), { "data-mode": name }));
  const pick = el("select", { "aria-label": "Colour by" }, el("option", { value: "" }, "One colour"),
    ...map.value.columns.map((c) => el("option", { value: c.key }, c.name)));
  pick.addEventListener("change", () => {
    colourBy(pick.value || null);
    tellOthers({ colour: pick.value || null });
  });
  map.picked = () => { pick.value = map.colour ?? ""; };
  const saves = el("select", { "aria-label": "Save" }, el("option", { value: "" }, "Save…"),
    ...["PNG", "SVG", ...Object.keys(TABLES)].map((kind) => el("option", { value: kind }, kind)));
  saves.addEventListener("change", () => { save(saves.value); saves.value = ""; });
  bar.replaceChildren(...[
    el("span", { class: "t-map-group" }, ...modes),
    el("span", { class: "t-map-group" },
      button("+", () => zoom(0.6), { "aria-label": "Closer" }), button("−", () => zoom(1 / 0.6), { "aria-label": "Farther" }),
      button("All", () => fit(), { "aria-label": "Show all" })),
    el("span", { class: "t-map-group" }, button("Undo", () => travel(past, future)), button("Redo", () => travel(future, past)),
      button("Clear", clear)),
    el("label", {}, "Colour ", pick), pointSize(), map.value.regions.length ? named() : null, saves,
  ].filter(Boolean));
  choose(mode === "decode" && !map.value.decoding ? "move" : mode);
}

function named() {
  const box = el("input", { type: "checkbox", checked: map.names });
  box.addEventListener("change", () => { map.names = box.checked; annotate(); noted(); });
  return el("label", {}, box, " Names");
}

function pointSize() {
  const pick = el("select", { "aria-label": "Points" },
    ...Object.keys(SIZES).map((size) => el("option", { value: size, selected: size === map.size }, `${size[0].toUpperCase()}${size.slice(1)} points`)));
  pick.addEventListener("change", () => sizeAs(pick.value));
  map.sizePicked = () => { pick.value = map.size; };
  return pick;
}

function sizeAs(size, own = true) {
  map.size = size;
  map.sizePicked();
  if (own) tellOthers({ size });
  draw();
  noted();
}

function choose(name) {
  mode = name;
  over.dataset.mode = name;
  bar.querySelectorAll("[data-mode]").forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.mode === name)));
  annotate();
}

function legendary() {
  map.picked();
  const by = map.colour === null ? null : map.columns[map.colour];
  legend.replaceChildren();
  if (!by) return;
  legend.append(el("h3", {}, by.name));
  if (by.kind === "label") legend.append(labelLegend(by));
  else legend.append(rampLegend(by));
}

function labelLegend(by) {
  const filter = map.filters[map.colour];
  const counts = new Uint32Array(by.labels.length + 1);
  for (const value of by.values) counts[Math.min(value, by.labels.length)]++;
  const order = by.labels.map((_, i) => i).sort((a, b) => counts[b] - counts[a]);
  const rows = order.slice(0, LEGEND_ROWS).map((i) => {
    const [r, g, b] = map.shades[i];
    const on = !filter || filter.has(i);
    const row = el("button", { type: "button", "aria-pressed": String(on), class: "t-map-label", title: "Show only this, again for all; with Shift, this one more or less" },
      el("i", { style: `background: rgb(${r} ${g} ${b})`, "aria-hidden": "true" }), el("span", {}, by.labels[i]),
      el("small", {}, count(counts[i])));
    row.addEventListener("click", (event) => { // by key too: a button clicks on Enter, Shift and all
      const next = event.shiftKey && filter ? new Set(filter) : new Set();
      if (event.shiftKey && filter?.has(i)) next.delete(i);
      else next.add(i);
      const same = filter && filter.size === 1 && filter.has(i);
      filterBy(map.colour, same || !next.size ? null : next);
    });
    return row;
  });
  const rest = order.length - rows.length;
  const more = rest > 0 ? el("p", { class: "t-small t-muted" }, `and ${count(rest)} smaller ones`) : null;
  return el("div", { class: "t-map-labels" }, ...rows, more ?? "");
}

function rampLegend(by) {
  const [low, high] = map.filters[map.colour] ?? [by.low, by.high];
  const step = (by.high - by.low) / 100 || 1;
  const end = (name, value) => el("input", { type: "range", min: by.low, max: by.high, step, value, "aria-label": `${name} value shown` });
  const [from, to] = [end("Lowest", low), end("Highest", high)];
  for (const input of [from, to]) {
    input.addEventListener("change", () => {
      const pair = [Number(from.value), Number(to.value)].sort((a, b) => a - b);
      filterBy(map.colour, pair[0] <= by.low + step / 2 && pair[1] >= by.high - step / 2 ? null : [pair[0], pair[1]]);
    });
  }
  const stops = [0, 0.25, 0.5, 0.75, 1].map((s) => `rgb(${rampColour(s).join(" ")})`).join(", ");
  return el("div", {}, el("div", { class: "t-map-ramp", style: `background: linear-gradient(to right, ${stops})` }),
    el("p", { class: "t-small" }, `${low.toPrecision(3)} to ${high.toPrecision(3)}`), from, to);
}

// View --------------------------------------------------------------------------------------

function zoom(factor, px = stage.clientWidth / 2, py = stage.clientHeight / 2) {
  map.view = zoomed(map.view, stage.clientWidth, stage.clientHeight, px, py, factor);
  draw(true);
}

function pan(dx, dy) {
  const { unit } = seen();
  map.view = { ...map.view, x: map.view.x - dx / unit, y: map.view.y + dy / unit };
  draw(true);
}

function fit() {
  map.view = map.whole;
  draw(true);
}

function inView() {
  const view = seen();
  const [[x0, y0], [x1, y1]] = [view.toPlane(0, view.height), view.toPlane(view.width, 0)];
  return pointsInside(map.grid, [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]);
}
