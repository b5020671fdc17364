// Maps of one group on a page: what a person does with one is seen on the others. They talk through
// `theodolite:map` events on `window`; whatever else is on the page may send these too.
// Function declarations only: map.js holds the state.
//
// A detail has `group`, `from` (the sender's root, or null) and any of: hovered (a point or -1),
// view, chosen (flags or null), found (likewise, with what was sought), opened (a point), colour (a
// column or null), filters, size.

function tellOthers(what) {
  const group = map.value.linked;
  if (group) window.dispatchEvent(new CustomEvent("theodolite:map", { detail: { group, from: root, ...what } }));
}

async function heard({ detail }) {
  if (!map || !root.isConnected || detail.from === root || !map.value.linked || detail.group !== map.value.linked) return;
  if ("hovered" in detail && detail.hovered < map.n) hoverOn(detail.hovered, false);
  if (detail.view) follow(detail.view);
  if ("chosen" in detail && (detail.chosen === null || detail.chosen.length === map.n)) {
    map.chosen = detail.chosen;
    repaint();
    panelled();
    list();
  }
  if ("found" in detail && (detail.found === null || detail.found.length === map.n)) lit(detail.found, detail.sought);
  if ("opened" in detail && detail.opened < map.n) openPoint(detail.opened, false);
  if ("colour" in detail && (detail.colour === null || has(detail.colour))) await colourBy(detail.colour, false);
  if (detail.size) sizeAs(detail.size, false);
  if (detail.filters) await filterAs(detail.filters);
}

const has = (key) => map.value.columns.some((column) => column.key === key);

function follow(view) {
  map.view = { ...map.view, x: view.x, y: view.y, span: view.share / map.view.size };
  map.scene.draw(seen(), map.n > FEW);
  annotate();
  clearTimeout(settling);
  settling = setTimeout(() => { draw(); list(); noted(); }, SETTLE_MS);
}

// A filter by a column that this map lacks is left out.
async function filterAs(filters) {
  const mine = map;
  const own = Object.fromEntries(Object.entries(filters).filter(([key]) => has(key)));
  for (const key of Object.keys(own)) await column(key);
  if (map !== mine) return;
  map.filters = own;
  filtered();
  repaint();
  legendary();
  list();
}
