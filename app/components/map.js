// The body of a Gradio `js_on_load`: element, props, trigger and watch are given; the other map_*.js
// stand above it. Events for Python: "select" with the numbers of the chosen points (at most
// SENT of them) and how many there are, "click" with one number, "view" with what is seen.
const { el } = window.theodolite;
const SENT = 10000;
const SETTLE_MS = 140;
const LISTED = 50;
const STEP = 0.12;
const MOVED_POINTS = 50000; // more do not glide to their new places, they are there
const GLIDE_MS = 700;
const AGAIN_MS = 1500;

const stage = el("div", { class: "t-map-stage" });
const over = el("canvas", { class: "t-map-over", tabindex: "0", role: "application" });
const tip = el("div", { class: "t-map-tip", hidden: "" });
stage.append(el("canvas", { class: "t-map-cloud" }), over, tip);
const status = el("p", { class: "t-small t-muted", role: "status" });
const listing = el("details", { class: "t-twin" }, el("summary", {}, "What is in view, as a table"));
const listed = el("div", { class: "t-scroll", tabindex: "0", role: "region", "aria-label": "Points in view" });
listing.append(listed);
const bar = el("div", { class: "t-map-bar", role: "toolbar", "aria-label": "Map tools" });
const finder = el("div", { class: "t-map-bar t-map-finder" });
const legend = el("div", { class: "t-map-legend" });
const panel = el("div", { class: "t-map-panel" });
const body = el("div", { class: "t-map-body" }, stage, legend);
const mover = el("div", { class: "t-map-bar t-map-mover", hidden: "" });
const root = el("div", { class: "t-map", hidden: "" }, bar, finder, mover, body, status, panel, listing);
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
const seen = () => ({ ...projected(map.view, stage.clientWidth, stage.clientHeight, ratio()), grow: SIZES[map.size] });
const count = (n) => n.toLocaleString("en-GB");
const passes = (i) => map.allowed === null || map.allowed[i] === 1;

// Loading -----------------------------------------------------------------------------------

async function asked(part) {
  const answer = await fetch(`${props.value.url}/${part}`);
  if (!answer.ok) throw new Error(`The map's ${part.split("?")[0]} could not be read (${answer.status}).`);
  return answer;
}
const binary = async (part) => (await asked(part)).arrayBuffer();

async function load() {
  const mine = ++turn;
  const value = props.value;
  root.hidden = !value;
  if (!value) return;
  if (map && map.value.url === value.url && map.value.canvas === value.canvas) {
    const [anew, moves] = [map.value.colour !== value.colour, map.value.towards !== value.towards];
    map.value = value;
    if (anew) colourBy(value.colour);
    if (moves) await moving();
    return;
  }
  busy("Fetching the points");
  try {
    const xy = new Float32Array(await binary("points"));
    if (mine === turn) await show(value, xy);
  } catch (error) {
    status.textContent = error.message;
  }
}

// The same sentences in other places keep what was done to them, and glide there.
async function show(value, xy) {
  const before = map;
  const same = before !== null && before.value.collection === value.collection && before.xy.length === xy.length;
  const grid = pointGrid(xy);
  const whole = readView(value.whole, fitted(grid));
  map = {
    xy, grid, whole, n: grid.n, value, columns: {}, colour: null, filters: {}, allowed: null,
    texts: same ? before.texts : new Map(), chosen: same ? before.chosen : null, found: same ? before.found : null,
    sought: before ? before.sought : value.find ? { text: value.find, pattern: value.pattern } : null,
    view: before ? whole : readView(value.view, whole), size: before?.size ?? value.size, names: before?.names ?? value.names,
    crowd: crowding(grid), rgba: new Uint8Array(4 * grid.n), point: null, guest: null, said: null, settled: before !== null,
  };
  renew(before);
  if (!same) {
    past = [];
    future = [];
  }
  over.setAttribute("aria-label",
    `${value.label}. Arrow keys move, plus and minus zoom, 0 shows all, L draws a lasso, V selects what is in view, ` +
    "N goes from point to point, Enter opens it, Space selects it, Escape clears." +
    (value.decoding ? " D says in words what stands in the middle, or at the point gone to." : ""));
  tools();
  finding();
  panel.replaceChildren();
  const wanted = same && value.columns.some((c) => c.key === before.colour) ? before.colour : value.colour;
  sized();
  // All that decides on colours is known before the first point is drawn: each drawing of a million takes a second.
  const mine = map;
  const by = await column(wanted ?? null);
  const filters = await readFilters(!before ? value.filters : same ? writtenFilters(before) : []);
  if (map !== mine) return;
  map.colour = by ? wanted : null;
  map.filters = filters;
  filtered();
  if (!before) await opened(value);
  else {
    repaint();
    legendary();
    panelled();
    if (same) await glide(before);
    else if (map.sought) find(map.sought.text, map.sought.pattern);
  }
  list();
  await moving();
}

