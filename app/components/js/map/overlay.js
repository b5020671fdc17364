// What lies over the cloud and is drawn without redrawing it: names of regions, the line being drawn,
// the ring around a point, its neighbours.

import { placeOf, seen } from "./data.js";
import { ratio, token } from "./dom.js";
import { placeLabels } from "./view.js";

const CROSS = 9;

export function annotate(ui) {
  const context = ui.over.getContext("2d");
  const view = seen(ui);
  context.setTransform(ratio(), 0, 0, ratio(), 0, 0);
  context.clearRect(0, 0, view.width, view.height);
  regionNames(ui, context, view);
  if (ui.map.point) neighbourLines(ui, context, view);
  if (ui.map.placedPoint) placedPointMark(ui, context, view);
  if (ui.map.decoded) decodedMark(ui, context, view);
  sight(ui, context, view);
  if (ui.drag?.line?.length) handDrawn(context, ui.drag.line);
  if (ui.map.hovered >= 0) ring(context, placeOf(ui, view, ui.map.hovered), 7, "ink", 2);
}

function ring(context, [x, y], radius, colour, width) {
  context.strokeStyle = token("surface");
  context.lineWidth = width + 2;
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.stroke();
  context.strokeStyle = token(colour);
  context.lineWidth = width;
  context.stroke();
}

function handDrawn(context, line) {
  context.strokeStyle = token("accent");
  context.lineWidth = 1.5;
  context.beginPath();
  line.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.stroke();
  context.globalAlpha = 0.08;
  context.fillStyle = token("accent");
  context.fill();
  context.globalAlpha = 1;
}

// To the true neighbours of the open point: drawn through where they are near on the map too, dashed
// where the map put them elsewhere.
function neighbourLines(ui, context, view) {
  const { id, neighbours } = ui.map.point;
  const from = placeOf(ui, view, id);
  for (const { id: other, kept } of neighbours) {
    const to = placeOf(ui, view, other);
    context.setLineDash(kept ? [] : [5, 4]);
    context.strokeStyle = token(kept ? "accent" : "brass");
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
    context.setLineDash([]);
    ring(context, to, 5, kept ? "accent" : "brass", 1.5);
  }
  ring(context, from, 8, "ink", 2.5);
}

// A sentence that was placed afterwards.
function placedPointMark(ui, context, view) {
  const [x, y] = view.toScreen(ui.map.placedPoint.x, ui.map.placedPoint.y);
  context.strokeStyle = token("bad");
  context.lineWidth = 2.5;
  context.beginPath();
  for (const [dx, dy] of [[8, 0], [0, 8]]) {
    context.moveTo(x - dx, y - dy);
    context.lineTo(x + dx, y + dy);
  }
  context.stroke();
  ring(context, [x, y], 11, "bad", 1.5);
}

// The place, with lines to the points that have a say, wider for those with more.
function decodedMark(ui, context, view) {
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
function sight(ui, context, view) {
  if (ui.map.mode !== "decode" || ui.map.hovered >= 0 || !ui.over.matches(":focus-visible")) return;
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

const LABEL_FONT = "600 13px 'IBM Plex Sans', sans-serif";

// The names to be seen: of the finest level that this zoom calls for, without overlaps.
export function namesInView(ui, context, view) {
  const regions = ui.map.value.regions ?? [];
  const level = Math.max(0, Math.floor(-Math.log2(ui.map.view.span / 1.08) + 0.25));
  const levels = [...new Set(regions.map((r) => r.level))].sort((a, b) => a - b);
  const wanted = levels.filter((l) => l <= level).pop() ?? levels[0];
  context.font = LABEL_FONT;
  return placeLabels(regions.filter((r) => r.level === wanted), view, (text) => context.measureText(text).width);
}

function regionNames(ui, context, view) {
  if (!ui.map.names) return;
  const names = namesInView(ui, context, view);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = token("surface");
  context.fillStyle = token("ink");
  for (const { text, x, y } of names) {
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
}
