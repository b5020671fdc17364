// The map of a page: `mount` is given what Gradio gives the script of a component. Events for Python:
// "select" with the numbers of the chosen points (at most MAX_SENT of them) and how many there are, "click"
// with one number, "view" with what is seen.
//
// Every other module works on the `ui` that is made here: its elements, and in `ui.map` what is loaded.

import { readAddress, restoreAddress, readFilters, formatFilters } from "./address.js";
import { tools } from "./bar.js";
import { crowding } from "./colours.js";
import { binary, column, seen } from "./data.js";
import { el } from "./dom.js";
import { busy, draw, list, repaint, resize, sized } from "./draw.js";
import { find, finding } from "./find.js";
import { listen } from "./input.js";
import { choices, renderLegend } from "./legend.js";
import { onMessage } from "./link.js";
import { laying, moving } from "./moving.js";
import { renderPanel } from "./panel.js";
import { pointGrid } from "./points.js";
import { canvasScene, webglScene } from "./scene.js";
import { colourBy, applyFilters } from "./tools.js";
import { fitted, readView } from "./view.js";

const MAX_GLIDING_POINTS = 50000; // more do not glide to their new places, they are there
const GLIDE_MS = 700;
const AGAIN_MS = 1500;

export function mount({ element, props, trigger, watch }) {
  const ui = {
    element, props, trigger, ...elements(),
    map: null, // what is loaded: points, grid, columns, scene
    past: [], future: [], mode: "move", drag: null, hovered: -1, settling: 0, turn: 0,
  };
  ui.element.replaceChildren(ui.root);
  new MutationObserver(() => ui.map && (repaint(ui), renderLegend(ui))).observe(document.body, { attributeFilter: ["class"] });
  new ResizeObserver(() => resize(ui)).observe(ui.stage);
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

async function load(ui) {
  const mine = ++ui.turn;
  let { value } = ui.props;
  ui.root.hidden = !value;
  if (!value) return;
  if (value.parts && value.address && !ui.map) value = readAddress(value);
  if (ui.map && ui.map.value.url === value.url && ui.map.value.canvas === value.canvas) {
    const [anew, moves] = [ui.map.value.colour !== value.colour, ui.map.value.towards !== value.towards];
    ui.map.value = value;
    if (anew) colourBy(ui, value.colour);
    if (moves) await moving(ui);
    laying(ui);
    return;
  }
  busy(ui, "Fetching the points");
  try {
    const xy = new Float32Array(await binary(ui, "points"));
    if (mine === ui.turn) await show(ui, value, xy);
  } catch (error) {
    ui.status.textContent = error.message;
  }
}

// The same sentences in other places keep what was done to them, and glide there.
async function show(ui, value, xy) {
  const before = ui.map;
  const same = before !== null && before.value.collection === value.collection && before.xy.length === xy.length;
  const grid = pointGrid(xy);
  const whole = readView(value.whole, fitted(grid));
  ui.map = {
    xy, grid, whole, n: grid.n, value, columns: {}, colour: null, filters: {}, allowed: null,
    texts: same ? before.texts : new Map(), chosen: same ? before.chosen : null, found: same ? before.found : null,
    sought: before ? before.sought : value.find ? { text: value.find, pattern: value.pattern } : null,
    view: before ? whole : readView(value.view, whole), size: before?.size ?? value.size, names: before?.names ?? value.names,
    crowd: crowding(grid), rgba: new Uint8Array(4 * grid.n), point: null, placedPoint: null, decoded: null, settled: before !== null,
  };
  renew(ui, before);
  if (!same) {
    ui.past = [];
    ui.future = [];
  }
  ui.over.setAttribute("aria-label",
    `${value.label}. Arrow keys move, plus and minus zoom, 0 shows all, L draws a lasso, V selects what is in view, ` +
    "N goes from point to point, Enter opens it, Space selects it, Escape clears, F fills the screen." +
    (value.decoding ? " D says in words what stands in the middle, or at the point gone to." : ""));
  tools(ui);
  choices(ui);
  finding(ui);
  ui.panel.replaceChildren();
  const wanted = same && value.columns.some((c) => c.key === before.colour) ? before.colour : value.colour;
  sized(ui);
  // All that decides on colours is known before the first point is drawn: each drawing of a million takes a second.
  const mine = ui.map;
  const by = await column(ui, wanted ?? null);
  const filters = await readFilters(ui, !before ? value.filters : same ? formatFilters(ui, before) : []);
  if (ui.map !== mine) return;
  ui.map.colour = by ? wanted : null;
  ui.map.filters = filters;
  applyFilters(ui);
  if (!before) await restoreAddress(ui, value);
  else {
    repaint(ui);
    renderLegend(ui);
    renderPanel(ui);
    if (same) await glide(ui, before);
    else if (ui.map.sought) find(ui, ui.map.sought.text, ui.map.sought.pattern);
  }
  list(ui);
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
  const lost = () => {
    if (ui.map !== mine) return;
    renew(ui, ui.map, true);
    refresh(ui);
    setTimeout(() => { if (ui.map === mine) { renew(ui, ui.map, ui.map.value.canvas); refresh(ui); } }, AGAIN_MS);
  };
  ui.map.scene = (!plain && webglScene(fresh(), ui.map.grid, lost)) || canvasScene(fresh(), ui.map.xy);
  ui.root.dataset.scene = ui.map.scene.kind;
}

function refresh(ui) {
  sized(ui);
  repaint(ui);
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
        ui.map.scene.places(ui.map.xy);
        draw(ui);
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
