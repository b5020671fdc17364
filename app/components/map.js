// The body of a Gradio `js_on_load`: element, props, trigger and watch are given; the other map_*.js
// stand above it. Events for Python: "select" with the numbers of the chosen points (at most
// SENT of them) and how many there are, "click" with one number.
const { el } = window.theodolite;
const SENT = 10000;
const SETTLE_MS = 140;
const LISTED = 50;
const STEP = 0.12;

const stage = el("div", { class: "t-map-stage" });
const cloud = el("canvas", { class: "t-map-cloud" });
const over = el("canvas", { class: "t-map-over", tabindex: "0", role: "application" });
const tip = el("div", { class: "t-map-tip", hidden: "" });
stage.append(cloud, over, tip);
const status = el("p", { class: "t-small t-muted", role: "status" });
const listing = el("details", { class: "t-twin" }, el("summary", {}, "What is in view, as a table"));
const listed = el("div", { class: "t-scroll", tabindex: "0", role: "region", "aria-label": "Points in view" });
listing.append(listed);
const bar = el("div", { class: "t-map-bar", role: "toolbar", "aria-label": "Map tools" });
const legend = el("div", { class: "t-map-legend" });
const body = el("div", { class: "t-map-body" }, stage, legend);
const root = el("div", { class: "t-map", hidden: "" }, bar, body, status, listing);
element.replaceChildren(root);

let map = null; // what is loaded: points, grid, columns, scene
let past = [];
let future = [];
let mode = "move";
let drag = null;
let hovered = -1;
let settling = 0;
let turn = 0;

const isDark = () => document.body.classList.contains("dark");
const token = (name) => getComputedStyle(document.body).getPropertyValue(`--t-${name}`).trim();
const ratio = () => Math.min(2, window.devicePixelRatio || 1);
const seen = () => projected(map.view, stage.clientWidth, stage.clientHeight, ratio());
const count = (n) => n.toLocaleString("en-GB");

// Loading -----------------------------------------------------------------------------------

const binary = async (part) => {
  const answer = await fetch(`${props.value.url}/${part}`);
  if (!answer.ok) throw new Error(`the map's ${part} could not be read (${answer.status})`);
  return answer.arrayBuffer();
};

async function load() {
  const mine = ++turn;
  const value = props.value;
  root.hidden = !value;
  if (!value) return;
  status.textContent = "Fetching the points…";
  const xy = new Float32Array(await binary("points"));
  if (mine !== turn) return;
  map?.scene.remove();
  const fresh = () => {
    const canvas = el("canvas", { class: "t-map-cloud" });
    stage.replaceChild(canvas, stage.firstChild);
    return canvas;
  };
  const grid = pointGrid(xy);
  const whole = fitted(grid);
  map = {
    xy, grid, whole, n: grid.n, value, columns: {}, texts: new Map(),
    view: readView(value.view, whole), colour: null, filters: {}, chosen: null, allowed: null,
    rgba: new Uint8Array(4 * grid.n),
    scene: (!value.canvas && webglScene(fresh(), xy)) || canvasScene(fresh(), xy),
  };
  past = [];
  future = [];
  over.setAttribute("aria-label",
    `${value.label}. Arrow keys move, plus and minus zoom, 0 shows all, L draws a lasso, V selects what is in view, Escape clears.`);
  tools();
  await colourBy(value.colour ?? null, false);
  resize();
}

async function column(key) {
  if (key === null) return null;
  if (!map.columns[key]) {
    const about = map.value.columns.find((c) => c.key === key);
    if (!about) return null;
    const data = await binary(`column/${encodeURIComponent(key)}`);
    const values = about.kind === "label" ? new Uint16Array(data) : new Float32Array(data);
    map.columns[key] = { ...about, values };
  }
  return map.columns[key];
}

async function texts(numbers) {
  const missing = numbers.filter((i) => !map.texts.has(i));
  if (missing.length) {
    const answer = await fetch(`${map.value.url}/texts?ids=${missing.join(",")}`);
    const found = answer.ok ? await answer.json() : missing.map(() => "");
    missing.forEach((i, k) => map.texts.set(i, String(found[k])));
  }
  return numbers.map((i) => map.texts.get(i));
}

// Drawing -----------------------------------------------------------------------------------

function resize() {
  if (!map) return;
  for (const canvas of [stage.firstChild, over]) {
    canvas.width = Math.max(1, stage.clientWidth * ratio());
    canvas.height = Math.max(1, stage.clientHeight * ratio());
  }
  draw();
}

