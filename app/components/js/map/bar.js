// The tools on the map: an icon each, with its name and its key.

import { el } from "./dom.js";
import { list } from "./draw.js";
import { icon } from "./icons.js";
import { choose, clear, fit, travel, zoom } from "./tools.js";

const MODES = [["move", "Move", "M"], ["lasso", "Lasso", "L"], ["rectangle", "Rectangle", "R"]];

export function tools(ui) {
  const modes = [...MODES, ...(ui.map.value.decoding ? [["decode", "Decode", "D"]] : [])].map(([name, label, key]) =>
    tool(ui, name, label, key, () => choose(ui, name), { "data-mode": name }));
  ui.bar.replaceChildren(group(...modes), group(
    tool(ui, "undo", "Undo", "Ctrl+Z", () => travel(ui, ui.past, ui.future)),
    tool(ui, "redo", "Redo", "Ctrl+Shift+Z", () => travel(ui, ui.future, ui.past)),
    tool(ui, "clear", "Clear", "Esc", () => clear(ui))));
  ui.zooms.replaceChildren(group(
    tool(ui, "closer", "Closer", "+", () => zoom(ui, 0.6)), tool(ui, "farther", "Farther", "−", () => zoom(ui, 1 / 0.6)),
    tool(ui, "all", "Show all", "0", () => fit(ui)),
    ...(document.fullscreenEnabled ? [tool(ui, "full", "Full screen", "F", () => fullScreen(ui))] : [])),
    group(tool(ui, "table", "What is in view, as a table", "T", () => table(ui))));
  choose(ui, ui.mode === "decode" && !ui.map.value.decoding ? "move" : ui.mode);
}

const group = (...buttons) => el("span", { class: "t-map-group" }, ...buttons);

// What a key does is the canvas's to know: after a press the keyboard is there again.
function tool(ui, picture, label, key, act, attributes = {}) {
  const made = el("button", { type: "button", class: "t-map-tool", "aria-label": label, ...attributes },
    icon(picture), el("span", { class: "t-map-name", "aria-hidden": "true" }, label, el("kbd", {}, key)));
  made.addEventListener("click", () => { act(); ui.over.focus({ preventScroll: true }); });
  return made;
}

export function fullScreen(ui) {
  if (document.fullscreenElement) document.exitFullscreen();
  else if (document.fullscreenEnabled) ui.root.requestFullscreen();
}

export function table(ui) {
  ui.listing.hidden = !ui.listing.hidden;
  list(ui);
  if (!ui.listing.hidden) ui.listing.scrollIntoView({ block: "nearest" });
}