// A new canvas with a scene of its own; a context that was lost is not asked for a second time at once.
function renew(before, plain = map.value.canvas) {
  before?.scene?.remove();
  const fresh = () => {
    const canvas = el("canvas", { class: "t-map-cloud" });
    stage.replaceChild(canvas, stage.firstChild);
    return canvas;
  };
  const mine = map;
  const lost = () => {
    if (map !== mine) return;
    renew(map, true);
    repainted();
    setTimeout(() => { if (map === mine) { renew(map, map.value.canvas); repainted(); } }, AGAIN_MS);
  };
  map.scene = (!plain && webglScene(fresh(), map.xy, lost)) || canvasScene(fresh(), map.xy);
  root.dataset.scene = map.scene.kind;
}

function repainted() {
  sized();
  repaint();
}

function glide(before) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (map.n > MOVED_POINTS || still) return null;
  const { xy, whole, scene } = map;
  const factor = whole.size / before.whole.size;
  const from = before.xy.map((v, i) => (i % 2 ? whole.y + (v - before.whole.y) * factor : whole.x + (v - before.whole.x) * factor));
  const between = new Float32Array(xy.length);
  const began = performance.now();
  return new Promise((done) => {
    const frame = () => {
      const share = Math.min(1, (performance.now() - began) / GLIDE_MS);
      if (map.scene !== scene || share === 1) {
        map.scene.places(map.xy);
        draw();
        return done();
      }
      const eased = share * share * (3 - 2 * share);
      for (let i = 0; i < xy.length; i++) between[i] = from[i] + (xy[i] - from[i]) * eased;
      scene.places(between);
      scene.draw(seen(), false);
      requestAnimationFrame(frame);
    };
    frame();
  });
}

async function column(key) {
  if (key === null) return null;
  if (!map.columns[key]) {
    const about = map.value.columns.find((c) => c.key === key);
    if (!about) return null;
    const [mine, data] = [map, await binary(`column/${encodeURIComponent(key)}`)];
    const values = about.kind === "label" ? new Uint16Array(data) : new Float32Array(data);
    mine.columns[key] = { ...about, values };
    if (mine !== map) return null;
  }
  return map.columns[key];
}

async function texts(numbers) {
  const mine = map;
  const missing = numbers.filter((i) => !mine.texts.has(i));
  for (let k = 0; k < missing.length; k += 100) {
    const part = missing.slice(k, k + 100);
    const answer = await fetch(`${mine.value.url}/texts?ids=${part.join(",")}`);
    const found = answer.ok ? await answer.json() : part.map(() => "");
    part.forEach((i, at) => mine.texts.set(i, String(found[at])));
  }
  return numbers.map((i) => mine.texts.get(i));
}

// Drawing -----------------------------------------------------------------------------------

// Gives both canvases the size of the stage, which empties them; false when they had it.
function sized() {
  const width = Math.max(1, Math.round(stage.clientWidth * ratio()));
  const height = Math.max(1, Math.round(stage.clientHeight * ratio()));
  const changed = [stage.firstChild, over].filter((canvas) => canvas.width !== width || canvas.height !== height);
  for (const canvas of changed) [canvas.width, canvas.height] = [width, height];
  return changed.length > 0;
}

