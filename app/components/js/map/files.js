// What can be taken away from the map as a file.

import { placeOf, seen } from "./data.js";
import { el, token } from "./dom.js";
import { namesInView } from "./overlay.js";
import { layerOf, markLook, pointLook } from "./scene.js";
import { passes } from "./state.js";
import { tableOf } from "./staticSource.js";
import { tell } from "./status.js";
import { chosenNumbers, inView } from "./tools.js";

const SVG_POINTS = 50000;
const TABLES = { CSV: "table.csv", "CSV for spreadsheets": "spreadsheet.csv", Parquet: "table.parquet" };

// The kinds of tables that can be had: where nobody serves the map, those that a browser can write.
export const tables = (ui) => Object.keys(TABLES).filter((kind) => !ui.map.value.parts || kind !== "Parquet");

export async function save(ui, kind) {
  const name = ui.map.value.name;
  if (kind === "PNG") return file(`${name}.png`, await new Promise((done) => picture(ui).toBlob(done)));
  if (kind === "SVG") return file(`${name}.svg`, new Blob([drawing(ui)], { type: "image/svg+xml" }));
  const table = TABLES[kind];
  const numbers = ui.map.chosen ? chosenNumbers(ui) : Array.from(inView(ui)).filter((i) => passes(ui, i)).sort((a, b) => a - b);
  if (ui.map.value.parts) return file(`${name}.csv`, new Blob([await tableOf(ui, numbers, kind !== "CSV")], { type: "text/csv" }));
  const { own } = ui.map.columns; // labels given here, which the server does not know
  const places = own ? numbers.map((i) => own.values[i]) : [];
  const answer = await fetch(`${ui.map.value.url}/${table}?${new URLSearchParams(own?.labels.map((one) => ["own", one]))}`, {
    method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: Uint32Array.from(numbers.concat(places)),
  });
  if (!answer.ok) return tell(ui, "The table could not be made.");
  return file(`${name}.${table.split(".")[1]}`, await answer.blob());
}

function file(name, blob) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// The cloud and what lies over it, on paper.
function picture(ui) {
  const whole = el("canvas", { width: ui.over.width, height: ui.over.height });
  const context = whole.getContext("2d");
  context.fillStyle = token("surface");
  context.fillRect(0, 0, whole.width, whole.height);
  ui.map.scene.draw(seen(ui), false, true);
  context.drawImage(ui.stage.firstChild, 0, 0);
  context.drawImage(ui.over, 0, 0);
  return whole;
}

const escapedText = (text) =>
  text.replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

// Circles and texts while they are few enough for other programs; otherwise the picture.
function drawing(ui) {
  const view = seen(ui);
  const inside = Array.from(inView(ui));
  const frame = `width="${view.width}" height="${view.height}"`;
  const few = inside.length <= SVG_POINTS;
  const body = few ? circles(ui, view, inside) + writtenNames(ui, view) : `<image ${frame} href="${picture(ui).toDataURL()}"/>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${frame} role="img" aria-label="${escapedText(ui.map.value.label)}">` +
    `<rect width="100%" height="100%" fill="${token("surface")}"/>${body}</svg>`;
}

function circles(ui, view, numbers) {
  const look = pointLook(ui.map.n, view);
  const { rgba } = ui.map;
  numbers.sort((a, b) => layerOf(rgba[4 * a + 3]) - layerOf(rgba[4 * b + 3]));
  return numbers.map((i) => {
    const [x, y] = placeOf(ui, view, i);
    const mark = markLook(look, rgba[4 * i + 3]);
    return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${(mark.size / 2).toFixed(2)}" ` +
      `fill="rgb(${rgba.subarray(4 * i, 4 * i + 3).join(" ")})" fill-opacity="${mark.opacity.toFixed(2)}"/>`;
  }).join("");
}

function writtenNames(ui, view) {
  if (!ui.map.names) return "";
  const style = `font-family="IBM Plex Sans, sans-serif" font-size="13" font-weight="600" text-anchor="middle" ` +
    `dominant-baseline="central" paint-order="stroke" stroke="${token("surface")}" stroke-width="4" fill="${token("ink")}"`;
  const names = namesInView(ui, ui.over.getContext("2d"), view);
  return names.map(({ text, x, y }) => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${style}>${escapedText(text)}</text>`).join("");
}
