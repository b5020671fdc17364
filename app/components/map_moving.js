// One map whose points move from their places to those they have on another map of the same points.
// Function declarations only: map.js holds the state.

const JOURNEY_MS = 2400;

async function moving() {
  mover.replaceChildren();
  const { towards, ends } = map.value;
  mover.hidden = !towards;
  map.home ??= map.xy;
  if (map.xy !== map.home) travelled(map.home, map.home, 0);
  if (!towards) return;
  const mine = map;
  const answer = await fetch(`${towards}/points`);
  if (!answer.ok || map !== mine) return;
  const [from, to] = [map.home, new Float32Array(await answer.arrayBuffer())];
  if (map !== mine || to.length !== from.length) return;
  const slider = el("input", { type: "range", min: "0", max: "100", value: "0", step: "1", "aria-label": `From ${ends[0]} to ${ends[1]}` });
  const go = (value) => {
    slider.value = value;
    slider.setAttribute("aria-valuetext", `${Math.round(value)} % of the way to ${ends[1]}`);
    travelled(from, to, value / 100);
  };
  slider.addEventListener("input", () => go(slider.valueAsNumber));
  const play = pressable("Move them", () => journey(slider, go), "t-button");
  mover.append(play, el("span", { class: "t-spec" }, ends[0]), slider, el("span", { class: "t-spec" }, ends[1]));
  go(0);
}

// Places between the two; what can be pointed at is where it is drawn.
function travelled(from, to, share) {
  const between = new Float32Array(from.length);
  for (let i = 0; i < from.length; i++) between[i] = from[i] + (to[i] - from[i]) * share;
  map.xy = between;
  map.grid = pointGrid(between);
  hovered = -1;
  tip.hidden = true;
  map.scene.places(between);
  draw();
}

// To the other end; at once for those who want no motion.
function journey(slider, go) {
  const [start, end] = [slider.valueAsNumber, slider.valueAsNumber < 50 ? 100 : 0];
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return go(end);
  const [mine, began] = [map, performance.now()];
  const frame = () => {
    if (map !== mine || !slider.isConnected) return;
    const share = Math.min(1, (performance.now() - began) / JOURNEY_MS);
    go(start + (end - start) * share * share * (3 - 2 * share));
    if (share < 1) requestAnimationFrame(frame);
  };
  frame();
}
