// The state of a map, `ui.map`, and who is told of its changes. `update` is the only way to change what is seen: it calls
// every subscriber that draws from one of the changed values, once and in the order of subscription. Whoever changes the
// state need not know who draws it. A change that is nothing but an event, such as `rest`, is a value too.

export function subscribe(ui, keys, run) {
  ui.subscribers.push({ keys: keys.split(" "), run });
}

// `isOwn` is false for what was done on another map of the page, which need not be told of it.
export function update(ui, changes, isOwn = true) {
  Object.assign(ui.map, changes);
  if ("filters" in changes) ui.map.allowed = allowed(ui.map);
  for (const { keys, run } of ui.subscribers) if (keys.some((key) => key in changes)) run(ui, changes, isOwn);
}

// A filter is a set of labels, or the lowest and highest value; a point must pass all of them.
export function allowed({ n, filters, columns }) {
  const active = Object.entries(filters).filter(([key]) => columns[key]);
  if (!active.length) return null;
  const flags = new Uint8Array(n).fill(1);
  for (const [key, filter] of active) {
    const { kind, values } = columns[key];
    for (let i = 0; i < n; i++) {
      const fits = kind === "label" ? filter.has(values[i]) : values[i] >= filter[0] && values[i] <= filter[1];
      if (!fits) flags[i] = 0;
    }
  }
  return flags;
}

// Whether a point passes the filters.
export const passes = (ui, i) => ui.map.allowed === null || ui.map.allowed[i] === 1;

// Undo -----------------------------------------------------------------------------------------

const MAX_UNDO = 100;

// What undo brings back: selection, filters and colour, not the view.
const present = ({ chosen, filters, colour }) => ({ chosen, filters, colour });

export function remember(ui) {
  ui.past.push(present(ui.map));
  if (ui.past.length > MAX_UNDO) ui.past.shift();
  ui.future = [];
}

export function undoRedo(ui, from, to) {
  const state = from.pop();
  if (!state) return;
  to.push(present(ui.map));
  update(ui, state);
}
