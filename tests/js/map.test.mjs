// The parts of the map that need no browser: places, colours, what is seen of the plane.
import assert from "node:assert/strict";
import test from "node:test";

import { crowding, labelColours, paint, rampColour, rgb } from "../../app/components/js/map/colours.js";
import { percent, short } from "../../app/components/js/map/dom.js";
import { howKept } from "../../app/components/js/map/panel.js";
import { forward, interleave, nearestPoint, pointGrid, pointsInside, topmost } from "../../app/components/js/map/points.js";
import { markLook, pointLook, webglScene } from "../../app/components/js/map/scene.js";
import { allowed, remember, subscribe, undoRedo, update } from "../../app/components/js/map/state.js";
import { fitted, placeLabels, project, readView, formatView, zoomAt } from "../../app/components/js/map/view.js";

// Points drawn with a fixed seed, and the slow way to each answer.
function cloud(n, seed = 7) {
  let state = seed;
  const draw = () => ((state = (1103515245 * state + 12345) % 2147483648) / 2147483648);
  return Float32Array.from({ length: 2 * n }, draw);
}

function inside(polygon, x, y) {
  let crossed = false;
  polygon.forEach(([ax, ay], i) => {
    const [bx, by] = polygon[(i + 1) % polygon.length];
    if (ay > y !== by > y && x < ax + ((y - ay) * (bx - ax)) / (by - ay)) crossed = !crossed;
  });
  return crossed;
}

test("lengths of sentences are whole numbers, however long", () => {
  assert.deepEqual([47, 12345, 0.12345, 1234.5].map(short), ["47", "12,345", "0.123", "1230"]);
});

test("the nearest point is the one that looking at all would find", () => {
  const xy = cloud(500);
  const grid = pointGrid(xy);
  for (const [x, y] of [[0.5, 0.5], [0, 0], [1, 0.2], [0.31, 0.77]]) {
    let [best, closest] = [-1, 0.2 ** 2];
    for (let i = 0; i < 500; i++) {
      const distance = (xy[2 * i] - x) ** 2 + (xy[2 * i + 1] - y) ** 2;
      if (distance < closest) [best, closest] = [i, distance];
    }
    assert.equal(nearestPoint(grid, x, y, 0.2), best);
  }
});

test("a point that may not be found is passed over, and far ones are none", () => {
  const grid = pointGrid(Float32Array.of(0, 0, 1, 1, 0.1, 0.1));
  assert.equal(nearestPoint(grid, 0.02, 0.02, 0.5, (i) => i !== 0), 2);
  assert.equal(nearestPoint(grid, 0.5, 0.5, 0.1), -1);
});

test("a lasso takes the points that the even-odd rule takes, also of a line that crosses itself", () => {
  const xy = cloud(800, 3);
  const star = [[0.5, 0.05], [0.8, 0.95], [0.05, 0.35], [0.95, 0.35], [0.2, 0.95]];
  const found = Array.from(pointsInside(pointGrid(xy), star)).sort((a, b) => a - b);
  const expected = [];
  for (let i = 0; i < 800; i++) if (inside(star, xy[2 * i], xy[2 * i + 1])) expected.push(i);
  assert.deepEqual(found, expected);
  assert.ok(expected.length > 100);
});

test("no points and points on one spot make a grid too", () => {
  assert.equal(pointsInside(pointGrid(new Float32Array(0)), [[0, 0], [1, 0], [1, 1]]).length, 0);
  assert.equal(nearestPoint(pointGrid(Float32Array.of(2, 2, 2, 2)), 2, 2, 1), 1);
});

test("an interleaved order has every number once, is the same on every visit, and begins anywhere", () => {
  const order = interleave(100_000);
  assert.deepEqual(Array.from(order).sort((a, b) => a - b), Array.from({ length: 100_000 }, (_, i) => i));
  assert.deepEqual(order, interleave(100_000));
  const tenths = new Uint32Array(10);
  for (const i of order.subarray(0, 5000)) tenths[Math.floor(i / 10_000)]++;
  assert.ok(tenths.every((count) => count > 450 && count < 550), String(tenths));
});

test("of a full cell so many points are marked from all over, of others all", () => {
  const xy = Float32Array.from([...Array(900).fill([0.1, 0.1]), ...Array(100).fill([0.101, 0.1]), [0.9, 0.9], [1, 0]].flat());
  const marks = topmost(pointGrid(xy), 4);
  assert.deepEqual([marks.slice(0, 1000).filter(Boolean).length, marks[1000], marks[1001]], [4, 1, 1]);
  const numbers = Array.from(marks.keys()).filter((i) => i < 1000 && marks[i]);
  assert.ok(numbers.every((i, k) => i >= 250 * k && i < 250 * (k + 1)), String(numbers));
});

