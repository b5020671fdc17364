// The map of a page: `mount` is given what Gradio gives the script of a component. Its value is what
// `app/components/map.py` makes.
//
// Every other module works on the `ui` that is made here: its elements, and in `ui.map` the state, which `update` changes.
// Who draws what of it stands below, in `VIEWS`.

import { readAddress, restoreAddress, readFilters, formatFilters, syncUrl } from "./address.js";
import { find } from "./ask.js";
import { renderMode, tools } from "./bar.js";
import { crowding } from "./colours.js";
import { binary, column, seen } from "./data.js";
import { el } from "./dom.js";
import { draw, move, repaint, sized } from "./draw.js";
import { finding, renderFinder } from "./find.js";
import { listen, renderTip } from "./input.js";
import { choices, renderLegend } from "./legend.js";
import { SHARED, broadcast, join, onMessage } from "./link.js";
import { renderListing } from "./listing.js";
import { laying, moving } from "./moving.js";
import { annotate } from "./overlay.js";
import { renderPanel } from "./panel.js";
import { pointGrid } from "./points.js";
import { canvasScene, webglScene } from "./scene.js";
import { subscribe, update } from "./state.js";
import { busy, summarise, tell } from "./status.js";
import { fitted, readView } from "./view.js";

const MAX_GLIDING_POINTS = 50000; // more do not glide to their new places, they are there
const GLIDE_MS = 700;
const AGAIN_MS = 1500;

const PAINT = "colour filters chosen found theme scene";
const VIEWS = [
  ["xy", move],
  [PAINT, repaint],
  [`${PAINT} xy view size rest`, draw],
  [`${PAINT} xy view size value names hovered point placedPoint decoded line mode focus`, annotate],
  ["mode", renderMode],
  ["value", choices],
  ["value colour filters size theme", renderLegend],
  ["found sought", renderFinder],
  ["point placedPoint decoded chosen made", renderPanel],
  ["hovered colour", renderTip],
  ["rest isListed colour filters chosen", renderListing],
  ["rest colour filters chosen size names found sought decoded", syncUrl],
  ["filters chosen found scene", summarise],
  [SHARED, broadcast],
];

export function mount({ element, props, watch }) {
  const ui = {
    element, props, ...elements(), subscribers: [],
    value: null, map: null, // what is shown, and the state once it is loaded
    past: [], future: [], drag: null, settling: 0, turn: 0,
  };
  VIEWS.forEach(([keys, run]) => subscribe(ui, keys, run));
  element.replaceChildren(ui.root);
  const here = () => ui.map?.scene && ui.root.isConnected;
  new MutationObserver(() => here() && update(ui, { theme: true })).observe(document.body, { attributeFilter: ["class"] });
  new ResizeObserver(() => here() && sized(ui) && update(ui, { rest: true, focus: true })).observe(ui.stage);
  window.addEventListener("theodolite:map", (event) => onMessage(ui, event));
  listen(ui);
  watch("value", () => load(ui));
  load(ui);
  return ui;
}

function elements() {
  const stage = el("div", { class: "t-map-stage" });
  const over = el("canvas", { class: "t-map-over", tabindex: "0", role: "application" });
  const bar = el("div", { class: "t-map-bar", role: "toolbar", "aria-label": "Map tools" });
  const zooms = el("div", { class: "t-map-bar t-map-zooms", role: "toolbar", "aria-label": "View" });
  const finder = el("div", { class: "t-map-finder" });
  const status = el("p", { class: "t-map-said", role: "status" });
  const tip = el("div", { class: "t-map-tip", hidden: "" });
  stage.append(el("canvas", { class: "t-map-cloud" }), bar, over, zooms, finder, status, tip);
  const colours = el("div", { class: "t-map-colours" });
  const legend = el("div", { class: "t-map-legend" });
  const options = el("div", { class: "t-map-options" });
  const key = el("details", { class: "t-map-key" }, el("summary", {}, "Legend"), colours, legend, options);
  key.open = window.innerWidth > 720; // a phone shows the map first
  const panel = el("div", { class: "t-map-panel" });
  const body = el("div", { class: "t-map-body" }, stage, el("div", { class: "t-map-side" }, key, panel));
  const mover = el("div", { class: "t-map-mover", hidden: "" });
  const listing = el("section", { class: "t-map-listing", hidden: "", "aria-label": "Points in view" });
  const listed = el("div", { class: "t-scroll", tabindex: "0", role: "region", "aria-label": "Points in view" });
  listing.append(listed);
  const root = el("div", { class: "t-map", hidden: "" }, body, mover, listing);
  return { stage, over, tip, status, listing, listed, bar, zooms, finder, colours, legend, options, panel, mover, root };
}

const UNASKED = { view: "", find: "", pattern: false, filters: [], names: true, size: "usual", canvas: false, said: "", chosen: [] };

// What is shown: some of it only a server can answer, and a document by itself has no address.
function complete({ value, frozen }) {
  const isServed = !frozen && !value.held;
  const alone = !value.linked;
  return {
    ...UNASKED, whole: null, towards: "", ends: [], making: "", plain: value.colour, address: alone, ...value,
    parts: isServed ? null : value.parts, placing: isServed && alone, decoding: isServed && alone,
    ...(value.held ? { address: false } : {}),
  };
}

