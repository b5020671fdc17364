// Maps of one group on a page: what a person does with one is seen on the others. They talk through
// `theodolite:map` events on `window`; whatever else is on the page may send these too.
//
// A detail has `group`, `from` (the sender's root, or null) and any of: hovered (a point or -1), view, chosen (flags or null),
// found (likewise) with sought, opened (a point), colour (a column or null), filters, size; or `asks`, of a map that has just
// come: the one that has the address answers with all of these.

import { openPoint } from "./ask.js";
import { column } from "./data.js";
import { update } from "./state.js";

export const SHARED = "hovered view chosen found colour filters size opened";

function send(ui, what) {
  const group = ui.map.value.linked;
  if (group) window.dispatchEvent(new CustomEvent("theodolite:map", { detail: { group, from: ui.root, ...what } }));
}

const described = (view) => ({ ...view, share: view.span * view.size });

export function broadcast(ui, changes, isOwn) {
  if (!isOwn) return;
  const shared = Object.entries(changes).filter(([key]) => key === "sought" || SHARED.split(" ").includes(key));
  const what = Object.fromEntries(shared);
  send(ui, what.view ? { ...what, view: described(what.view) } : what);
}

export function join(ui) {
  if (!ui.map.value.address) return send(ui, { asks: true });
  const { view, chosen, found, sought, colour, filters, size } = ui.map;
  return send(ui, { view: described(view), chosen, found, sought, colour, filters, size });
}

export async function onMessage(ui, { detail }) {
  const mine = ui.map;
  if (!mine || !ui.root.isConnected || detail.from === ui.root || !mine.value.linked || detail.group !== mine.value.linked) return;
  if (detail.asks) {
    if (mine.value.address && mine.settled) join(ui);
    return;
  }
  const [changes, fits] = [{}, (flags) => flags === null || flags.length === mine.n];
  if (detail.hovered < mine.n) changes.hovered = detail.hovered;
  if (detail.view) changes.view = { ...mine.view, x: detail.view.x, y: detail.view.y, span: detail.view.share / mine.view.size };
  if ("chosen" in detail && fits(detail.chosen)) changes.chosen = detail.chosen;
  if ("found" in detail && fits(detail.found)) Object.assign(changes, { found: detail.found, sought: detail.sought });
  if (detail.size) changes.size = detail.size;
  const has = (key) => mine.value.columns.some((one) => one.key === key);
  if ("colour" in detail && (detail.colour === null || has(detail.colour))) changes.colour = detail.colour;
  if (detail.filters) { // a filter by a column that this map lacks is left out
    changes.filters = Object.fromEntries(Object.entries(detail.filters).filter(([key]) => has(key)));
  }
  const keys = [...Object.keys(changes.filters ?? {}), changes.colour ?? null];
  if (keys.some((key) => key !== null && !mine.columns[key])) await Promise.all(keys.map((key) => column(ui, key)));
  if (ui.map !== mine) return;
  update(ui, changes, false);
  if (detail.opened < mine.n) openPoint(ui, detail.opened, false);
}
