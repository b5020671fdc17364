// Points of the plane by their place: which is nearest, which lie inside a line drawn by hand.
// Knows neither colours nor the screen. Coordinates are those of the data, x and y in turn.

// A grid of square cells over all points; `order` holds point numbers cell by cell.
export function pointGrid(xy) {
  const n = xy.length / 2;
  const side = Math.max(1, Math.min(1024, Math.ceil(Math.sqrt(n / 4))));
  let [left, bottom, right, top] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < xy.length; i += 2) {
    left = Math.min(left, xy[i]);
    right = Math.max(right, xy[i]);
    bottom = Math.min(bottom, xy[i + 1]);
    top = Math.max(top, xy[i + 1]);
  }
  if (!n) [left, bottom, right, top] = [0, 0, 1, 1];
  // A hair wider than the points, so that the last one falls into the last cell.
  const cell = (Math.max(right - left, top - bottom) || 1) * (1 + 1e-6) / side;
  const share = 1 / cell;
  const column = (x) => (x - left) * share;
  const row = (y) => (y - bottom) * share;
  const starts = new Uint32Array(side * side + 1);
  const cellOf = new Uint32Array(n);
  for (let i = 0; i < n; i++) {
    cellOf[i] = (row(xy[2 * i + 1]) | 0) * side + (column(xy[2 * i]) | 0);
    starts[cellOf[i] + 1]++;
  }
  for (let c = 0; c < side * side; c++) starts[c + 1] += starts[c];
  const order = new Uint32Array(n);
  const filled = starts.slice(0, -1);
  for (let i = 0; i < n; i++) order[filled[cellOf[i]]++] = i;
  return { xy, n, side, cell, left, bottom, right, top, column, row, starts, order };
}

// The point nearest to a place within a radius among those that `may` be found, or -1.
export function nearestPoint(grid, x, y, radius, may = () => true) {
  const clamp = (value) => Math.max(0, Math.min(grid.side - 1, Math.floor(value)));
  let best = -1;
  let closest = radius * radius;
  for (let r = clamp(grid.row(y - radius)); r <= clamp(grid.row(y + radius)); r++) {
    const first = grid.starts[r * grid.side + clamp(grid.column(x - radius))];
    const last = grid.starts[r * grid.side + clamp(grid.column(x + radius)) + 1];
    for (let k = first; k < last; k++) {
      const i = grid.order[k];
      const distance = (grid.xy[2 * i] - x) ** 2 + (grid.xy[2 * i + 1] - y) ** 2;
      if (distance <= closest && may(i)) {
        closest = distance;
        best = i;
      }
    }
  }
  return best;
}

// The points inside a closed line, by the even-odd rule: Uint32Array of numbers, in no order.
// Only cells that the line passes through are tested point by point.
export function pointsInside(grid, polygon) {
  const line = polygon.map(([x, y]) => [grid.column(x), grid.row(y)]);
  const edges = line.map((a, i) => [a, line[(i + 1) % line.length]]).filter(([a, b]) => a[1] !== b[1] || a[0] !== b[0]);
  const touched = touchedCells(edges, grid.side);
  const found = new Uint32Array(grid.n);
  let count = 0;
  for (let r = 0; r < grid.side; r++) {
    const crossings = crossingsAt(edges, r + 0.5);
    let passed = 0;
    for (let c = 0; c < grid.side; c++) {
      while (passed < crossings.length && crossings[passed] < c + 0.5) passed++;
      const at = r * grid.side + c;
      const [from, to] = [grid.starts[at], grid.starts[at + 1]];
      if (from === to || (!touched[at] && passed % 2 === 0)) continue;
      for (let k = from; k < to; k++) {
        const i = grid.order[k];
        if (!touched[at] || isInside(edges, grid.column(grid.xy[2 * i]), grid.row(grid.xy[2 * i + 1]))) {
          found[count++] = i;
        }
      }
    }
  }
  return found.subarray(0, count);
}

// Where the edges cross a horizontal line, from left to right.
export function crossingsAt(edges, y) {
  const places = [];
  for (const [[ax, ay], [bx, by]] of edges) {
    if (ay > y !== by > y) places.push(ax + ((y - ay) * (bx - ax)) / (by - ay));
  }
  return places.sort((a, b) => a - b);
}

export function isInside(edges, x, y) {
  let inside = false;
  for (const [[ax, ay], [bx, by]] of edges) {
    if (ay > y !== by > y && x < ax + ((y - ay) * (bx - ax)) / (by - ay)) inside = !inside;
  }
  return inside;
}

// Marks every cell that an edge passes through.
export function touchedCells(edges, side) {
  const touched = new Uint8Array(side * side);
  const within = (value) => Math.max(0, Math.min(side - 1, Math.floor(value)));
  for (const [[ax, ay], [bx, by]] of edges) {
    const [low, high] = [Math.min(ay, by), Math.max(ay, by)];
    if (high < 0 || low > side) continue;
    for (let r = within(low); r <= within(high); r++) {
      // The part of the edge between the lower and the upper side of this row of cells.
      const at = (y) => (ay === by ? null : ax + ((y - ay) * (bx - ax)) / (by - ay));
      const [from, to] = [at(Math.max(low, r)) ?? ax, at(Math.min(high, r + 1)) ?? bx];
      const [first, last] = [Math.min(from, to), Math.max(from, to)];
      if (last < 0 || first > side) continue;
      touched.fill(1, r * side + within(first), r * side + within(last) + 1);
    }
  }
  return touched;
}

const STRIDES = 8191; // a prime, so that what alternates in the data does not in a stride

// A permutation of 0 … n-1 that is the same on every visit: its first m make a fair sample. It goes through
// all numbers in strides, which memory serves much faster than leaps.
export function interleave(n) {
  const order = new Uint32Array(n);
  let k = 0;
  for (const first of shuffled(STRIDES)) for (let i = first; i < n; i += STRIDES) order[k++] = i;
  return order;
}

function shuffled(n) {
  const [order, draw] = [Uint32Array.from({ length: n }, (_, i) => i), draws()];
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(draw() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

// Numbers from 0 to 1, the same on every visit.
function draws() {
  let state = 0x9e3779b9;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

// Marks at most so many points of every cell, from all over their numbers: where cells are smaller than
// points, the others are buried under these.
export function topmost({ n, starts, order }, most) {
  const [marks, draw] = [new Uint8Array(n), draws()];
  for (let at = 0; at + 1 < starts.length; at++) {
    const [from, held] = [starts[at], starts[at + 1] - starts[at]];
    const step = Math.max(1, held / most);
    for (let k = held > most ? draw() * step : 0; k < held; k += step) marks[order[from + Math.floor(k)]] = 1;
  }
  return marks;
}

// Brings what is marked to the front of an order, and keeps the order otherwise; the first `sample` stay
// where they are. Returns how many stand in front.
export function forward(order, marks, sample) {
  const rest = new Uint32Array(order.length);
  let front = 0;
  for (let k = 0; k < order.length; k++) {
    const i = order[k];
    if (marks[i] || k < sample) order[front++] = i;
    else rest[k - front] = i;
  }
  order.set(rest.subarray(0, order.length - front), front);
  return front;
}