async function load(ui) {
  const mine = ++ui.turn;
  ui.root.hidden = !ui.props.value;
  if (!ui.props.value) return;
  ui.value = complete(ui.props);
  const { url, towards, ends, making, regions } = ui.value;
  if (ui.map?.value.url === url) {
    const moves = ui.map.value.towards !== towards;
    update(ui, { value: { ...ui.map.value, towards, ends, making, regions } });
    if (moves) await moving(ui);
    laying(ui);
    return;
  }
  busy(ui, "Fetching the points");
  try {
    const xy = new Float32Array(await binary(ui, "points"));
    if (mine === ui.turn) await show(ui, ui.map ? ui.value : readAddress(ui.value), xy);
  } catch (error) {
    tell(ui, error.message);
  }
}

// The same sentences in other places keep what was done to them, and glide there.
async function show(ui, asked, xy) {
  const before = ui.map;
  const same = before !== null && before.value.collection === asked.collection && before.xy.length === xy.length;
  const own = same && before.columns.own ? { own: before.columns.own } : {};
  const value = { ...asked, columns: [...asked.columns, ...Object.values(own)] };
  const grid = pointGrid(xy);
  const whole = value.whole ? { ...value.whole, span: fitted(grid).span } : fitted(grid);
  ui.map = {
    xy, grid, whole, n: grid.n, value, columns: own, colour: null, filters: {}, allowed: null, asked: {},
    texts: same ? before.texts : new Map(), chosen: same ? before.chosen : null, found: same ? before.found : null,
    sought: before ? before.sought : value.find ? { text: value.find, pattern: value.pattern } : null,
    view: before ? whole : readView(value.view, whole), size: before?.size ?? value.size, names: before?.names ?? value.names,
    crowd: crowding(grid), rgba: new Uint8Array(4 * grid.n), point: null, placedPoint: null, decoded: null, made: null,
    hovered: -1, mode: before && (before.mode !== "decode" || value.decoding) ? before.mode : "move", isListed: before?.isListed ?? false,
    settled: before !== null,
  };
  const mine = ui.map;
  renew(ui, before);
  if (!same) [ui.past, ui.future] = [[], []];
  ui.over.setAttribute("aria-label",
    `${value.label}. Arrow keys move, plus and minus zoom, 0 shows all, L draws a lasso, V selects what is in view, ` +
    "N goes from point to point, Enter opens it, Space selects it, Escape clears, F fills the screen." +
    (value.decoding ? " D says in words what stands in the middle, or at the point gone to." : ""));
  tools(ui);
  choices(ui);
  finding(ui);
  sized(ui);
  // All that decides on colours is known before the first point is drawn: each drawing of a million takes a second.
  const wanted = same && value.columns.some((c) => c.key === before.colour) ? before.colour : value.colour;
  const by = await column(ui, wanted ?? null);
  const filters = await readFilters(ui, !before ? value.filters : same ? formatFilters(ui, before) : []);
  if (ui.map !== mine) return;
  update(ui, { colour: by ? wanted : null, filters, point: null }, false);
  if (!before) await restoreAddress(ui, value);
  else if (same) await glide(ui, before);
  else if (mine.sought) find(ui, mine.sought.text, mine.sought.pattern);
  if (ui.map !== mine) return;
  join(ui);
  await moving(ui);
  laying(ui);
}

// A new canvas with a scene of its own; a context that was lost is not asked for a second time at once.
function renew(ui, before, plain = ui.map.value.canvas) {
  before?.scene?.remove();
  const fresh = () => {
    const canvas = el("canvas", { class: "t-map-cloud" });
    ui.stage.replaceChild(canvas, ui.stage.firstChild);
    return canvas;
  };
  const mine = ui.map;
  const again = (canvas) => {
    if (ui.map !== mine) return;
    renew(ui, mine, canvas);
    sized(ui);
    update(ui, { scene: mine.scene });
  };
  const lost = () => {
    again(true);
    setTimeout(again, AGAIN_MS, mine.value.canvas);
  };
  mine.scene = (!plain && webglScene(fresh(), mine.grid, lost)) || canvasScene(fresh(), mine.xy);
  ui.root.dataset.scene = mine.scene.kind;
}

function glide(ui, before) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (ui.map.n > MAX_GLIDING_POINTS || still) return null;
  const { xy, whole, scene } = ui.map;
  const factor = whole.size / before.whole.size;
  const from = before.xy.map((v, i) => (i % 2 ? whole.y + (v - before.whole.y) * factor : whole.x + (v - before.whole.x) * factor));
  const between = new Float32Array(xy.length);
  const began = performance.now();
  return new Promise((done) => {
    const frame = () => {
      const share = Math.min(1, (performance.now() - began) / GLIDE_MS);
      if (ui.map.scene !== scene || share === 1) {
        update(ui, { xy: ui.map.xy });
        return done();
      }
      const eased = share * share * (3 - 2 * share);
      for (let i = 0; i < xy.length; i++) between[i] = from[i] + (xy[i] - from[i]) * eased;
      scene.places(between);
      scene.draw(seen(ui), false);
      requestAnimationFrame(frame);
    };
    frame();
  });
}
