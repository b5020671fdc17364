// Beside the map, or over a part of it: the point that is open with its true neighbours, and the sentences selected.

import { keep, openPoint } from "./ask.js";
import { seen, texts } from "./data.js";
import { cosine, count, el, percent, pressable, sum } from "./dom.js";
import { save, tables } from "./files.js";
import { chosenNumbers, clear, closePoint, label, pan, select } from "./tools.js";

const MAX_IN_PANEL = 100;
const MARGIN = 16; // pixels

// Where the panel lies over what it is about, the map moves until that is beside it.
function uncover(ui, x, y) {
  const [stage, side] = [ui.stage, ui.panel].map((one) => one.getBoundingClientRect());
  const [px, py] = seen(ui).toScreen(x, y);
  const [right, below] = [stage.left + px + MARGIN, stage.top + py];
  const isOver = side.left < stage.right && below > side.top - MARGIN && below < side.bottom + MARGIN;
  if (isOver && right > side.left && px < stage.width) pan(ui, side.left - right, 0);
}

export function renderPanel(ui, changes) {
  const { point, placedPoint, decoded, chosen, xy } = ui.map;
  const cards = [];
  if (point) cards.push(pointCard(ui, point));
  if (placedPoint) cards.push(placedPointCard(ui, placedPoint));
  if (decoded) cards.push(decodedCard(ui, decoded));
  if (chosen) cards.push(chosenCard(ui));
  const pressed = [...ui.panel.querySelectorAll("button, input")].indexOf(document.activeElement);
  ui.panel.replaceChildren(...cards);
  if (changes.made) ui.panel.querySelectorAll("button, input")[pressed]?.focus({ preventScroll: true });
  if (changes.point) uncover(ui, xy[2 * point.id], xy[2 * point.id + 1]);
  else if (changes.placedPoint ?? changes.decoded?.neighbours) uncover(ui, (placedPoint ?? decoded).x, (placedPoint ?? decoded).y);
}

function searchLink(ui, sentence) {
  const { encoder, dataset, held } = ui.map.value;
  if (held) return ""; // a document has no pages beside it
  const query = new URLSearchParams({ in: dataset, encoder });
  return el("a", { href: `./search?${query}&q=${encodeURIComponent(sentence.slice(0, 1000))}` }, "Open in Search");
}

export function howKept(near, all) {
  if (all === 1) return `Its nearest in the full space is ${near ? "its nearest on the map too" : "not its nearest on the map; the map placed it, dashed, elsewhere"}.`;
  const kept = { 0: "none is", 1: "one is", [all]: "all are" }[near] ?? `${near} are`;
  const left = near === all ? "" : `; the map placed ${near ? "the others" : "them"}, dashed, elsewhere`;
  return `Of its ${all} nearest in the full space, ${kept} among its ${all} nearest on the map${left}.`;
}

function pointCard(ui, point) {
  const near = point.neighbours.filter((one) => one.kept).length;
  const all = point.neighbours.length;
  const [first, ...others] = point.facts;
  const facts = others.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
  return el("section", { class: "t-map-card", "aria-label": "The open point" },
    el("h3", {}, point.text),
    first ? el("p", { class: "t-small t-muted" }, `${first[0]}: ${first[1]}`) : "",
    ...(all ? [el("p", { class: "t-small" }, howKept(near, all)), neighbourTable(ui, point.neighbours)] : []),
    el("details", { class: "t-map-facts" }, el("summary", {}, "Everything known about it"), el("dl", {}, ...facts)),
    el("p", { class: "t-map-acts" }, searchLink(ui, point.text),
      all ? pressable("Select it and its neighbours", () => select(ui, [point.id, ...point.neighbours.map((one) => one.id)], "replace")) : "",
      pressable("Close", () => closePoint(ui))));
}

function placedPointCard(ui, placedPoint) {
  return el("section", { class: "t-map-card", "aria-label": "The sentence placed" },
    el("h3", {}, placedPoint.text),
    el("p", { class: "t-small" }, "Placed, at the cross, where its nearest sentences lie; the map itself did not move for it."),
    neighbourTable(ui, placedPoint.neighbours),
    el("p", { class: "t-map-acts" }, searchLink(ui, placedPoint.text), pressable("Close", () => closePoint(ui))));
}

