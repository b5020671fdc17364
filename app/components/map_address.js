// What of the view stands in the page's address, so that a copied link shows what is seen: place and zoom,
// colour, size, names, filters, what was looked for, and a selection that is not long.
// Function declarations only: map.js holds the state.

const MOST_IDS = 100;
const MOST_WRITTEN = 1500; // characters of all filters

// Only the map of a page with one writes to its address, and not before it has read it.
function noted() {
  if (!map.value.address || !map.settled) return;
  const view = writtenView(map.view);
  const filters = writtenFilters();
  const ids = chosenNumbers(MOST_IDS + 1);
  map.unwritten = [
    filters.join("").length > MOST_WRITTEN ? "the filter" : "", ids.length > MOST_IDS ? "the selection" : "",
  ].filter(Boolean).join(" and ");
  const state = {
    view: view === writtenView(map.whole) ? "" : view,
    colour: map.colour === map.value.plain ? "" : map.colour ?? "none",
    size: map.size === "usual" ? "" : map.size,
    names: map.names ? "" : "none",
    find: map.sought?.text ?? "",
    pattern: map.sought?.pattern ? "1" : "",
    filter: filters.join("").length > MOST_WRITTEN ? [] : filters,
    said: map.said ? writtenPlace(map.said) : "",
    ids: ids.length > MOST_IDS ? "" : ids.join(","),
  };
  window.theodolite.address(Object.keys(state), Object.values(state), {});
}

// `label:sea` for every label that is kept, `length:12~50` for a range.
function writtenFilters(of = map) {
  return Object.entries(of.filters).flatMap(([key, filter]) => {
    const { kind, labels } = of.columns[key];
    return kind === "number" ? [`${key}:${filter.join("~")}`] : [...filter].map((i) => `${key}:${labels[i]}`);
  });
}

// What is no filter of this map is left out.
async function readFilters(texts) {
  const filters = {};
  for (const text of texts) {
    const at = text.indexOf(":");
    const [key, value] = [text.slice(0, at), text.slice(at + 1)];
    const by = await column(key);
    if (by?.kind === "number") {
      const ends = value.split("~").map(Number);
      if (ends.length === 2 && ends.every(Number.isFinite)) filters[key] = ends;
    } else if (by && by.labels.includes(value)) (filters[key] ??= new Set()).add(by.labels.indexOf(value));
  }
  return filters;
}

// As the address has it, once, when the first map of a page is there.
async function opened(value) {
  const mine = map;
  if (value.chosen.length) {
    const chosen = new Uint8Array(map.n);
    for (const i of value.chosen) if (i < map.n) chosen[i] = 1;
    map.chosen = chosen.includes(1) ? chosen : null;
  }
  map.settled = true;
  chosenAnew();
  legendary();
  if (value.find) await find(value.find, value.pattern);
  const place = value.decoding ? readPlace(value.said) : null;
  if (place && map === mine) decodeAt(...place);
}
