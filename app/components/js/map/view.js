// What part of the plane is seen, and where a place of it lies on the screen.
// A view has a centre and `span`, the share of the whole plane that its shorter side shows.

export const CLOSEST = 1e-5;

// The plane is scaled so that all points fit into the shorter side; `box` is that of the points.
export function fitted(box) {
  const size = Math.max(box.right - box.left, box.top - box.bottom) || 1;
  return { x: (box.left + box.right) / 2, y: (box.bottom + box.top) / 2, span: 1.08, size };
}

// Everything the scene wants to know, from the view and the size of the canvas in pixels.
export function project(view, width, height, ratio) {
  const shorter = Math.min(width, height);
  const unit = shorter / (view.size * view.span); // pixels a unit of the plane
  const [scaleX, scaleY] = [(2 * unit) / width, (2 * unit) / height];
  return {
    width, height, ratio, unit, scaleX, scaleY,
    shiftX: -view.x * scaleX,
    shiftY: -view.y * scaleY,
    span: view.span,
    toScreen: (x, y) => [width / 2 + (x - view.x) * unit, height / 2 - (y - view.y) * unit],
    toPlane: (px, py) => [view.x + (px - width / 2) / unit, view.y - (py - height / 2) / unit],
  };
}

// Closer by a factor (below 1) or farther, with the place under (px, py) staying where it is.
export function zoomAt(view, width, height, px, py, factor) {
  const before = project(view, width, height, 1).toPlane(px, py);
  const span = Math.max(CLOSEST, Math.min(4, view.span * factor));
  const next = { ...view, span };
  const after = project(next, width, height, 1).toPlane(px, py);
  return { ...next, x: view.x + before[0] - after[0], y: view.y + before[1] - after[1] };
}

// `x,y,span` with as many digits as can be seen, for the address.
export function formatView(view) {
  const digits = Math.max(2, Math.ceil(-Math.log10(view.size * view.span)) + 5);
  return [view.x.toFixed(digits), view.y.toFixed(digits), Number(view.span.toPrecision(6))].join(",");
}

export function readView(text, whole) {
  const [x, y, span] = String(text || "").split(",").map(Number);
  const sound = [x, y, span].every(Number.isFinite) && span >= CLOSEST && span <= 4;
  return sound ? { ...whole, x, y, span } : whole;
}

// Names of regions that do not overlap, the larger regions first; `regions` are sorted by size.
export function placeLabels(regions, at, measure) {
  const taken = [];
  const placed = [];
  for (const region of regions) {
    const [x, y] = at.toScreen(region.x, region.y);
    if (x < 0 || y < 0 || x > at.width || y > at.height) continue;
    const [w, h] = [measure(region.text) / 2 + 6, 11];
    const box = [x - w, y - h, x + w, y + h];
    if (box[0] < 0 || box[2] > at.width) continue;
    if (taken.some((b) => box[0] < b[2] && b[0] < box[2] && box[1] < b[3] && b[1] < box[3])) continue;
    taken.push(box);
    placed.push({ text: region.text, x, y });
  }
  return placed;
}

// How large points are drawn, by the names that the address knows.
export const SIZES = { small: 0.6, usual: 1, large: 1.8 };
