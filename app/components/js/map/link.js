// Maps of one group on a page: what a person does with one is seen on the others. They talk through
// `theodolite:map` events on `window`; whatever else is on the page may send these too.
//
//
// A detail has `group`, `from` (the sender's root, or null) and any of: hovered (a point or -1),
// view, chosen (flags or null), found (likewise, with what was sought), opened (a point), colour (a
// column or null), filters, size.

import { syncUrl } from "./address.js";
import { column, seen } from "./data.js";
import { SETTLE_MS, draw, list, repaint } from "./draw.js";
import { highlight } from "./find.js";
import { hoverOn } from "./input.js";
import { renderLegend } from "./legend.js";
import { annotate } from "./overlay.js";
import { openPoint, renderPanel } from "./panel.js";
import { MAX_MOVING_POINTS } from "./scene.js";
import { colourBy, applyFilters, sizeAs } from "./tools.js";

export function broadcast(ui, what) {
  const group = ui.map.value.linked;
  if (group) window.dispatchEvent(new CustomEvent("theodolite:map", { detail: { group, from: ui.root, ...what } }));
}

export async function onMessage(ui, { detail }) {
  if (!ui.map || !ui.root.isConnected || detail.from === ui.root || !ui.map.value.linked || detail.group !== ui.map.value.linked) return;
  if ("hovered" in detail && detail.hovered < ui.map.n) hoverOn(ui, detail.hovered, false);
  if (detail.view) follow(ui, detail.view);
  if ("chosen" in detail && (detail.chosen === null || detail.chosen.length === ui.map.n)) {
    ui.map.chosen = detail.chosen;
    repaint(ui);
    renderPanel(ui);
    list(ui);
  }
  if ("found" in detail && (detail.found === null || detail.found.length === ui.map.n)) highlight(ui, detail.found, detail.sought);
  if ("opened" in detail && detail.opened < ui.map.n) openPoint(ui, detail.opened, false);
  if ("colour" in detail && (detail.colour === null || has(ui, detail.colour))) await colourBy(ui, detail.colour, false);
  if (detail.size) sizeAs(ui, detail.size, false);
  if (detail.filters) await filterAs(ui, detail.filters);
}

const has = (ui, key) => ui.map.value.columns.some((column) => column.key === key);

function follow(ui, view) {
  ui.map.view = { ...ui.map.view, x: view.x, y: view.y, span: view.share / ui.map.view.size };
  ui.map.scene.draw(seen(ui), ui.map.n > MAX_MOVING_POINTS);
  annotate(ui);
  clearTimeout(ui.settling);
  ui.settling = setTimeout(() => { draw(ui); list(ui); syncUrl(ui); }, SETTLE_MS);
}

// A filter by a column that this map lacks is left out.
async function filterAs(ui, filters) {
  const mine = ui.map;
  const own = Object.fromEntries(Object.entries(filters).filter(([key]) => has(ui, key)));
  for (const key of Object.keys(own)) await column(ui, key);
  if (ui.map !== mine) return;
  ui.map.filters = own;
  applyFilters(ui);
  repaint(ui);
  renderLegend(ui);
  list(ui);
}
