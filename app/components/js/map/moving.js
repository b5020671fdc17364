// One map whose points move from their places to those they have on another map of the same points.

import { binary } from "./data.js";
import { el, pressable } from "./dom.js";
import { pointGrid } from "./points.js";
import { update } from "./state.js";
import { fitted } from "./view.js";

const ANIMATION_MS = 2400;
const EVERY_MS = 300;
const POINTS_A_MS = 80; // drawn while a map is laid out: the layout needs the cores itself

export async function moving(ui) {
  ui.mover.replaceChildren();
  const { towards, ends } = ui.map.value;
  ui.mover.hidden = !towards;
  ui.map.home ??= ui.map.xy;
  if (ui.map.xy !== ui.map.home) interpolatePoints(ui, ui.map.home, ui.map.home, 0);
  if (!towards) return;
  const mine = ui.map;
  const points = await binary(ui, "points", towards).catch(() => null);
  if (!points || ui.map !== mine) return;
  const [from, to] = [ui.map.home, new Float32Array(points)];
  if (to.length !== from.length) return;
  const slider = el("input", { type: "range", min: "0", max: "100", value: "0", step: "1", "aria-label": `From ${ends[0]} to ${ends[1]}` });
  const go = (value) => {
    slider.value = value;
    slider.setAttribute("aria-valuetext", `${Math.round(value)} % of the way to ${ends[1]}`);
    interpolatePoints(ui, from, to, value / 100);
  };
  slider.addEventListener("input", () => go(slider.valueAsNumber));
  const play = pressable("Move them", () => animate(ui, slider, go), "t-button");
  ui.mover.append(play, el("span", { class: "t-spec" }, ends[0]), slider, el("span", { class: "t-spec" }, ends[1]));
  go(0);
}

// Places between the two; what can be pointed at is where it is drawn.
function interpolatePoints(ui, from, to, share) {
  const between = new Float32Array(from.length);
  for (let i = 0; i < from.length; i++) between[i] = from[i] + (to[i] - from[i]) * share;
  update(ui, { xy: between, grid: pointGrid(between), hovered: -1 }, false);
}

// To the other end; at once for those who want no motion.
function animate(ui, slider, go) {
  const [start, end] = [slider.valueAsNumber, slider.valueAsNumber < 50 ? 100 : 0];
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return go(end);
  const [mine, began] = [ui.map, performance.now()];
  const frame = () => {
    if (ui.map !== mine || !slider.isConnected) return;
    const share = Math.min(1, (performance.now() - began) / ANIMATION_MS);
    go(start + (end - start) * share * share * (3 - 2 * share));
    if (share < 1) requestAnimationFrame(frame);
  };
  frame();
}

// Points that go along while another map of them is laid out: they are where they lie there by now.
export async function laying(ui) {
  const [mine, { making }] = [ui.map, ui.map.value];
  if (!making || mine.laying === making || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  mine.laying = making;
  const wanted = () => ui.map === mine && mine.value.making === making;
  while (wanted()) {
    const answer = await fetch(`${making}/unfinished`).catch(() => null);
    if (!answer?.ok) break;
    const data = answer.status === 200 ? await answer.arrayBuffer() : null;
    if (data && wanted() && data.byteLength === mine.xy.byteLength) await glideTo(ui, rescale(mine, new Float32Array(data)), wanted);
    else await new Promise((done) => setTimeout(done, EVERY_MS));
  }
  mine.laying = "";
}

// A plane of any size, as large as the one that is seen.
function rescale(map, xy) {
  const from = fitted(pointGrid(xy));
  const factor = map.whole.size / from.size;
  return xy.map((v, i) => (i % 2 ? map.whole.y + (v - from.y) * factor : map.whole.x + (v - from.x) * factor));
}

function glideTo(ui, to, wanted) {
  const [from, began, pause] = [ui.map.xy, performance.now(), ui.map.xy.length / 2 / POINTS_A_MS];
  return new Promise((done) => {
    const frame = () => {
      if (!wanted()) return done();
      const share = Math.min(1, (performance.now() - began) / EVERY_MS);
      interpolatePoints(ui, from, to, share);
      return share < 1 ? later() : done();
    };
    const later = () => setTimeout(requestAnimationFrame, pause, frame);
    later();
  });
}
