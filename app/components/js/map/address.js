// What of the view stands in the page's address, so that a copied link shows what is seen: place and zoom,
// colour, size, names, filters, the search, and a selection that is not long.

import { decodeAt, find } from "./ask.js";
import { column } from "./data.js";
import { update } from "./state.js";
import { chosenNumbers } from "./tools.js";
import { formatView } from "./view.js";

const MAX_IDS = 100;
const MAX_FILTERS = 300;
const MAX_FILTER_CHARACTERS = 1500; // characters of all filters

// Only the map of a page with one writes to its address, and not before it has read it.
export function syncUrl(ui) {
  if (!ui.map.value.address || !ui.map.settled) return;
  const view = formatView(ui.map.view);
  const filters = formatFilters(ui);
  const ids = chosenNumbers(ui, MAX_IDS + 1);
  ui.map.unwritten = [
    filters.join("").length > MAX_FILTER_CHARACTERS ? "the filter" : "", ids.length > MAX_IDS ? "the selection" : "",
  ].filter(Boolean).join(" and ");
  const state = {
    view: view === formatView(ui.map.whole) ? "" : view,
    colour: ui.map.colour === ui.map.value.plain ? "" : ui.map.colour ?? "none",
    size: ui.map.size === "usual" ? "" : ui.map.size,
    names: ui.map.names ? "" : "none",
    find: ui.map.sought?.text ?? "",
    pattern: ui.map.sought?.pattern ? "1" : "",
    filter: filters.join("").length > MAX_FILTER_CHARACTERS ? [] : filters,
    said: ui.map.decoded ? formatPlace(ui.map.decoded) : "",
    ids: ids.length > MAX_IDS ? "" : ids.join(","),
  };
  window.theodolite.address(Object.keys(state), Object.values(state), {});
}

// `label:sea` for every label that is kept, `length:12~50` for a range.
export function formatFilters(ui, of = ui.map) {
  return Object.entries(of.filters).flatMap(([key, filter]) => {
    const { kind, labels } = of.columns[key];
    return kind === "number" ? [`${key}:${filter.join("~")}`] : [...filter].map((i) => `${key}:${labels[i]}`);
  });
}

// What is no filter of this map is left out.
export async function readFilters(ui, texts) {
  const filters = {};
  for (const text of texts) {
    const at = text.indexOf(":");
    const [key, value] = [text.slice(0, at), text.slice(at + 1)];
    const by = await column(ui, key);
    if (by?.kind === "number") {
      const ends = value.split("~").map(Number);
      if (ends.length === 2 && ends.every(Number.isFinite)) filters[key] = ends;
    } else if (by && by.labels.includes(value)) (filters[key] ??= new Set()).add(by.labels.indexOf(value));
  }
  return filters;
}

// The value with what the address of the page asks for, if it is about this collection: as it was when the page was opened.
export function readAddress(value) {
  const [opened] = performance.getEntriesByType("navigation");
  const query = new URL(opened?.name ?? location.href).searchParams;
  if (!value.address || (query.get("in") ?? value.dataset) !== value.dataset) return value;
  const given = (name) => query.get(name) ?? "";
  const colour = value.columns.some(({ key }) => key === given("colour")) ? given("colour") : value.colour;
  return {
    ...value, view: given("view"), plain: value.colour, colour: given("colour") === "none" ? null : colour, find: given("find"),
    pattern: given("pattern") === "1", filters: query.getAll("filter").slice(0, MAX_FILTERS), names: given("names") !== "none",
    size: ["small", "large"].includes(given("size")) ? given("size") : "usual", canvas: given("draw") === "canvas", said: given("said"),
    chosen: given("ids").split(",").filter((id) => /^\d{1,9}$/.test(id)).map(Number),
  };
}

// As the address has it, once, when the first map of a page is there.
export async function restoreAddress(ui, value) {
  const mine = ui.map;
  const chosen = new Uint8Array(ui.map.n);
  for (const i of value.chosen) if (i < ui.map.n) chosen[i] = 1;
  ui.map.settled = true;
  update(ui, { chosen: chosen.includes(1) ? chosen : null });
  if (value.find) await find(ui, value.find, value.pattern);
  const place = value.decoding ? readPlace(value.said) : null;
  if (place && ui.map === mine) decodeAt(ui, ...place);
}

function readPlace(text) {
  const place = String(text || "").split(",").map(Number);
  return place.length === 2 && place.every(Number.isFinite) ? place : null;
}

const formatPlace = ({ x, y }) => [x, y].map((v) => Number(v.toPrecision(7))).join(",");