// While the view moves only a sample is drawn; all of it once it rests.
function draw(moving = false) {
  if (!map || !stage.clientWidth) return;
  const view = seen();
  map.scene.draw(view, moving && map.n > FEW);
  annotate();
  clearTimeout(settling);
  if (moving) settling = setTimeout(() => { draw(); list(); trigger("view", { view: writtenView(map.view) }); }, SETTLE_MS);
}

function repaint() {
  const { columns, colour, rgba, n } = map;
  const by = colour === null ? null : columns[colour];
  const colours =
    by?.kind === "label" ? labelColours(by.labels.length, props.palette, isDark())
    : by ? Array.from({ length: 256 }, (_, i) => rampColour(i / 255)) : [];
  map.shades = colours;
  painted(rgba, n, by, colours, rgb(props.palette[0]), map.allowed, map.chosen);
  map.scene.colours(rgba);
  draw();
  say();
}

// Labels, the line being drawn, the ring around a point: over the cloud, which need not be redrawn.
function annotate() {
  const context = over.getContext("2d");
  const view = seen();
  context.setTransform(ratio(), 0, 0, ratio(), 0, 0);
  context.clearRect(0, 0, view.width, view.height);
  labels(context, view);
  if (drag?.line?.length) {
    context.strokeStyle = token("accent");
    context.lineWidth = 1.5;
    context.beginPath();
    drag.line.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.stroke();
    context.globalAlpha = 0.08;
    context.fillStyle = token("accent");
    context.fill();
    context.globalAlpha = 1;
  }
  if (hovered >= 0) {
    const [x, y] = view.toScreen(map.xy[2 * hovered], map.xy[2 * hovered + 1]);
    context.strokeStyle = token("ink");
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, 7, 0, 7);
    context.stroke();
  }
}

function labels(context, view) {
  const level = Math.max(0, Math.floor(-Math.log2(map.view.span / 1.08)));
  const levels = [...new Set((map.value.regions ?? []).map((r) => r.level))].sort((a, b) => a - b);
  const wanted = levels.filter((l) => l <= level).pop() ?? levels[0];
  context.font = "600 13px 'IBM Plex Sans', sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  const placed = placedLabels(
    (map.value.regions ?? []).filter((r) => r.level === wanted), view, (text) => context.measureText(text).width);
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = token("surface");
  context.fillStyle = token("ink");
  for (const { text, x, y } of placed) {
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
}

function say() {
  const chosen = map.chosen ? map.chosen.reduce((sum, one) => sum + one, 0) : 0;
  const shown = map.allowed ? map.allowed.reduce((sum, one) => sum + one, 0) : map.n;
  status.textContent = [
    `${count(map.n)} points`,
    shown < map.n ? `${count(map.n - shown)} filtered away, kept in grey` : "",
    chosen ? `${count(chosen)} selected` : "",
    map.scene.kind === "canvas" && map.scene.drawn < map.n
      ? `no WebGL here: a sample of ${count(map.scene.drawn)} is drawn, selecting counts all` : "",
  ].filter(Boolean).join(", ") + ".";
}

// What is in view, for those who read instead of look.
async function list() {
  if (!listing.open || !map) return;
  const view = seen();
  const corner = [view.toPlane(0, view.height), view.toPlane(view.width, 0)];
  const [[x0, y0], [x1, y1]] = corner;
  const inside = pointsInside(map.grid, [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]);
  const kept = Array.from(inside).filter((i) => !map.allowed || map.allowed[i]);
  const first = (map.chosen ? kept.filter((i) => map.chosen[i]) : kept).slice(0, LISTED);
  const words = await texts(first);
  const by = map.colour === null ? null : map.columns[map.colour];
  const of = (i) => (by === null ? "" : by.kind === "label" ? by.labels[by.values[i]] ?? "–" : by.values[i].toPrecision(4));
  const rows = first.map((i, k) => {
    const button = el("button", { type: "button", class: "t-link" }, words[k]);
    button.addEventListener("click", () => trigger("click", { id: i }));
    return el("tr", {}, el("td", {}, button), by ? el("td", {}, String(of(i))) : null);
  });
  const head = el("tr", {}, el("th", { scope: "col" }, "Sentence"), by ? el("th", { scope: "col" }, by.name) : null);
  listed.replaceChildren(
    el("p", { class: "t-small t-muted" }, `${count(first.length)} of ${count(kept.length)} in view${map.chosen ? ", selected ones only" : ""}.`),
    el("table", { class: "t-table" }, el("thead", {}, head), el("tbody", {}, ...rows)));
}

listing.addEventListener("toggle", list);
new MutationObserver(() => map && (repaint(), legendary())).observe(document.body, { attributeFilter: ["class"] });
new ResizeObserver(resize).observe(stage);
listen();
watch("value", load);
load();
