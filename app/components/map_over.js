// What lies over the cloud and is drawn without redrawing it: names of regions, the line being drawn,
// the ring around a point, its neighbours. Function declarations only: map.js holds the state.

function annotate() {
  const context = over.getContext("2d");
  const view = seen();
  context.setTransform(ratio(), 0, 0, ratio(), 0, 0);
  context.clearRect(0, 0, view.width, view.height);
  regionNames(context, view);
  if (map.point) neighbourLines(context, view);
  if (map.guest) guestMark(context, view);
  if (map.said) saidMark(context, view);
  sight(context, view);
  if (drag?.line?.length) handDrawn(context, drag.line);
  if (hovered >= 0) ring(context, placeOf(view, hovered), 7, "ink", 2);
}

const placeOf = (view, i) => view.toScreen(map.xy[2 * i], map.xy[2 * i + 1]);

function ring(context, [x, y], radius, colour, width) {
  context.strokeStyle = token("surface");
  context.lineWidth = width + 2;
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.stroke();
  context.strokeStyle = token(colour);
  context.lineWidth = width;
  context.stroke();
}

function handDrawn(context, line) {
  context.strokeStyle = token("accent");
  context.lineWidth = 1.5;
  context.beginPath();
  line.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.closePath();
  context.stroke();
  context.globalAlpha = 0.08;
  context.fillStyle = token("accent");
  context.fill();
  context.globalAlpha = 1;
}

// To the true neighbours of the open point: drawn through where they are near on the map too, dashed
// where the map put them elsewhere.
function neighbourLines(context, view) {
  const { id, neighbours } = map.point;
  const from = placeOf(view, id);
  for (const { id: other, kept } of neighbours) {
    const to = placeOf(view, other);
    context.setLineDash(kept ? [] : [5, 4]);
    context.strokeStyle = token(kept ? "accent" : "brass");
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(...from);
    context.lineTo(...to);
    context.stroke();
    context.setLineDash([]);
    ring(context, to, 5, kept ? "accent" : "brass", 1.5);
  }
  ring(context, from, 8, "ink", 2.5);
}

// A sentence that was placed afterwards.
function guestMark(context, view) {
  const [x, y] = view.toScreen(map.guest.x, map.guest.y);
  context.strokeStyle = token("bad");
  context.lineWidth = 2.5;
  context.beginPath();
  for (const [dx, dy] of [[8, 0], [0, 8]]) {
    context.moveTo(x - dx, y - dy);
    context.lineTo(x + dx, y + dy);
  }
  context.stroke();
  ring(context, [x, y], 11, "bad", 1.5);
}

const LABEL_FONT = "600 13px 'IBM Plex Sans', sans-serif";

// The names to be seen: of the finest level that this zoom calls for, without overlaps.
function namesInView(context, view) {
  const regions = map.value.regions ?? [];
  const level = Math.max(0, Math.floor(-Math.log2(map.view.span / 1.08) + 0.25));
  const levels = [...new Set(regions.map((r) => r.level))].sort((a, b) => a - b);
  const wanted = levels.filter((l) => l <= level).pop() ?? levels[0];
  context.font = LABEL_FONT;
  return placedLabels(regions.filter((r) => r.level === wanted), view, (text) => context.measureText(text).width);
}

function regionNames(context, view) {
  if (!map.names) return;
  const names = namesInView(context, view);
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = token("surface");
  context.fillStyle = token("ink");
  for (const { text, x, y } of names) {
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
}