function neighbourTable(ui, neighbours) {
  const rows = neighbours.map((one) => el("tr", {},
    el("td", {}, pressable(one.text, () => openPoint(ui, one.id))),
    el("td", { class: "t-num" }, cosine(one.cosine)),
    el("td", {}, one.kept === undefined ? "" : one.kept ? "near" : "elsewhere")));
  const heads = ["Nearest in the full space", "Cosine", "Here"];
  return el("div", { class: "t-scroll t-map-rows", tabindex: "0", role: "region", "aria-label": "Nearest in the full space" },
    el("table", { class: "t-table" },
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, ...rows)));
}

// The name by which the selection becomes a label or a data set; why it is refused is said below it.
function naming(ui) {
  const words = el("input", { type: "text", placeholder: "Name", "aria-label": "Name of the selection", maxlength: "100" });
  const refused = el("span", { class: "t-small t-refused", role: "alert" });
  const named = (act) => async () => {
    if (!words.value.trim()) return words.focus();
    refused.textContent = (await act(ui, words.value.trim())) ?? "";
  };
  return el("p", { class: "t-map-acts" }, words, pressable("Label it", named(label)),
    ui.map.value.keeps ? pressable("Make a data set", named(keep)) : "", refused);
}

function chosenCard(ui) {
  const { made } = ui.map;
  const [numbers, all] = [chosenNumbers(ui, MAX_IN_PANEL), sum(ui.map.chosen)];
  const items = el("ol", {});
  const card = el("section", { class: "t-map-card", "aria-label": "Selected" },
    el("h3", {}, `${count(all)} selected`),
    el("p", { class: "t-map-acts" }, ...tables(ui).filter((kind) => !kind.includes(" ")).map((kind) => pressable(kind, () => save(ui, kind))), pressable("Clear", () => clear(ui))),
    naming(ui), made ? el("p", { class: "t-small", role: "status" }, "Made the data set ", el("a", { href: `./data?set=${encodeURIComponent(made)}` }, made), ".") : "",
    el("div", { class: "t-scroll t-map-rows", tabindex: "0", role: "region", "aria-label": "Sentences selected" }, items),
    all > MAX_IN_PANEL ? el("p", { class: "t-small t-muted" }, `The first ${MAX_IN_PANEL}; a CSV has all.`) : "");
  texts(ui, numbers).then((words) => {
    items.replaceChildren(...words.map((text, k) => el("li", {}, pressable(text, () => openPoint(ui, numbers[k])))));
  });
  return card;
}

function decodedCard(ui, decoded) {
  const close = pressable("Close", () => closePoint(ui));
  if (decoded.lacking) {
    const way = decoded.training ? el("a", { href: decoded.training }, "Train a decoder") : "";
    return el("section", { class: "t-map-card", "aria-label": "The place decoded" },
      el("h3", {}, `No decoder for ${decoded.lacking} yet`),
      el("p", {}, "A place can be put into words when the encoder has a decoder; it is trained once, in the background." +
        (way && decoded.time ? ` As an estimate, that takes ${decoded.time}.` : "")),
      el("p", { class: "t-map-acts" }, way, close));
  }
  if (decoded.failure) {
    return el("section", { class: "t-map-card", "aria-label": "The place decoded" },
      el("h3", {}, decoded.failure), el("p", {}, decoded.hint), el("p", { class: "t-map-acts" }, close));
  }
  if (decoded.sentence === undefined) return ""; // on its way
  const rows = decoded.neighbours.map((one) => el("tr", {},
    el("td", {}, pressable(one.text, () => openPoint(ui, one.id))), el("td", { class: "t-num" }, percent(one.weight))));
  const n = decoded.neighbours.length;
  return el("section", { class: "t-map-card", "aria-label": "The place decoded" },
    el("h3", { dir: "auto" }, decoded.sentence || "The decoder says nothing at all."),
    el("p", { class: "t-small" }, `Decoded from the weighted mean of the ${n === 1 ? "nearest point" : `${n} nearest points`}, in all ${decoded.dim} dimensions. ` +
      `Cosine of the sentence to that mean: ${cosine(decoded.cosine)}.`),
    el("div", { class: "t-scroll t-map-rows", tabindex: "0", role: "region", "aria-label": "The points it is decoded from" },
      el("table", { class: "t-table" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Nearest on the map"), el("th", { scope: "col", class: "t-num" }, "Weight"))),
        el("tbody", {}, ...rows))),
    el("p", { class: "t-map-acts" }, decoded.sentence ? searchLink(ui, decoded.sentence) : "", close));
}
