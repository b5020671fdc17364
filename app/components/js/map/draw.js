// The cloud of points: their colours, and the view that is drawn.

import { labelColours, paint, rampColour, rgb } from "./colours.js";
import { colouring, seen } from "./data.js";
import { isDark, ratio } from "./dom.js";
import { MAX_MOVING_POINTS } from "./scene.js";
import { update } from "./state.js";

const SETTLE_MS = 140;

// Gives both canvases the size of the stage, which empties them; false when they had it.
export function sized(ui) {
  const width = Math.max(1, Math.round(ui.stage.clientWidth * ratio()));
  const height = Math.max(1, Math.round(ui.stage.clientHeight * ratio()));
  const changed = [ui.stage.firstChild, ui.over].filter((canvas) => canvas.width !== width || canvas.height !== height);
  for (const canvas of changed) [canvas.width, canvas.height] = [width, height];
  return changed.length > 0;
}

// The same for every map; of one that is hidden and shown again Gradio forgets all but its value.
let palette;

export function repaint(ui) {
  palette = ui.props.palette ?? palette;
  const { rgba, n, chosen, found } = ui.map;
  const by = colouring(ui);
  ui.map.shades =
    by?.kind === "label" ? labelColours(by.labels.length, palette, isDark())
    : by ? Array.from({ length: 256 }, (_, i) => rampColour(i / 255)) : [];
  const lit = chosen && found ? chosen.map((one, i) => one | found[i]) : chosen ?? found;
  paint(rgba, n, by, ui.map.shades, rgb(palette[0]), ui.map.allowed, lit, ui.map.crowd);
  ui.map.scene.colours(rgba);
}

export const move = (ui) => ui.map.scene.places(ui.map.xy);

// While the view moves only a sample is drawn; all of it once it rests.
export function draw(ui, changes) {
  if (!ui.stage.clientWidth || !ui.stage.clientHeight) return;
  const moving = "view" in changes;
  ui.map.scene.draw(seen(ui), moving && ui.map.n > MAX_MOVING_POINTS);
  if (!moving) return;
  const mine = ui.map;
  clearTimeout(ui.settling);
  ui.settling = setTimeout(() => { if (ui.map === mine) update(ui, { rest: true }); }, SETTLE_MS);
}
