// The tools of the map: selections, filters, undo, bar, legend, view.

import { noted } from "./address.js";
import { rampColour } from "./colours.js";
import { column, passes, seen } from "./data.js";
import { count, el, sum } from "./dom.js";
import { draw, list, repaint } from "./draw.js";
import { TABLES, save } from "./files.js";
import { find } from "./find.js";
import { tellOthers } from "./link.js";
import { annotate } from "./overlay.js";
import { closePoint, panelled } from "./panel.js";
import { pointsInside } from "./points.js";
import { SIZES } from "./sizes.js";
import { zoomed } from "./view.js";

const UNDONE = 100;
const LEGEND_ROWS = 300;
const SENT = 10000; // numbers that Python is told of

// What undo brings back: selection, filters and colour, not the view.
const present = (ui) => ({ chosen: ui.map.chosen, filters: ui.map.filters, colour: ui.map.colour });

function remember(ui) {
  ui.past.push(present(ui));
  if (ui.past.length > UNDONE) ui.past.shift();
  ui.future = [];
}

export function travel(ui, from, to) {
  const state = from.pop();
  if (!state) return;
  to.push(present(ui));
  Object.assign(ui.map, state);
  filtered(ui);
  colourBy(ui, ui.map.colour, false).then(() => chosenAnew(ui));
}

// After the selection has changed, however.
export function chosenAnew(ui) {
  repaint(ui);
  panelled(ui);
  list(ui);
  ui.trigger("select", { ids: chosenNumbers(ui, SENT), count: ui.map.chosen ? sum(ui.map.chosen) : 0 });
  tellOthers(ui, { chosen: ui.map.chosen });
}

export function select(ui, numbers, how) {
  remember(ui);
  const chosen = how === "replace" || !ui.map.chosen ? new Uint8Array(ui.map.n) : ui.map.chosen.slice();
  for (const i of numbers) if (passes(ui, i)) chosen[i] = how === "subtract" ? 0 : 1;
  ui.map.chosen = chosen.some((one) => one) ? chosen : null;
  chosenAnew(ui);
}

export function clear(ui) {
  if (!ui.map.chosen) return;
  remember(ui);
  ui.map.chosen = null;
  chosenAnew(ui);
}

// Escape lets go of one thing at a time: the open point, what was found, the selection.
export function release(ui) {
  if (ui.map.point || ui.map.guest || ui.map.said) closePoint(ui);
  else if (ui.map.found) find(ui, "");
  else clear(ui);
}

export function chosenNumbers(ui, most = Infinity) {
  const numbers = [];
  if (ui.map.chosen) for (let i = 0; i < ui.map.n && numbers.length < most; i++) if (ui.map.chosen[i]) numbers.push(i);
  return numbers;
}

export async function colourBy(ui, key, undoable = true) {
  if (undoable) remember(ui);
  ui.map.colour = (await column(ui, key)) ? key : null;
  repaint(ui);
  legendary(ui);
  list(ui);
}

// A filter is a set of labels, or the lowest and highest value; a point must pass all of them.
export function filtered(ui) {
  const active = Object.entries(ui.map.filters).filter(([key]) => ui.map.columns[key]);
  ui.map.allowed = active.length ? new Uint8Array(ui.map.n).fill(1) : null;
  for (const [key, filter] of active) {
    const { kind, values } = ui.map.columns[key];
    for (let i = 0; i < ui.map.n; i++) {
      const fits = kind === "label" ? filter.has(values[i]) : values[i] >= filter[0] && values[i] <= filter[1];
      if (!fits) ui.map.allowed[i] = 0;
    }
  }
}

function filterBy(ui, key, filter) {
  remember(ui);
  ui.map.filters = { ...ui.map.filters };
  if (filter === null) delete ui.map.filters[key];
  else ui.map.filters[key] = filter;
  tellOthers(ui, { filters: ui.map.filters });
  filtered(ui);
  repaint(ui);
  const at = [...ui.legend.querySelectorAll("button, input")].indexOf(document.activeElement);
  legendary(ui);
  if (at >= 0) ui.legend.querySelectorAll("button, input")[at]?.focus();
  list(ui);
}

// Bar ---------------------------------------------------------------------------------------

export function tools(ui) {
  const button = (label, act, attributes = {}) => {
    const made = el("button", { type: "button", class: "t-button", ...attributes }, label);
    made.addEventListener("click", () => { act(); ui.over.focus({ preventScroll: true }); });
    return made;
  };
  const modes = ["move", "lasso", "rectangle", ...(ui.map.value.decoding ? ["decode"] : [])].map((name) =>
    button(name[0].toUpperCase() + name.slice(1), () => choose(ui, name), { "data-mode": name }));
  const pick = el("select", { "aria-label": "Colour by" }, el("option", { value: "" }, "One colour"),
    ...ui.map.value.columns.map((c) => el("option", { value: c.key }, c.name)));
  pick.addEventListener("change", () => {
    colourBy(ui, pick.value || null);
    tellOthers(ui, { colour: pick.value || null });
  });
  ui.map.picked = () => { pick.value = ui.map.colour ?? ""; };
  const saves = el("select", { "aria-label": "Save" }, el("option", { value: "" }, "Save…"),
    ...["PNG", "SVG", ...Object.keys(TABLES)].map((kind) => el("option", { value: kind }, kind)));
  saves.addEventListener("change", () => { save(ui, saves.value); saves.value = ""; });
  ui.bar.replaceChildren(...[
    el("span", { class: "t-map-group" }, ...modes),
    el("span", { class: "t-map-group" },
      button("+", () => zoom(ui, 0.6), { "aria-label": "Closer" }), button("−", () => zoom(ui, 1 / 0.6), { "aria-label": "Farther" }),
      button("All", () => fit(ui), { "aria-label": "Show all" })),
    el("span", { class: "t-map-group" }, button("Undo", () => travel(ui, ui.past, ui.future)), button("Redo", () => travel(ui, ui.future, ui.past)),
      button("Clear", () => clear(ui))),
    el("label", {}, "Colour ", pick), pointSize(ui), ui.map.value.regions.length ? named(ui) : null, saves,
  ].filter(Boolean));
  choose(ui, ui.mode === "decode" && !ui.map.value.decoding ? "move" : ui.mode);
}

