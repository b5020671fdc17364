// Pointer, wheel and keys of the map. Function declarations only: map.js holds the state.

const CLICK_PX = 4;
const HOVER_PX = 12;

function pointer(event) {
  const box = over.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

const how = (event) => (event.altKey ? "subtract" : event.shiftKey || event.ctrlKey || event.metaKey ? "add" : "replace");

// Whether a drag moves the map.
const pans = () => mode === "move" || mode === "decode";

function listen() {
  const touches = new Map(); // two fingers zoom
  over.addEventListener("pointerdown", (event) => {
    if (!map) return;
    over.setPointerCapture(event.pointerId);
    const [x, y] = pointer(event);
    touches.set(event.pointerId, [x, y]);
    drag = { x, y, from: [x, y], line: pans() ? null : [[x, y]], far: false };
  });
  over.addEventListener("pointermove", (event) => {
    if (!map) return;
    const [x, y] = pointer(event);
    if (touches.size === 2 && touches.has(event.pointerId)) return pinch(touches, event.pointerId, x, y);
    if (!drag) return hover(x, y);
    drag.far ||= Math.hypot(x - drag.from[0], y - drag.from[1]) > CLICK_PX;
    if (pans()) pan(x - drag.x, y - drag.y);
    else if (mode === "lasso") drag.line.push([x, y]);
    else drag.line = [drag.from, [x, drag.from[1]], [x, y], [drag.from[0], y]];
    [drag.x, drag.y] = [x, y];
    if (!pans()) annotate();
  });
  const end = (event) => {
    touches.delete(event.pointerId);
    if (!map || !drag) return;
    const done = drag;
    drag = null;
    if (!done.far) press(done.x, done.y, event);
    else if (done.line) enclose(done.line, how(event));
    annotate();
  };
  over.addEventListener("pointerup", end);
  over.addEventListener("pointercancel", end);
  over.addEventListener("pointerleave", () => { if (map) hoverOn(-1); });
  over.addEventListener("blur", () => { if (map) hoverOn(-1); });
  over.addEventListener("focus", () => { if (map) annotate(); });
  over.addEventListener("wheel", (event) => {
    if (!map) return;
    event.preventDefault();
    zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 200), ...pointer(event));
  }, { passive: false });
  over.addEventListener("dblclick", (event) => map && zoom(0.5, ...pointer(event)));
  over.addEventListener("keydown", key);
}

function pinch(touches, id, x, y) {
  const [a, b] = [...touches.keys()];
  const other = touches.get(id === a ? b : a);
  const before = touches.get(id);
  const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
  zoom(apart(before) / apart([x, y]), (x + other[0]) / 2, (y + other[1]) / 2);
  touches.set(id, [x, y]);
  drag = null;
}

function enclose(line, manner) {
  const view = seen();
  select(pointsInside(map.grid, line.map(([x, y]) => view.toPlane(x, y))), manner);
}

function under(x, y) {
  const view = seen();
  const [px, py] = view.toPlane(x, y);
  return nearestPoint(map.grid, px, py, HOVER_PX / view.unit, passes);
}

function press(x, y, event) {
  if (mode === "decode") return decodeAt(...seen().toPlane(x, y));
  const found = under(x, y);
  if (found >= 0 && (event.shiftKey || event.altKey)) select([found], how(event));
  else if (found >= 0) openPoint(found);
  else if (mode === "move") clear();
}

function hover(x, y) {
  const found = under(x, y);
  if (found !== hovered) hoverOn(found);
}

// A ring and a tip at a point; -1 for none. The other map shows the same.
async function hoverOn(found, own = true) {
  hovered = found;
  annotate();
  if (own) tellOthers({ hovered });
  tip.hidden = true;
  if (found < 0) return;
  const mine = map;
  const [words] = await texts([found]);
  if (hovered !== found || map !== mine) return;
  const by = map.colour === null ? null : map.columns[map.colour];
  tip.replaceChildren(el("span", {}, words), by ? el("small", {}, `${by.name}: ${valueOf(by, found)}`) : "");
  const [x, y] = placeOf(seen(), found);
  const outside = x < 0 || y < 0 || x > stage.clientWidth || y > stage.clientHeight;
  tip.hidden = outside;
  if (outside) return;
  const left = Math.min(x + 14, stage.clientWidth - tip.offsetWidth - 4);
  const below = y + 18 + tip.offsetHeight <= stage.clientHeight;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, below ? y + 18 : y - tip.offsetHeight - 10)}px`;
}

// From point to point by key: those in view from left to right, row by row.
function walk(step) {
  const view = seen();
  const places = Array.from(inView()).filter(passes).slice(0, 20000).map((i) => [i, ...placeOf(view, i)]);
  if (!places.length) return;
  places.sort((a, b) => Math.floor(a[2] / 24) - Math.floor(b[2] / 24) || a[1] - b[1] || a[0] - b[0]);
  const at = places.findIndex(([i]) => i === hovered);
  const next = at < 0 ? (step > 0 ? 0 : places.length - 1) : (at + step + places.length) % places.length;
  hoverOn(places[next][0]).then(() => { if (!tip.hidden) status.textContent = tip.innerText; });
}

function key(event) {
  if (!map) return;
  const step = (dx, dy) => () => pan(dx * STEP * stage.clientWidth, dy * STEP * stage.clientHeight);
  const undo = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
  const acts = {
    ArrowLeft: step(1, 0), ArrowRight: step(-1, 0), ArrowUp: step(0, 1), ArrowDown: step(0, -1),
    "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: fit, Escape: release,
    v: () => select(inView(), "replace"), V: () => select(inView(), "add"),
    l: () => choose("lasso"), m: () => choose("move"), r: () => choose("rectangle"),
    n: () => walk(1), N: () => walk(-1),
    d: decodeHere,
    Enter: () => (mode === "decode" ? decodeHere() : hovered >= 0 && openPoint(hovered)),
    " ": () => hovered >= 0 && select([hovered], map.chosen?.[hovered] ? "subtract" : "add"),
    "/": () => finder.querySelector("input")?.focus(),
  };
  const act = undo ? () => (event.shiftKey ? travel(future, past) : travel(past, future)) : acts[event.key];
  if (!act || (!undo && (event.ctrlKey || event.metaKey || event.altKey))) return;
  event.preventDefault();
  act();
}
