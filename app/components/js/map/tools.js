// What the tools of the map do: selections, filters, undo, view.

import { syncUrl } from "./address.js";
import { column, passes, seen } from "./data.js";
import { sum } from "./dom.js";
import { draw, list, repaint } from "./draw.js";
import { find } from "./find.js";
import { renderLegend } from "./legend.js";
import { broadcast } from "./link.js";
import { annotate } from "./overlay.js";
import { closePoint, renderPanel } from "./panel.js";
import { pointsInside } from "./points.js";
import { zoomAt } from "./view.js";

const MAX_UNDO = 100;
const MAX_SENT = 10000; // numbers that Python is told of

// What undo brings back: selection, filters and colour, not the view.
const present = (ui) => ({ chosen: ui.map.chosen, filters: ui.map.filters, colour: ui.map.colour });

function remember(ui) {
  ui.past.push(present(ui));
  if (ui.past.length > MAX_UNDO) ui.past.shift();
  ui.future = [];
}

export function undoRedo(ui, from, to) {
  const state = from.pop();
  if (!state) return;
  to.push(present(ui));
  Object.assign(ui.map, state);
  applyFilters(ui);
  colourBy(ui, ui.map.colour, false).then(() => onSelectionChange(ui));
}

// After the selection has changed, however.
export function onSelectionChange(ui) {
  ui.trigger("select", { ids: chosenNumbers(ui, MAX_SENT), count: ui.map.chosen ? sum(ui.map.chosen) : 0 });
  broadcast(ui, { chosen: ui.map.chosen });
  renderPanel(ui);
  list(ui);
  repaint(ui);
}

export function select(ui, numbers, how) {
  remember(ui);
  const chosen = how === "replace" || !ui.map.chosen ? new Uint8Array(ui.map.n) : ui.map.chosen.slice();
  const flag = how === "subtract" ? 0 : 1;
  for (let k = 0; k < numbers.length; k++) if (passes(ui, numbers[k])) chosen[numbers[k]] = flag;
  ui.map.chosen = chosen.includes(1) ? chosen : null;
  onSelectionChange(ui);
}

export function clear(ui) {
  if (!ui.map.chosen) return;
  remember(ui);
  ui.map.chosen = null;
  onSelectionChange(ui);
}

// Escape lets go of one thing at a time: the open point, what was found, the selection.
export function release(ui) {
  if (ui.map.point || ui.map.placedPoint || ui.map.decoded) closePoint(ui);
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
  renderLegend(ui);
  list(ui);
}

// A filter is a set of labels, or the lowest and highest value; a point must pass all of them.
export function applyFilters(ui) {
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

export function filterBy(ui, key, filter) {
  remember(ui);
  ui.map.filters = { ...ui.map.filters };
  if (filter === null) delete ui.map.filters[key];
  else ui.map.filters[key] = filter;
  broadcast(ui, { filters: ui.map.filters });
  applyFilters(ui);
  repaint(ui);
  const at = [...ui.legend.querySelectorAll("button, input")].indexOf(document.activeElement);
  renderLegend(ui);
  if (at >= 0) ui.legend.querySelectorAll("button, input")[at]?.focus();
  list(ui);
}

export function choose(ui, name) {
  ui.mode = name;
  ui.over.dataset.mode = name;
  ui.bar.querySelectorAll("[data-mode]").forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.mode === name)));
  annotate(ui);
}

export function sizeAs(ui, size, own = true) {
  ui.map.size = size;
  ui.map.sizePicked();
  if (own) broadcast(ui, { size });
  draw(ui);
  syncUrl(ui);
}

// View --------------------------------------------------------------------------------------

export function zoom(ui, factor, px = ui.stage.clientWidth / 2, py = ui.stage.clientHeight / 2) {
  ui.map.view = zoomAt(ui.map.view, ui.stage.clientWidth, ui.stage.clientHeight, px, py, factor);
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
