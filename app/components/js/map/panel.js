// Beside the map, or over a part of it: the point that is open with its true neighbours, and the sentences selected.

import { syncUrl } from "./address.js";
import { request, seen, texts } from "./data.js";
import { decodedCard } from "./decode.js";
import { count, el, pressable, sum } from "./dom.js";
import { busy, say } from "./draw.js";
import { save, tables } from "./files.js";
import { broadcast } from "./link.js";
import { annotate } from "./overlay.js";
import { chosenNumbers, clear, pan, select } from "./tools.js";
import { pointOf } from "./staticSource.js";

const MAX_IN_PANEL = 100;
const MARGIN = 16; // pixels

export async function openPoint(ui, id, own = true) {
  ui.trigger("click", { id });
  if (own) broadcast(ui, { opened: id });
  if (!ui.map.value.neighbours) return;
  const mine = ui.map;
  busy(ui, "Looking for its neighbours in the full space");
  try {
    const found = await (mine.value.parts ? pointOf(ui, id) : (await request(ui, `point?id=${id}`)).json());
    if (ui.map !== mine) return;
    [mine.placedPoint, mine.decoded] = [null, null];
    mine.point = { id, ...found };
    say(ui);
    annotate(ui);
    renderPanel(ui);
    uncover(ui, mine.xy[2 * id], mine.xy[2 * id + 1]);
  } catch (error) {
    ui.status.textContent = error.message;
  }
}

// Where the panel lies over what it is about, the map moves until that is beside it.
export function uncover(ui, x, y) {
  const [stage, side] = [ui.stage, ui.panel].map((one) => one.getBoundingClientRect());
  const [px, py] = seen(ui).toScreen(x, y);
  const [right, below] = [stage.left + px + MARGIN, stage.top + py];
  const isOver = side.left < stage.right && below > side.top - MARGIN && below < side.bottom + MARGIN;
  if (isOver && right > side.left && px < stage.width) pan(ui, side.left - right, 0);
}

export function closePoint(ui) {
  ui.map.point = null;
  ui.map.placedPoint = null;
  ui.map.decoded = null;
  annotate(ui);
  renderPanel(ui);
  syncUrl(ui);
}

export function renderPanel(ui) {
  const parts = [];
  if (ui.map.point) parts.push(pointCard(ui, ui.map.point));
  if (ui.map.placedPoint) parts.push(placedPointCard(ui, ui.map.placedPoint));
  if (ui.map.decoded) parts.push(decodedCard(ui, ui.map.decoded));
  if (ui.map.chosen) parts.push(chosenCard(ui));
  ui.panel.replaceChildren(...parts);
}

export function searchLink(ui, sentence) {
  if (!ui.map.value.search) return null;
  return el("a", { href: `${ui.map.value.search}&q=${encodeURIComponent(sentence.slice(0, 1000))}` }, "Open in Search");
}

function pointCard(ui, point) {
  const near = point.neighbours.filter((one) => one.kept).length;
  const all = point.neighbours.length;
  const [first, ...others] = point.facts;
  const facts = others.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
  return el("section", { class: "t-map-card", "aria-label": "The open point" },
    el("h3", {}, point.text),
    first ? el("p", { class: "t-small t-muted" }, `${first[0]}: ${first[1]}`) : "",
    ...(all ? [el("p", { class: "t-small" },
      `Of its ${all} nearest in the full space, ${near} ${near === 1 ? "is" : "are"} among its ${all} nearest on the map; the others, dashed, the map put elsewhere.`),
    neighbourTable(ui, point.neighbours)] : []),
    el("details", { class: "t-map-facts" }, el("summary", {}, "All that is known of it"), el("dl", {}, ...facts)),
    el("p", { class: "t-map-acts" }, searchLink(ui, point.text) ?? "",
      all ? pressable("Select it and its neighbours", () => select(ui, [point.id, ...point.neighbours.map((one) => one.id)], "replace")) : "",
      pressable("Close", () => closePoint(ui))));
}

function placedPointCard(ui, placedPoint) {
  return el("section", { class: "t-map-card", "aria-label": "The sentence placed" },
    el("h3", {}, placedPoint.text),
    el("p", { class: "t-small" }, "Placed, at the cross, where its nearest sentences lie; the map itself did not move for it."),
    neighbourTable(ui, placedPoint.neighbours),
    el("p", { class: "t-map-acts" }, searchLink(ui, placedPoint.text) ?? "", pressable("Close", () => closePoint(ui))));
}

function neighbourTable(ui, neighbours) {
  const rows = neighbours.map((one) => el("tr", {},
    el("td", {}, pressable(one.text, () => openPoint(ui, one.id))),
    el("td", { class: "t-num" }, one.cosine.toFixed(3)),
    el("td", {}, one.kept === undefined ? "" : one.kept ? "near" : "elsewhere")));
  const heads = ["Nearest in the full space", "Cosine", "Here"];
  return el("div", { class: "t-scroll t-map-rows", tabindex: "0", role: "region", "aria-label": "Nearest in the full space" },
    el("table", { class: "t-table" },
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, ...rows)));
}

function chosenCard(ui) {
  const [numbers, all] = [chosenNumbers(ui, MAX_IN_PANEL), sum(ui.map.chosen)];
  const items = el("ol", {});
  const card = el("section", { class: "t-map-card", "aria-label": "Selected" },
    el("h3", {}, `${count(all)} selected`),
    el("div", { class: "t-scroll t-map-rows", tabindex: "0", role: "region", "aria-label": "Sentences selected" }, items),
    all > MAX_IN_PANEL ? el("p", { class: "t-small t-muted" }, `The first ${MAX_IN_PANEL}; a CSV has all.`) : "",
    el("p", { class: "t-map-acts" }, ...tables(ui).filter((kind) => !kind.includes(" ")).map((kind) => pressable(kind, () => save(ui, kind))), pressable("Clear", () => clear(ui))));
  texts(ui, numbers).then((words) => {
    items.replaceChildren(...words.map((text, k) => el("li", {}, pressable(text, () => openPoint(ui, numbers[k])))));
  });
  return card;
}
