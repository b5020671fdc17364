// Drawing the map and saying what is on it.

import { syncUrl } from "./address.js";
import { labelColours, paint, rampColour, rgb } from "./colours.js";
import { passes, seen, texts } from "./data.js";
import { count, el, isDark, ratio, sum } from "./dom.js";
import { broadcast } from "./link.js";
import { annotate } from "./overlay.js";
import { openPoint } from "./panel.js";
import { MAX_MOVING_POINTS } from "./scene.js";
import { inView } from "./tools.js";
import { formatView } from "./view.js";

export const SETTLE_MS = 140;
const MAX_LISTED = 50;

// Gives both canvases the size of the stage, which empties them; false when they had it.
export function sized(ui) {
  const width = Math.max(1, Math.round(ui.stage.clientWidth * ratio()));
  const height = Math.max(1, Math.round(ui.stage.clientHeight * ratio()));
  const changed = [ui.stage.firstChild, ui.over].filter((canvas) => canvas.width !== width || canvas.height !== height);
  for (const canvas of changed) [canvas.width, canvas.height] = [width, height];
  return changed.length > 0;
}

export function resize(ui) {
  if (ui.map?.scene && sized(ui)) draw(ui);
}

// While the view moves only a sample is drawn; all of it once it rests.
export function draw(ui, moving = false) {
  if (!ui.map || !ui.stage.clientWidth || !ui.stage.clientHeight) return;
  ui.map.scene.draw(seen(ui), moving && ui.map.n > MAX_MOVING_POINTS);
  annotate(ui);
  if (!moving) return;
  clearTimeout(ui.settling);
  ui.settling = setTimeout(() => onRest(ui), SETTLE_MS);
  broadcast(ui, { view: { ...ui.map.view, share: ui.map.view.span * ui.map.view.size } });
}

function onRest(ui) {
  draw(ui);
  list(ui);
  ui.trigger("view", { view: formatView(ui.map.view) });
  syncUrl(ui);
}

// The same for every map; of one that is hidden and shown again Gradio forgets all but its value.
let palette;

export function repaint(ui) {
  palette = ui.props.palette ?? palette;
  const { columns, colour, rgba, n, chosen, found } = ui.map;
  const by = colour === null ? null : columns[colour];
  const colours =
    by?.kind === "label" ? labelColours(by.labels.length, palette, isDark())
    : by ? Array.from({ length: 256 }, (_, i) => rampColour(i / 255)) : [];
  ui.map.shades = colours;
  const lit = chosen && found ? chosen.map((one, i) => one | found[i]) : chosen ?? found;
  paint(rgba, n, by, colours, rgb(palette[0]), ui.map.allowed, lit, ui.map.crowd);
  ui.map.scene.colours(rgba);
  draw(ui);
  syncUrl(ui);
  say(ui);
}

// What takes a while, with a bar; the next word on the line ends it.
export function busy(ui, text) {
  ui.status.replaceChildren(`${text}…`, el("span", { class: "t-bar t-unknown", role: "progressbar", "aria-label": text }, el("i", {})));
}

export function say(ui) {
  const chosen = ui.map.chosen ? sum(ui.map.chosen) : 0;
  const shown = ui.map.allowed ? sum(ui.map.allowed) : ui.map.n;
  ui.status.textContent = [
    `${count(ui.map.n)} point${ui.map.n === 1 ? "" : "s"}`,
    shown < ui.map.n ? `${count(ui.map.n - shown)} filtered away, kept in grey` : "",
    ui.map.found ? `${count(sum(ui.map.found))} found` : "",
    chosen ? `${count(chosen)} selected` : "",
    ui.map.unwritten ? `${ui.map.unwritten} too large to fit in the link` : "",
    ui.map.scene.kind === "canvas" && ui.map.scene.drawn < ui.map.n
      ? `no WebGL here: a sample of ${count(ui.map.scene.drawn)} is drawn, selecting counts all` : "",
  ].filter(Boolean).join(", ") + ".";
}

export const valueOf = (ui, by, i) =>
  by.kind === "label" ? by.labels[by.values[i]] ?? "–" : Number.isNaN(by.values[i]) ? "not measured" : by.values[i].toPrecision(3);

// What is in view, for those who read instead of look.
export async function list(ui) {
  if (ui.listing.hidden || !ui.map) return;
  const kept = Array.from(inView(ui)).filter((i) => passes(ui, i));
  const first = (ui.map.chosen ? kept.filter((i) => ui.map.chosen[i]) : kept).slice(0, MAX_LISTED);
  const words = await texts(ui, first);
  const by = ui.map.colour === null ? null : ui.map.columns[ui.map.colour];
  const rows = first.map((i, k) => {
    const button = el("button", { type: "button", class: "t-link" }, words[k]);
    button.addEventListener("click", () => openPoint(ui, i));
    return el("tr", {}, el("td", {}, button), by ? el("td", {}, valueOf(ui, by, i)) : null);
  });
  const head = el("tr", {}, el("th", { scope: "col" }, "Sentence"), by ? el("th", { scope: "col" }, by.name) : null);
  ui.listed.replaceChildren(
    el("p", { class: "t-small t-muted" }, `${count(first.length)} of ${count(kept.length)} in view${ui.map.chosen ? ", selected ones only" : ""}.`),
    el("table", { class: "t-table" }, el("thead", {}, head), el("tbody", {}, ...rows)));
}

