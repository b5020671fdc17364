// Pointer, wheel and keys of the map, and what it saves as a file. Function declarations only.

const CLICK_PX = 4;
const HOVER_PX = 12;
const SVG_POINTS = 50000;

function pointer(event) {
  const box = over.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

const how = (event) => (event.altKey ? "subtract" : event.shiftKey || event.ctrlKey || event.metaKey ? "add" : "replace");

function listen() {
  const touches = new Map(); // two fingers zoom
  over.addEventListener("pointerdown", (event) => {
    if (!map) return;
    over.setPointerCapture(event.pointerId);
    const [x, y] = pointer(event);
    touches.set(event.pointerId, [x, y]);
    drag = { x, y, from: [x, y], line: mode === "move" ? null : [[x, y]], far: false };
  });
  over.addEventListener("pointermove", (event) => {
    if (!map) return;
    const [x, y] = pointer(event);
    if (touches.size === 2 && touches.has(event.pointerId)) return pinch(touches, event.pointerId, x, y);
    if (!drag) return hover(x, y);
    drag.far ||= Math.hypot(x - drag.from[0], y - drag.from[1]) > CLICK_PX;
    if (mode === "move") pan(x - drag.x, y - drag.y);
    else if (mode === "lasso") drag.line.push([x, y]);
    else drag.line = [drag.from, [x, drag.from[1]], [x, y], [drag.from[0], y]];
    [drag.x, drag.y] = [x, y];
    if (mode !== "move") annotate();
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
  over.addEventListener("pointerleave", () => { hovered = -1; tip.hidden = true; if (map) annotate(); });
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
  return nearestPoint(map.grid, px, py, HOVER_PX / view.unit, (i) => !map.allowed || map.allowed[i] === 1);
}

function press(x, y, event) {
  const found = under(x, y);
  if (found >= 0 && (event.shiftKey || event.altKey)) select([found], how(event));
  else if (found >= 0) trigger("click", { id: found });
  else if (mode === "move") clear();
}

async function hover(x, y) {
  const found = under(x, y);
  if (found === hovered) return;
  hovered = found;
  annotate();
  tip.hidden = true;
  if (found < 0) return;
  const [words] = await texts([found]);
  if (hovered !== found) return;
  const by = map.colour === null ? null : map.columns[map.colour];
  const about = by ? `${by.name}: ${by.kind === "label" ? by.labels[by.values[found]] ?? "–" : by.values[found].toPrecision(4)}` : "";
  tip.replaceChildren(el("span", {}, words), about ? el("small", {}, about) : "");
  tip.hidden = false;
  const left = Math.min(x + 14, stage.clientWidth - tip.offsetWidth - 4);
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${y + 18 + tip.offsetHeight > stage.clientHeight ? y - tip.offsetHeight - 10 : y + 18}px`;
}

function key(event) {
  if (!map) return;
  const step = (dx, dy) => () => pan(dx * STEP * stage.clientWidth, dy * STEP * stage.clientHeight);
  const undo = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
  const acts = {
    ArrowLeft: step(1, 0), ArrowRight: step(-1, 0), ArrowUp: step(0, 1), ArrowDown: step(0, -1),
    "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: fit, Escape: clear,
    v: () => select(inView(), "replace"), V: () => select(inView(), "add"),
    l: () => choose("lasso"), m: () => choose("move"), r: () => choose("rectangle"),
  };
  const act = undo ? () => (event.shiftKey ? travel(future, past) : travel(past, future)) : acts[event.key];
  if (!act || (!undo && (event.ctrlKey || event.metaKey || event.altKey))) return;
  event.preventDefault();
  act();
}

// Files -------------------------------------------------------------------------------------

async function save(kind) {
  const name = map.value.name;
  if (kind === "PNG") return file(`${name}.png`, await new Promise((done) => picture().toBlob(done)));
  if (kind === "SVG") return file(`${name}.svg`, new Blob([drawing()], { type: "image/svg+xml" }));
  const numbers = map.chosen ? chosenNumbers() : Array.from(inView()).filter((i) => !map.allowed || map.allowed[i]);
  if (kind === "CSV" || kind === "Parquet") {
    const answer = await fetch(`${map.value.url}/table.${kind.toLowerCase()}`, {
      method: "POST", headers: { "Content-Type": "application/octet-stream" }, body: Uint32Array.from(numbers),
    });
    if (!answer.ok) { status.textContent = "The table could not be made."; return; }
    file(`${name}.${kind.toLowerCase()}`, await answer.blob());
  }
}

function file(name, blob) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// The cloud and what lies over it, on paper.
function picture() {
  const whole = el("canvas", { width: over.width, height: over.height });
  const context = whole.getContext("2d");
  context.fillStyle = token("surface");
  context.fillRect(0, 0, whole.width, whole.height);
  map.scene.draw(seen(), false);
  context.drawImage(stage.firstChild, 0, 0);
  context.drawImage(over, 0, 0);
  return whole;
}

// Circles while they are few enough for other programs; otherwise the picture, with real text over it.
function drawing() {
  const view = seen();
  const inside = Array.from(inView());
  const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
  const look = pointLook(map.n, view);
  const marks = inside.length > SVG_POINTS
    ? [`<image width="${view.width}" height="${view.height}" href="${picture().toDataURL()}"/>`]
    : inside.sort((a, b) => map.rgba[4 * a + 3] - map.rgba[4 * b + 3]).map((i) => {
        const [x, y] = view.toScreen(map.xy[2 * i], map.xy[2 * i + 1]);
        const see = map.rgba[4 * i + 3] < 2 ? look.opacity * 0.35 : look.opacity;
        return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${(look.size / 2).toFixed(2)}" fill="rgb(${map.rgba.subarray(4 * i, 4 * i + 3).join(" ")})" fill-opacity="${see.toFixed(2)}"/>`;
      });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${view.width}" height="${view.height}" role="img" aria-label="${escape(map.value.label)}">` +
    `<rect width="100%" height="100%" fill="${token("surface")}"/>${marks.join("")}</svg>`;
}