function resize() {
  if (map?.scene && sized()) draw();
}

// While the view moves only a sample is drawn; all of it once it rests.
function draw(moving = false) {
  if (!map || !stage.clientWidth || !stage.clientHeight) return;
  map.scene.draw(seen(), moving && map.n > FEW);
  annotate();
  if (!moving) return;
  clearTimeout(settling);
  settling = setTimeout(rested, SETTLE_MS);
  tellOthers({ view: { ...map.view, share: map.view.span * map.view.size } });
}

function rested() {
  draw();
  list();
  trigger("view", { view: writtenView(map.view) });
  noted();
}

function repaint() {
  const { columns, colour, rgba, n, chosen, found } = map;
  const by = colour === null ? null : columns[colour];
  const colours =
    by?.kind === "label" ? labelColours(by.labels.length, props.palette, isDark())
    : by ? Array.from({ length: 256 }, (_, i) => rampColour(i / 255)) : [];
  map.shades = colours;
  const lit = chosen && found ? chosen.map((one, i) => one | found[i]) : chosen ?? found;
  painted(rgba, n, by, colours, rgb(props.palette[0]), map.allowed, lit, map.crowd);
  map.scene.colours(rgba);
  draw();
  noted();
  say();
}

// What takes a while, with a bar; the next word on the line ends it.
function busy(text) {
  status.replaceChildren(`${text}…`, el("span", { class: "t-bar t-unknown", role: "progressbar", "aria-label": text }, el("i", {})));
}

const sum = (flags) => {
  let total = 0;
  for (let i = 0; i < flags.length; i++) total += flags[i];
  return total;
};

function say() {
  const chosen = map.chosen ? sum(map.chosen) : 0;
  const shown = map.allowed ? sum(map.allowed) : map.n;
  status.textContent = [
    `${count(map.n)} point${map.n === 1 ? "" : "s"}`,
    shown < map.n ? `${count(map.n - shown)} filtered away, kept in grey` : "",
    map.found ? `${count(sum(map.found))} found` : "",
    chosen ? `${count(chosen)} selected` : "",
    map.unwritten ? `${map.unwritten} too long to stand in the page's address` : "",
    map.scene.kind === "canvas" && map.scene.drawn < map.n
      ? `no WebGL here: a sample of ${count(map.scene.drawn)} is drawn, selecting counts all` : "",
  ].filter(Boolean).join(", ") + ".";
}

const valueOf = (by, i) =>
  by.kind === "label" ? by.labels[by.values[i]] ?? "–" : Number.isNaN(by.values[i]) ? "not measured" : by.values[i].toPrecision(3);

// What is in view, for those who read instead of look.
async function list() {
  if (!listing.open || !map) return;
  const kept = Array.from(inView()).filter(passes);
  const first = (map.chosen ? kept.filter((i) => map.chosen[i]) : kept).slice(0, LISTED);
  const words = await texts(first);
  const by = map.colour === null ? null : map.columns[map.colour];
  const rows = first.map((i, k) => {
    const button = el("button", { type: "button", class: "t-link" }, words[k]);
    button.addEventListener("click", () => openPoint(i));
    return el("tr", {}, el("td", {}, button), by ? el("td", {}, valueOf(by, i)) : null);
  });
  const head = el("tr", {}, el("th", { scope: "col" }, "Sentence"), by ? el("th", { scope: "col" }, by.name) : null);
  listed.replaceChildren(
    el("p", { class: "t-small t-muted" }, `${count(first.length)} of ${count(kept.length)} in view${map.chosen ? ", selected ones only" : ""}.`),
    el("table", { class: "t-table" }, el("thead", {}, head), el("tbody", {}, ...rows)));
}

listing.addEventListener("toggle", list);
new MutationObserver(() => map && (repaint(), legendary())).observe(document.body, { attributeFilter: ["class"] });
new ResizeObserver(resize).observe(stage);
window.addEventListener("theodolite:map", heard);
listen();
watch("value", load);
load();