test("the share of a few among the marked ones is theirs among all, wherever they stand in the data", () => {
  const xy = cloud(40_000);
  const marks = topmost(pointGrid(xy.map((v) => Math.floor(v * 20))), 4); // 400 full places
  let [last, all] = [0, 0];
  marks.forEach((mark, i) => { all += mark; if (i >= 36_000) last += mark; });
  assert.ok(all === 1600 && last > 120 && last < 200, `${last} of ${all}`);
});

test("what is marked comes first, in its order, after a sample that stays, and none is lost", () => {
  const [order, marks] = [Uint32Array.of(4, 2, 0, 3, 1), Uint8Array.of(1, 1, 0, 0, 0)];
  assert.equal(forward(order, marks, 1), 3);
  assert.deepEqual(Array.from(order), [4, 0, 1, 2, 3]);
});

test("a place on the screen goes to the plane and back", () => {
  const view = { ...fitted({ left: -2, right: 6, bottom: 1, top: 3 }), span: 0.4 };
  const at = project(view, 900, 600, 2);
  const [x, y] = at.toPlane(...at.toScreen(1.25, 2.5));
  assert.ok(Math.abs(x - 1.25) < 1e-9 && Math.abs(y - 2.5) < 1e-9);
});

test("zooming leaves the place under the pointer where it is, and has an end", () => {
  const view = fitted({ left: 0, right: 1, bottom: 0, top: 1 });
  const before = project(view, 800, 600, 1).toPlane(200, 450);
  const closer = zoomAt(view, 800, 600, 200, 450, 0.25);
  const after = project(closer, 800, 600, 1).toPlane(200, 450);
  assert.ok(Math.hypot(before[0] - after[0], before[1] - after[1]) < 1e-9);
  assert.equal(zoomAt(view, 800, 600, 0, 0, 1e-12).span, 1e-5);
});

test("a view in the address is read as it was written; what is none is the whole", () => {
  const whole = fitted({ left: 0, right: 10, bottom: 0, top: 10 });
  const view = { ...whole, x: 1.23456, y: 9.87654, span: 0.015 };
  const again = readView(formatView(view), whole);
  assert.ok(Math.abs(again.x - view.x) < 1e-4 && Math.abs(again.y - view.y) < 1e-4);
  assert.equal(again.span, 0.015);
  for (const text of ["", "1,2", "a,b,c", "1,2,0", "1,2,9", "NaN,1,1"]) assert.equal(readView(text, whole), whole);
});

test("names do not lie over each other, and the larger region keeps its own", () => {
  const at = project(fitted({ left: 0, right: 1, bottom: 0, top: 1 }), 600, 600, 1);
  const regions = [{ text: "large", x: 0.5, y: 0.5 }, { text: "small", x: 0.505, y: 0.5 }, { text: "far", x: 0.2, y: 0.8 }];
  assert.deepEqual(placeLabels(regions, at, () => 60).map((one) => one.text), ["large", "far"]);
});

test("labels beyond the palette have colours of their own", () => {
  const colours = labelColours(40, ["#010203"], false);
  assert.deepEqual(colours[0], [1, 2, 3]);
  assert.equal(new Set(colours.map(String)).size, 40);
  assert.deepEqual(rgb("#0aff10"), [10, 255, 16]);
});

test("the ramp begins and ends as it should, and holds still beyond its ends", () => {
  assert.deepEqual(rampColour(0), rampColour(-3));
  assert.deepEqual(rampColour(1), rampColour(7));
  assert.deepEqual(rampColour(0), [68, 20, 110]);
  assert.deepEqual(rampColour(1), [240, 200, 40]);
});

test("a selected point lies above others, a filtered one below, and what was not measured is grey", () => {
  const column = { kind: "number", values: Float32Array.of(0, 1, NaN), low: 0, high: 1 };
  const colours = Array.from({ length: 256 }, (_, i) => [i, i, i]);
  const crowd = Uint8Array.of(5, 6, 7);
  const rgba = paint(new Uint8Array(12), 3, column, colours, [9, 9, 9], Uint8Array.of(1, 0, 1), Uint8Array.of(1, 0, 0), crowd);
  assert.deepEqual([3, 7, 11].map((at) => rgba[at] >> 6), [3, 1, 1]);
  assert.deepEqual([3, 7, 11].map((at) => rgba[at] & 63), [5, 6, 7]);
  assert.deepEqual(Array.from(rgba.subarray(0, 3)), [0, 0, 0]);
  assert.deepEqual(Array.from(rgba.subarray(8, 11)), [150, 156, 160]);
});

