// Which colour a point has: by label, by number, or one for all. Knows no screen.

const CONTEXT = [150, 156, 160];

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

// Colours of the labels 0 … k-1: the palette, then turned hues that stay apart from their neighbours.
function labelColours(k, palette, dark) {
  return Array.from({ length: k }, (_, i) =>
    i < palette.length ? rgb(palette[i]) : hslToRgb((i * 137.508) % 360, 0.55, (dark ? 0.6 : 0.45) + 0.1 * ((i % 3) - 1)));
}

function hslToRgb(h, s, l) {
  const f = (n) => {
    const k = (n + h / 30) % 12;
    return Math.round(255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [f(0), f(8), f(4)];
}

// From low to high: dark violet, teal, yellow on light paper; the reverse would vanish on dark.
const RAMP = [[68, 20, 110], [59, 82, 139], [33, 145, 140], [94, 201, 98], [240, 200, 40]];

function rampColour(share) {
  const at = Math.max(0, Math.min(1, share)) * (RAMP.length - 1);
  const [i, rest] = [Math.min(RAMP.length - 2, Math.floor(at)), at % 1];
  const part = at >= RAMP.length - 1 ? 1 : rest;
  return RAMP[i].map((from, c) => Math.round(from + (RAMP[i + 1][c] - from) * part));
}

// Fill 4 bytes a point: red, green, blue and the layer of map_scene.js.
//   column: null, or {kind, values, labels | low, high}; allowed(i): whether a filter lets it pass;
//   chosen: Uint8Array with 1 where selected, or null when nothing is.
function painted(rgba, n, column, colours, one, allowed, chosen) {
  for (let i = 0; i < n; i++) {
    const passes = allowed === null || allowed[i];
    const lit = passes && (chosen === null || chosen[i]);
    let colour = one;
    if (!passes) colour = CONTEXT;
    else if (column?.kind === "label") colour = colours[column.values[i]] ?? CONTEXT;
    else if (column?.kind === "number") {
      const value = column.values[i];
      colour = Number.isNaN(value) ? CONTEXT : colours[Math.round((255 * (value - column.low)) / (column.high - column.low || 1))];
    }
    rgba[4 * i] = colour[0];
    rgba[4 * i + 1] = colour[1];
    rgba[4 * i + 2] = colour[2];
    rgba[4 * i + 3] = !passes || !lit ? 1 : chosen !== null ? 3 : 2;
  }
  return rgba;
}
