// Pointer, wheel and keys of the map.

import { fullScreen, table } from "./bar.js";
import { passes, seen, texts } from "./data.js";
import { decodeAt, decodeHere } from "./decode.js";
import { el } from "./dom.js";
import { valueOf } from "./draw.js";
import { broadcast } from "./link.js";
import { annotate, placeOf } from "./overlay.js";
import { openPoint } from "./panel.js";
import { nearestPoint, pointsInside } from "./points.js";
import { choose, clear, fit, inView, pan, release, select, undoRedo, zoom } from "./tools.js";

const STEP = 0.12;
const CLICK_PX = 4;
const HOVER_PX = 12;

function pointer(ui, event) {
  const box = ui.over.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

const how = (event) => (event.altKey ? "subtract" : event.shiftKey || event.ctrlKey || event.metaKey ? "add" : "replace");

// Whether a drag moves the map.
const pans = (ui) => ui.mode === "move" || ui.mode === "decode";

export function listen(ui) {
  const touches = new Map(); // two fingers zoom
  ui.over.addEventListener("pointerdown", (event) => {
    if (!ui.map) return;
    ui.over.setPointerCapture(event.pointerId);
    const [x, y] = pointer(ui, event);
    touches.set(event.pointerId, [x, y]);
    ui.drag = { x, y, from: [x, y], line: pans(ui) ? null : [[x, y]], far: false };
  });
  ui.over.addEventListener("pointermove", (event) => {
    if (!ui.map) return;
    const [x, y] = pointer(ui, event);
    if (touches.size === 2 && touches.has(event.pointerId)) return pinch(ui, touches, event.pointerId, x, y);
    if (!ui.drag) return hover(ui, x, y);
    ui.drag.far ||= Math.hypot(x - ui.drag.from[0], y - ui.drag.from[1]) > CLICK_PX;
    if (pans(ui)) pan(ui, x - ui.drag.x, y - ui.drag.y);
    else if (ui.mode === "lasso") ui.drag.line.push([x, y]);
    else ui.drag.line = [ui.drag.from, [x, ui.drag.from[1]], [x, y], [ui.drag.from[0], y]];
    [ui.drag.x, ui.drag.y] = [x, y];
    if (!pans(ui)) annotate(ui);
  });
  const end = (event) => {
    touches.delete(event.pointerId);
    if (!ui.map || !ui.drag) return;
    const done = ui.drag;
    ui.drag = null;
    if (!done.far) press(ui, done.x, done.y, event);
    else if (done.line) enclose(ui, done.line, how(event));
    annotate(ui);
  };
  ui.over.addEventListener("pointerup", end);
  ui.over.addEventListener("pointercancel", end);
  ui.over.addEventListener("pointerleave", () => { if (ui.map) hoverOn(ui, -1); });
  ui.over.addEventListener("blur", () => { if (ui.map) hoverOn(ui, -1); });
  ui.over.addEventListener("focus", () => { if (ui.map) annotate(ui); });
  ui.over.addEventListener("wheel", (event) => {
    if (!ui.map) return;
    event.preventDefault();
    zoom(ui, Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 200), ...pointer(ui, event));
  }, { passive: false });
  ui.over.addEventListener("dblclick", (event) => ui.map && zoom(ui, 0.5, ...pointer(ui, event)));
  ui.over.addEventListener("keydown", (event) => key(ui, event));
}

function pinch(ui, touches, id, x, y) {
  const [a, b] = [...touches.keys()];
  const other = touches.get(id === a ? b : a);
  const before = touches.get(id);
  const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
  zoom(ui, apart(before) / apart([x, y]), (x + other[0]) / 2, (y + other[1]) / 2);
  touches.set(id, [x, y]);
  ui.drag = null;
}

function enclose(ui, line, manner) {
  const view = seen(ui);
  select(ui, pointsInside(ui.map.grid, line.map(([x, y]) => view.toPlane(x, y))), manner);
}

function under(ui, x, y) {
  const view = seen(ui);
  const [px, py] = view.toPlane(x, y);
  return nearestPoint(ui.map.grid, px, py, HOVER_PX / view.unit, (i) => passes(ui, i));
}

