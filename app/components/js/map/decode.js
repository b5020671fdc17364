// A place of the map in words: what the decoder says of it, through its nearest points.
//

import { syncUrl } from "./address.js";
import { request } from "./data.js";
import { el, pressable, token } from "./dom.js";
import { busy, say } from "./draw.js";
import { annotate, placeOf, ring } from "./overlay.js";
import { closePoint, openPoint, renderPanel, searchLink, uncover } from "./panel.js";

const CROSS = 9;

// Under the key: the point that is gone to, else the middle of what is seen.
export function decodeHere(ui) {
  if (!ui.map.value.decoding) return;
  if (ui.hovered >= 0) decodeAt(ui, ui.map.xy[2 * ui.hovered], ui.map.xy[2 * ui.hovered + 1]);
  else decodeAt(ui, ui.map.view.x, ui.map.view.y);
}

export async function decodeAt(ui, x, y) {
  const mine = ui.map;
  const ticket = (mine.asking = (mine.asking ?? 0) + 1);
  mine.decoded = { x, y };
  [mine.point, mine.placedPoint] = [null, null];
  annotate(ui);
  busy(ui, "Decoding that place; a decoder that is not loaded yet takes some seconds");
  try {
    const decoded = await (await request(ui, `decode?x=${x}&y=${y}`)).json();
    if (ui.map !== mine || mine.asking !== ticket || !mine.decoded) return; // another place meanwhile
    mine.decoded = decoded;
    say(ui);
    annotate(ui);
    renderPanel(ui);
    uncover(ui, x, y);
    syncUrl(ui);
    ui.status.textContent += ` ${decoded.failure ?? (decoded.lacking ? `There is no decoder for ${decoded.lacking} yet.` : `Decoded: ${decoded.sentence}`)}`;
  } catch (error) {
    if (ui.map === mine && mine.asking === ticket) ui.status.textContent = error.message;
  }
}

export function readPlace(text) {
  const place = String(text || "").split(",").map(Number);
  return place.length === 2 && place.every(Number.isFinite) ? place : null;
}

export const formatPlace = ({ x, y }) => [x, y].map((v) => Number(v.toPrecision(7))).join(",");

export function decodedCard(ui, decoded) {
  const close = pressable("Close", () => closePoint(ui));
  if (decoded.lacking) {
    const way = ui.map.value.training
      ? el("a", { href: `${ui.map.value.training}?encoder=${encodeURIComponent(decoded.lacking)}` }, "Train a decoder") : "";
    return el("section", { class: "t-map-card", "aria-label": "The place decoded" },
      el("h3", {}, `No decoder for ${decoded.lacking} yet`),
      el("p", {}, "A place can be put into words when the encoder has a decoder; it is trained once, in the background." +
        (way && decoded.time ? ` That takes ${decoded.time}, as far as can be told beforehand.` : "")),
      el("p", { class: "t-map-acts" }, way, close));
  }
  if (decoded.failure) {
    return el("section", { class: "t-map-card", "aria-label": "The place decoded" },
      el("h3", {}, decoded.failure), el("p", {}, decoded.hint), el("p", { class: "t-map-acts" }, close));
  }
  if (decoded.sentence === undefined) return ""; // on its way
  const rows = decoded.neighbours.map((one) => el("tr", {},
    el("td", {}, pressable(one.text, () => openPoint(ui, one.id))), el("td", { class: "t-num" }, `${(100 * one.weight).toFixed(1)} %`)));
  const n = decoded.neighbours.length;
  return el("section", { class: "t-map-card", "aria-label": "The place decoded" },
    el("h3", { dir: "auto" }, decoded.sentence || "The decoder says nothing at all."),
    el("p", { class: "t-small" }, `Decoded from the weighted mean of the ${n === 1 ? "nearest point" : `${n} nearest points`}, in all ${decoded.dim} dimensions. ` +
      `Cosine of the sentence to that mean: ${decoded.cosine.toFixed(3).replace("-", "−")}.`),
    el("div", { class: "t-scroll t-map-rows", tabindex: "0", role: "region", "aria-label": "The points that have a say" },
      el("table", { class: "t-table" },
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Nearest on the map"), el("th", { scope: "col", class: "t-num" }, "Weight"))),
        el("tbody", {}, ...rows))),
    el("p", { class: "t-map-acts" }, decoded.sentence ? searchLink(ui, decoded.sentence) ?? "" : "", close));
}

// The place, with lines to the points that have a say, wider for those with more.
export function decodedMark(ui, context, view) {
  const at = view.toScreen(ui.map.decoded.x, ui.map.decoded.y);
  for (const { id, weight } of ui.map.decoded.neighbours ?? []) {
    context.strokeStyle = token("accent");
    context.lineWidth = 0.5 + 4 * weight;
    context.beginPath();
    context.moveTo(...at);
    context.lineTo(...placeOf(ui, view, id));
    context.stroke();
    ring(context, placeOf(ui, view, id), 5, "accent", 1.5);
  }
  cross(context, at, "ink", 2.5);
}

// Where the key would decode, while it is of use to somebody at the keyboard.
export function sight(ui, context, view) {
  if (ui.mode !== "decode" || ui.hovered >= 0 || !ui.over.matches(":focus-visible")) return;
  cross(context, [view.width / 2, view.height / 2], "muted", 1.5);
}

function cross(context, [x, y], colour, width) {
  for (const [style, wide] of [["surface", width + 2], [colour, width]]) {
    context.strokeStyle = token(style);
    context.lineWidth = wide;
    context.beginPath();
    for (const [dx, dy] of [[CROSS, 0], [0, CROSS]]) {
      context.moveTo(x - dx, y - dy);
      context.lineTo(x + dx, y + dy);
    }
    context.stroke();
  }
}