test("the most crowded place counts most", () => {
  const xy = Float32Array.from([...Array(30).fill([0.1, 0.1]).flat(), 0.9, 0.9]);
  const crowd = crowding(pointGrid(xy));
  assert.equal(crowd[0], 63);
  assert.ok(crowd[30] < 30);
});

test("few points are large, many small, and a selected one stands out", () => {
  const view = { width: 800, height: 600, span: 1, grow: 1 };
  const [few, many] = [pointLook(100, view), pointLook(1_000_000, view)];
  assert.ok(few.size > many.size && few.opacity >= many.opacity);
  assert.equal(markLook(many, 3 << 6).opacity, 1);
  assert.ok(markLook(many, 1 << 6).opacity < markLook(many, 2 << 6).opacity);
});

test("what is buried from afar is not drawn, but from near, and whenever a point stands out", () => {
  const calls = { drawArrays: (kind, first, count) => { drawn += count; }, getProgramParameter: () => true };
  const gl = new Proxy(calls, { get: (own, name) => own[name] ?? (() => ({})) });
  const grid = pointGrid(cloud(400_000));
  const scene = webglScene({ getContext: () => gl, addEventListener() {} }, grid, () => {});
  const rgba = new Uint8Array(1_600_000).fill(2 << 6);
  let drawn = 0;
  globalThis.cancelAnimationFrame = () => {};
  const count = (unit, shades) => {
    drawn = 0;
    scene.colours(shades);
    scene.draw({ width: 800, height: 600, span: 1, grow: 1, ratio: 1, unit }, false, true);
    return drawn;
  };
  assert.equal(count(600, rgba), 400_000);
  const afar = count(60, rgba);
  assert.ok(afar > 30_000 && afar < 390_000, String(afar));
  rgba[3] = 3 << 6;
  assert.equal(count(60, rgba), 400_000);
  scene.places(grid.xy.slice());
  assert.equal(count(60, rgba.fill(2 << 6)), 400_000);
});

function stateOf(map) {
  return { map: { n: 3, chosen: null, filters: {}, colour: null, columns: {}, allowed: null, ...map }, subscribers: [], past: [], future: [] };
}

test("whoever draws from a changed value is told once, in order, and of nothing else", () => {
  const [ui, told] = [stateOf({}), []];
  subscribe(ui, "colour filters", (_, changes, isOwn) => told.push(["points", Object.keys(changes), isOwn]));
  subscribe(ui, "view", () => told.push(["view"]));
  subscribe(ui, "filters", () => told.push(["legend", ui.map.allowed]));
  update(ui, { colour: "label", filters: {} }, false);
  assert.deepEqual(told, [["points", ["colour", "filters"], false], ["legend", null]]);
});

test("a point has to pass every filter, and undo brings back what was chosen and filtered", () => {
  const columns = {
    label: { kind: "label", values: Uint16Array.of(0, 1, 1) }, length: { kind: "number", values: Float32Array.of(5, 9, 20) },
  };
  const ui = stateOf({ columns });
  remember(ui);
  update(ui, { filters: { label: new Set([1]), length: [8, 10], gone: new Set() }, chosen: Uint8Array.of(1, 0, 0) });
  assert.deepEqual([...ui.map.allowed], [0, 1, 0]);
  assert.equal(allowed({ n: 3, filters: {}, columns }), null);
  undoRedo(ui, ui.past, ui.future);
  assert.deepEqual([ui.map.allowed, ui.map.chosen], [null, null]);
  undoRedo(ui, ui.future, ui.past);
  assert.deepEqual([...ui.map.allowed], [0, 1, 0]);
});

test("a share that is not all reads less than all", () => {
  assert.deepEqual([0, 0.0004, 0.5, 0.9997, 1].map(percent), ["0.0 %", "under 0.1 %", "50.0 %", "over 99.9 %", "100.0 %"]);
});

test("how many of the nearest stayed near is said for one, none and all", () => {
  assert.match(howKept(0, 1), /^Its nearest .* is not its nearest on the map;/);
  assert.match(howKept(1, 1), /^Its nearest .* is its nearest on the map too\.$/);
  assert.match(howKept(0, 15), /, none is among its 15 nearest on the map; .* placed them,/);
  assert.match(howKept(1, 15), /, one is among/);
  assert.match(howKept(15, 15), /, all are among its 15 nearest on the map\.$/);
});
