// What can be done to a map without asking anybody: selections, filters, colour, view.

import { column, seen } from "./data.js";
import { pointsInside } from "./points.js";
import { passes, remember, update } from "./state.js";
import { zoomAt } from "./view.js";

export function select(ui, numbers, how) {
  remember(ui);
  const chosen = how === "replace" || !ui.map.chosen ? new Uint8Array(ui.map.n) : ui.map.chosen.slice();
  const flag = how === "subtract" ? 0 : 1;
  for (let k = 0; k < numbers.length; k++) if (passes(ui, numbers[k])) chosen[numbers[k]] = flag;
  update(ui, { chosen: chosen.includes(1) ? chosen : null, made: null });
}

export function clear(ui) {
  if (!ui.map.chosen) return;
  remember(ui);
  update(ui, { chosen: null });
}

export const closePoint = (ui) => update(ui, { point: null, placedPoint: null, decoded: null });

// Escape lets go of one thing at a time: the open point, what was found, the selection.
export function release(ui) {
  if (ui.map.point || ui.map.placedPoint || ui.map.decoded) closePoint(ui);
  else if (ui.map.found) update(ui, { found: null, sought: null });
  else clear(ui);
}

export function chosenNumbers(ui, most = Infinity) {
  const numbers = [];
  if (ui.map.chosen) for (let i = 0; i < ui.map.n && numbers.length < most; i++) if (ui.map.chosen[i]) numbers.push(i);
  return numbers;
}

// Gives the selection a label in a column of one's own, and colours by it.
export function label(ui, name) {
  const { n, chosen, columns, value } = ui.map;
  const own = columns.own ?? { key: "own", name: "Your labels", kind: "label", labels: ["not labelled"], values: new Uint16Array(n) };
  const labels = own.labels.includes(name) ? own.labels : [...own.labels, name];
  const column = { ...own, labels, values: own.values.map((before, i) => (chosen[i] ? labels.indexOf(name) : before)) };
  remember(ui);
  update(ui, {
    columns: { ...columns, own: column }, colour: "own",
    value: { ...value, columns: [...value.columns.filter(({ key }) => key !== "own"), column] },
  });
}

export async function colourBy(ui, key) {
  remember(ui);
  update(ui, { colour: (await column(ui, key)) ? key : null });
}

export function filterBy(ui, key, filter) {
  remember(ui);
  const { [key]: _, ...others } = ui.map.filters;
  update(ui, { filters: filter === null ? others : { ...others, [key]: filter } });
}

export const choose = (ui, mode) => update(ui, { mode });

export function zoom(ui, factor, px = ui.stage.clientWidth / 2, py = ui.stage.clientHeight / 2) {
  update(ui, { view: zoomAt(ui.map.view, ui.stage.clientWidth, ui.stage.clientHeight, px, py, factor) });
}

export function pan(ui, dx, dy) {
  const { unit } = seen(ui);
  update(ui, { view: { ...ui.map.view, x: ui.map.view.x - dx / unit, y: ui.map.view.y + dy / unit } });
}

export const fit = (ui) => update(ui, { view: ui.map.whole });

export function inView(ui) {
  const view = seen(ui);
  const [[x0, y0], [x1, y1]] = [view.toPlane(0, view.height), view.toPlane(view.width, 0)];
  return pointsInside(ui.map.grid, [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]);
}

export const toggleListing = (ui) => update(ui, { isListed: !ui.map.isListed });

export function fullScreen(ui) {
  if (document.fullscreenElement) document.exitFullscreen();
  else if (document.fullscreenEnabled) ui.root.requestFullscreen();
}