function press(ui, x, y, event) {
  if (ui.mode === "decode") return decodeAt(ui, ...seen(ui).toPlane(x, y));
  const found = under(ui, x, y);
  if (found >= 0 && (event.shiftKey || event.altKey)) select(ui, [found], how(event));
  else if (found >= 0) openPoint(ui, found);
  else if (ui.mode === "move") clear(ui);
}

function hover(ui, x, y) {
  const found = under(ui, x, y);
  if (found !== ui.hovered) hoverOn(ui, found);
}

// A ring and a tip at a point; -1 for none. The other map shows the same.
export async function hoverOn(ui, found, own = true) {
  ui.hovered = found;
  annotate(ui);
  if (own) broadcast(ui, { hovered: ui.hovered });
  ui.tip.hidden = true;
  if (found < 0) return;
  const mine = ui.map;
  const [words] = await texts(ui, [found]);
  if (ui.hovered !== found || ui.map !== mine) return;
  const by = ui.map.colour === null ? null : ui.map.columns[ui.map.colour];
  ui.tip.replaceChildren(el("span", {}, words), by ? el("small", {}, `${by.name}: ${valueOf(ui, by, found)}`) : "");
  const [x, y] = placeOf(ui, seen(ui), found);
  const outside = x < 0 || y < 0 || x > ui.stage.clientWidth || y > ui.stage.clientHeight;
  ui.tip.hidden = outside;
  if (outside) return;
  const left = Math.min(x + 14, ui.stage.clientWidth - ui.tip.offsetWidth - 4);
  const below = y + 18 + ui.tip.offsetHeight <= ui.stage.clientHeight;
  ui.tip.style.left = `${Math.max(4, left)}px`;
  ui.tip.style.top = `${Math.max(4, below ? y + 18 : y - ui.tip.offsetHeight - 10)}px`;
}

// From point to point by key: those in view from left to right, row by row.
function walk(ui, step) {
  const view = seen(ui);
  const places = Array.from(inView(ui)).filter((i) => passes(ui, i)).slice(0, 20000).map((i) => [i, ...placeOf(ui, view, i)]);
  if (!places.length) return;
  places.sort((a, b) => Math.floor(a[2] / 24) - Math.floor(b[2] / 24) || a[1] - b[1] || a[0] - b[0]);
  const at = places.findIndex(([i]) => i === ui.hovered);
  const next = at < 0 ? (step > 0 ? 0 : places.length - 1) : (at + step + places.length) % places.length;
  hoverOn(ui, places[next][0]).then(() => { if (!ui.tip.hidden) ui.status.textContent = ui.tip.innerText; });
}

function key(ui, event) {
  if (!ui.map) return;
  const step = (dx, dy) => () => pan(ui, dx * STEP * ui.stage.clientWidth, dy * STEP * ui.stage.clientHeight);
  const undo = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
  const acts = {
    ArrowLeft: step(1, 0), ArrowRight: step(-1, 0), ArrowUp: step(0, 1), ArrowDown: step(0, -1),
    "+": () => zoom(ui, 0.6), "=": () => zoom(ui, 0.6), "-": () => zoom(ui, 1 / 0.6), 0: () => fit(ui), Escape: () => release(ui),
    v: () => select(ui, inView(ui), "replace"), V: () => select(ui, inView(ui), "add"),
    l: () => choose(ui, "lasso"), m: () => choose(ui, "move"), r: () => choose(ui, "rectangle"),
    n: () => walk(ui, 1), N: () => walk(ui, -1),
    d: () => decodeHere(ui),
    f: () => fullScreen(ui), t: () => table(ui),
    Enter: () => (ui.mode === "decode" ? decodeHere(ui) : ui.hovered >= 0 && openPoint(ui, ui.hovered)),
    " ": () => ui.hovered >= 0 && select(ui, [ui.hovered], ui.map.chosen?.[ui.hovered] ? "subtract" : "add"),
    "/": () => ui.finder.querySelector("input")?.focus(),
  };
  const act = undo ? () => (event.shiftKey ? undoRedo(ui, ui.future, ui.past) : undoRedo(ui, ui.past, ui.future)) : acts[event.key];
  if (!act || (!undo && (event.ctrlKey || event.metaKey || event.altKey))) return;
  event.preventDefault();
  act();
}
