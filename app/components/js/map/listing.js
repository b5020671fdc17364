// What is in view as a table, for those who read instead of look.

import { openPoint } from "./ask.js";
import { colouring, texts, valueOf } from "./data.js";
import { count, el, pressable } from "./dom.js";
import { passes } from "./state.js";
import { inView } from "./tools.js";

const MAX_LISTED = 50;

export async function renderListing(ui, changes) {
  ui.listing.hidden = !ui.map.isListed;
  if (!ui.map.isListed) return;
  const kept = Array.from(inView(ui)).filter((i) => passes(ui, i));
  const first = (ui.map.chosen ? kept.filter((i) => ui.map.chosen[i]) : kept).slice(0, MAX_LISTED);
  const words = await texts(ui, first);
  const by = colouring(ui);
  const rows = first.map((i, k) =>
    el("tr", {}, el("td", {}, pressable(words[k], () => openPoint(ui, i))), by ? el("td", {}, valueOf(by, i)) : null));
  const head = el("tr", {}, el("th", { scope: "col" }, "Sentence"), by ? el("th", { scope: "col" }, by.name) : null);
  ui.listed.replaceChildren(
    el("p", { class: "t-small t-muted" }, `${count(first.length)} of ${count(kept.length)} in view${ui.map.chosen ? ", selected ones only" : ""}.`),
    el("table", { class: "t-table" }, el("thead", {}, head), el("tbody", {}, ...rows)));
  if ("isListed" in changes) ui.listing.scrollIntoView({ block: "nearest" });
}
