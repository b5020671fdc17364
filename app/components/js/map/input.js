// Pointer, wheel and keys of the map.

import { decodeAt, decodeHere, openPoint } from "./ask.js";
import { colouring, placeOf, seen, texts, valueOf } from "./data.js";
import { el } from "./dom.js";
import { nearestPoint, pointsInside } from "./points.js";
import { passes, undoRedo, update } from "./state.js";
import { tell } from "./status.js";
import { choose, clear, fit, fullScreen, inView, pan, release, select, toggleListing, zoom } from "./tools.js";

const STEP = 0.12;
const CLICK_PX = 4;
const HOVER_PX = 12;

function pointer(ui, event) {
  const box = ui.over.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

const how = (event) => (event.altKey ? "subtract" : event.shiftKey || event.ctrlKey || event.metaKey ? "add" : "replace");

// Whether a drag moves the map.
const pans = (ui) => ui.map.mode === "move" || ui.map.mode === "decode";

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
    else if (ui.map.mode === "lasso") ui.drag.line.push([x, y]);
    else ui.drag.line = [ui.drag.from, [x, ui.drag.from[1]], [x, y], [ui.drag.from[0], y]];
    [ui.drag.x, ui.drag.y] = [x, y];
    if (!pans(ui)) update(ui, { line: ui.drag.line });
  });
  const end = (event) => {
    touches.delete(event.pointerId);
    if (!ui.map || !ui.drag) return;
    const done = ui.drag;
    ui.drag = null;
    if (!done.far) press(ui, done.x, done.y, event);
    else if (done.line) enclose(ui, done.line, how(event));
    update(ui, { line: null });
  };
  ui.over.addEventListener("pointerup", end);
  ui.over.addEventListener("pointercancel", end);
  ui.over.addEventListener("pointerleave", () => { if (ui.map) update(ui, { hovered: -1 }); });
  ui.over.addEventListener("blur", () => { if (ui.map) update(ui, { hovered: -1 }); });
  ui.over.addEventListener("focus", () => { if (ui.map) update(ui, { focus: true }); });
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
  if (ui.map.mode === "decode") return decodeAt(ui, ...seen(ui).toPlane(x, y));
  const found = under(ui, x, y);
  if (found >= 0 && (event.shiftKey || event.altKey)) select(ui, [found], how(event));
  else if (found >= 0) openPoint(ui, found);
  else if (ui.map.mode === "move") clear(ui);
}

function hover(ui, x, y) {
  const found = under(ui, x, y);
  if (found !== ui.map.hovered) update(ui, { hovered: found });
}

// The tip at the point under the pointer or the key.
export async function renderTip(ui) {
  ui.tip.hidden = true;
  const [mine, { hovered }] = [ui.map, ui.map];
  if (hovered < 0) return;
  const [words] = await texts(ui, [hovered]);
  if (ui.map !== mine || mine.hovered !== hovered) return;
  ui.tip.replaceChildren(...tipOf(ui, words, hovered));
  const [x, y] = placeOf(ui, seen(ui), hovered);
  const outside = x < 0 || y < 0 || x > ui.stage.clientWidth || y > ui.stage.clientHeight;
  ui.tip.hidden = outside;
  if (outside) return;
  const left = Math.min(x + 14, ui.stage.clientWidth - ui.tip.offsetWidth - 4);
  const below = y + 18 + ui.tip.offsetHeight <= ui.stage.clientHeight;
  ui.tip.style.left = `${Math.max(4, left)}px`;
  ui.tip.style.top = `${Math.max(4, below ? y + 18 : y - ui.tip.offsetHeight - 10)}px`;
}

function tipOf(ui, words, i) {
  const by = colouring(ui);
  return [el("span", {}, words), by ? el("small", {}, `${by.name}: ${valueOf(by, i)}`) : ""];
}

// From point to point by key: those in view from left to right, row by row.
function walk(ui, step) {
  const view = seen(ui);
  const places = Array.from(inView(ui)).filter((i) => passes(ui, i)).slice(0, 20000).map((i) => [i, ...placeOf(ui, view, i)]);
  if (!places.length) return;
  places.sort((a, b) => Math.floor(a[2] / 24) - Math.floor(b[2] / 24) || a[1] - b[1] || a[0] - b[0]);
  const at = places.findIndex(([i]) => i === ui.map.hovered);
  const next = at < 0 ? (step > 0 ? 0 : places.length - 1) : (at + step + places.length) % places.length;
  const [found, mine] = [places[next][0], ui.map];
  update(ui, { hovered: found });
  texts(ui, [found]).then(([words]) => {
    if (ui.map === mine && mine.hovered === found) tell(ui, tipOf(ui, words, found).map((one) => one.textContent ?? "").join("\n"));
  });
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
    f: () => fullScreen(ui), t: () => toggleListing(ui),
    Enter: () => (ui.map.mode === "decode" ? decodeHere(ui) : ui.map.hovered >= 0 && openPoint(ui, ui.map.hovered)),
    " ": () => ui.map.hovered >= 0 && select(ui, [ui.map.hovered], ui.map.chosen?.[ui.map.hovered] ? "subtract" : "add"),
    "/": () => ui.finder.querySelector("input")?.focus(),
  };
  const act = undo ? () => (event.shiftKey ? undoRedo(ui, ui.future, ui.past) : undoRedo(ui, ui.past, ui.future)) : acts[event.key];
  if (!act || (!undo && (event.ctrlKey || event.metaKey || event.altKey))) return;
  event.preventDefault();
  act();
}