function named(ui) {
  const box = el("input", { type: "checkbox", checked: ui.map.names });
  box.addEventListener("change", () => { ui.map.names = box.checked; annotate(ui); noted(ui); });
  return el("label", {}, box, " Names");
}

function pointSize(ui) {
  const pick = el("select", { "aria-label": "Points" },
    ...Object.keys(SIZES).map((size) => el("option", { value: size, selected: size === ui.map.size }, `${size[0].toUpperCase()}${size.slice(1)} points`)));
  pick.addEventListener("change", () => sizeAs(ui, pick.value));
  ui.map.sizePicked = () => { pick.value = ui.map.size; };
  return pick;
}

export function sizeAs(ui, size, own = true) {
  ui.map.size = size;
  ui.map.sizePicked();
  if (own) tellOthers(ui, { size });
  draw(ui);
  noted(ui);
}

export function choose(ui, name) {
  ui.mode = name;
  ui.over.dataset.mode = name;
  ui.bar.querySelectorAll("[data-mode]").forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.mode === name)));
  annotate(ui);
}

export function legendary(ui) {
  ui.map.picked();
  const by = ui.map.colour === null ? null : ui.map.columns[ui.map.colour];
  ui.legend.replaceChildren();
  if (!by) return;
  ui.legend.append(el("h3", {}, by.name));
  if (by.kind === "label") ui.legend.append(labelLegend(ui, by));
  else ui.legend.append(rampLegend(ui, by));
}

function labelLegend(ui, by) {
  const filter = ui.map.filters[ui.map.colour];
  const counts = new Uint32Array(by.labels.length + 1);
  for (const value of by.values) counts[Math.min(value, by.labels.length)]++;
  const order = by.labels.map((_, i) => i).sort((a, b) => counts[b] - counts[a]);
  const rows = order.slice(0, LEGEND_ROWS).map((i) => {
    const [r, g, b] = ui.map.shades[i];
    const on = !filter || filter.has(i);
    const row = el("button", { type: "button", "aria-pressed": String(on), class: "t-map-label", title: "Show only this, again for all; with Shift, this one more or less" },
      el("i", { style: `background: rgb(${r} ${g} ${b})`, "aria-hidden": "true" }), el("span", {}, by.labels[i]),
      el("small", {}, count(counts[i])));
    row.addEventListener("click", (event) => { // by key too: a button clicks on Enter, Shift and all
      const next = event.shiftKey && filter ? new Set(filter) : new Set();
      if (event.shiftKey && filter?.has(i)) next.delete(i);
      else next.add(i);
      const same = filter && filter.size === 1 && filter.has(i);
      filterBy(ui, ui.map.colour, same || !next.size ? null : next);
    });
    return row;
  });
  const rest = order.length - rows.length;
  const more = rest > 0 ? el("p", { class: "t-small t-muted" }, `and ${count(rest)} smaller ones`) : null;
  return el("div", { class: "t-map-labels" }, ...rows, more ?? "");
}

function rampLegend(ui, by) {
  const [low, high] = ui.map.filters[ui.map.colour] ?? [by.low, by.high];
  const step = (by.high - by.low) / 100 || 1;
  const end = (name, value) => el("input", { type: "range", min: by.low, max: by.high, step, value, "aria-label": `${name} value shown` });
  const [from, to] = [end("Lowest", low), end("Highest", high)];
  for (const input of [from, to]) {
    input.addEventListener("change", () => {
      const pair = [Number(from.value), Number(to.value)].sort((a, b) => a - b);
      filterBy(ui, ui.map.colour, pair[0] <= by.low + step / 2 && pair[1] >= by.high - step / 2 ? null : [pair[0], pair[1]]);
    });
  }
  const stops = [0, 0.25, 0.5, 0.75, 1].map((s) => `rgb(${rampColour(s).join(" ")})`).join(", ");
  return el("div", {}, el("div", { class: "t-map-ramp", style: `background: linear-gradient(to right, ${stops})` }),
    el("p", { class: "t-small" }, `${low.toPrecision(3)} to ${high.toPrecision(3)}`), from, to);
}

// View --------------------------------------------------------------------------------------

export function zoom(ui, factor, px = ui.stage.clientWidth / 2, py = ui.stage.clientHeight / 2) {
  ui.map.view = zoomed(ui.map.view, ui.stage.clientWidth, ui.stage.clientHeight, px, py, factor);
  draw(ui, true);
}

export function pan(ui, dx, dy) {
  const { unit } = seen(ui);
  ui.map.view = { ...ui.map.view, x: ui.map.view.x - dx / unit, y: ui.map.view.y + dy / unit };
  draw(ui, true);
}

export function fit(ui) {
  ui.map.view = ui.map.whole;
  draw(ui, true);
}

export function inView(ui) {
  const view = seen(ui);
  const [[x0, y0], [x1, y1]] = [view.toPlane(0, view.height), view.toPlane(view.width, 0)];
  return pointsInside(ui.map.grid, [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]);
}
