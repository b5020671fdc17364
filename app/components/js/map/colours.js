// Which colour a point has: by label, by number, or one for all. Knows no screen.

export const CONTEXT = [150, 156, 160];

export const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

// Colours of the labels 0 … k-1: the palette, then turned hues that stay apart from their neighbours.
export function labelColours(k, palette, dark) {
  return Array.from({ length: k }, (_, i) =>
    i < palette.length ? rgb(palette[i]) : hslToRgb((i * 137.508) % 360, 0.55, (dark ? 0.6 : 0.45) + 0.1 * ((i % 3) - 1)));
}

export function hslToRgb(h, s, l) {
  const f = (n) => {
    const k = (n + h / 30) % 12;
    return Math.round(255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [f(0), f(8), f(4)];
}

// From low to high: dark violet, teal, yellow on light paper; the reverse would vanish on dark.
export const RAMP = [[68, 20, 110], [59, 82, 139], [33, 145, 140], [94, 201, 98], [240, 200, 40]];

export function rampColour(share) {
  const at = Math.max(0, Math.min(1, share)) * (RAMP.length - 1);
  const [i, rest] = [Math.min(RAMP.length - 2, Math.floor(at)), at % 1];
  const part = at >= RAMP.length - 1 ? 1 : rest;
  return RAMP[i].map((from, c) => Math.round(from + (RAMP[i + 1][c] - from) * part));
}

// How crowded it is around each point, 0 to 63: the points of its cell of the grid and of the eight
// around it, as a logarithm against the most crowded place.
export function crowding(grid) {
  const { side, starts, order, n } = grid;
  const near = new Float32Array(side * side);
  let most = 1;
  for (let r = 0; r < side; r++) {
    for (let c = 0; c < side; c++) {
      const at = r * side + c;
      if (starts[at] === starts[at + 1]) continue;
      let sum = 0;
      for (let y = Math.max(0, r - 1); y <= Math.min(side - 1, r + 1); y++) {
        sum += starts[y * side + Math.min(side - 1, c + 1) + 1] - starts[y * side + Math.max(0, c - 1)];
      }
      near[at] = sum;
      most = Math.max(most, sum);
    }
  }
  const crowd = new Uint8Array(n);
  const scale = 63 / Math.log(1 + most);
  for (let at = 0; at < side * side; at++) {
    const value = Math.round(Math.log(1 + near[at]) * scale);
    for (let k = starts[at]; k < starts[at + 1]; k++) crowd[order[k]] = value;
  }
  return crowd;
}

// Fill 4 bytes a point: red, green, blue, and its layer (two bits) with its crowding (six bits).
//   column: null, or {kind, values, labels | low, high}; allowed(i): whether a filter lets it pass;
//   chosen: Uint8Array with 1 where selected, or null when nothing is.
//   crowd: of each point, from `crowding`.
export function paint(rgba, n, column, colours, one, allowed, chosen, crowd) {
  for (let i = 0; i < n; i++) {
    const fits = allowed === null || allowed[i];
    const lit = fits && (chosen === null || chosen[i]);
    let colour = one;
    if (!fits) colour = CONTEXT;
    else if (column?.kind === "label") colour = colours[column.values[i]] ?? CONTEXT;
    else if (column?.kind === "number") {
      const value = column.values[i];
      colour = Number.isNaN(value) ? CONTEXT : colours[Math.round((255 * (value - column.low)) / (column.high - column.low || 1))];
    }
    rgba[4 * i] = colour[0];
    rgba[4 * i + 1] = colour[1];
    rgba[4 * i + 2] = colour[2];
    const layer = !lit ? 1 : chosen !== null ? 3 : 2;
    rgba[4 * i + 3] = (layer << 6) | crowd[i];
  }
  return rgba;
}
