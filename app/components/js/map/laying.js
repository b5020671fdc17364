// Points that go along while another map of them is laid out: they are where they lie there by now.

import { travelled } from "./moving.js";
import { pointGrid } from "./points.js";
import { fitted } from "./view.js";

const EVERY_MS = 300;
const POINTS_A_MS = 80; // drawn while a map is laid out: the layout needs the cores itself

export async function laying(ui) {
  const [mine, { making }] = [ui.map, ui.map.value];
  if (!making || mine.laying === making || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  mine.laying = making;
  const wanted = () => ui.map === mine && mine.value.making === making;
  while (wanted()) {
    const answer = await fetch(`${making}/unfinished`).catch(() => null);
    if (!answer?.ok) break;
    const data = answer.status === 200 ? await answer.arrayBuffer() : null;
    if (data && wanted() && data.byteLength === mine.xy.byteLength) await gone(ui, framed(mine, new Float32Array(data)), wanted);
    else await new Promise((done) => setTimeout(done, EVERY_MS));
  }
  mine.laying = "";
}

// A plane of any size, as large as the one that is seen.
function framed(map, xy) {
  const from = fitted(pointGrid(xy));
  const factor = map.whole.size / from.size;
  return xy.map((v, i) => (i % 2 ? map.whole.y + (v - from.y) * factor : map.whole.x + (v - from.x) * factor));
}

function gone(ui, to, wanted) {
  const [from, began, pause] = [ui.map.xy, performance.now(), ui.map.xy.length / 2 / POINTS_A_MS];
  return new Promise((done) => {
    const frame = () => {
      if (!wanted()) return done();
      const share = Math.min(1, (performance.now() - began) / EVERY_MS);
      travelled(ui, from, to, share);
      return share < 1 ? later() : done();
    };
    const later = () => setTimeout(requestAnimationFrame, pause, frame);
    later();
  });
}
