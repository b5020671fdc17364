// The tools on the map: an icon each, with its name and its key.

import { el } from "./dom.js";
import { undoRedo } from "./state.js";
import { choose, clear, fit, fullScreen, toggleListing, zoom } from "./tools.js";

const MODES = [["move", "Move", "M"], ["lasso", "Lasso", "L"], ["rectangle", "Rectangle", "R"]];

export function tools(ui) {
  const modes = [...MODES, ...(ui.map.value.decoding ? [["decode", "Decode", "D"]] : [])].map(([name, label, key]) =>
    tool(ui, name, label, key, () => choose(ui, name), { "data-mode": name }));
  ui.bar.replaceChildren(group(...modes), group(
    tool(ui, "undo", "Undo", "Ctrl+Z", () => undoRedo(ui, ui.past, ui.future)),
    tool(ui, "redo", "Redo", "Ctrl+Shift+Z", () => undoRedo(ui, ui.future, ui.past)),
    tool(ui, "clear", "Clear", "Esc", () => clear(ui))));
  ui.zooms.replaceChildren(group(
    tool(ui, "closer", "Closer", "+", () => zoom(ui, 0.6)), tool(ui, "farther", "Farther", "−", () => zoom(ui, 1 / 0.6)),
    tool(ui, "all", "Show all", "0", () => fit(ui)),
    ...(document.fullscreenEnabled ? [tool(ui, "full", "Full screen", "F", () => fullScreen(ui))] : [])),
    group(tool(ui, "table", "What is in view, as a table", "T", () => toggleListing(ui))));
  renderMode(ui);
}

// The tool in the hand.
export function renderMode(ui) {
  ui.over.dataset.mode = ui.map.mode;
  ui.bar.querySelectorAll("[data-mode]").forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.mode === ui.map.mode)));
}

const group = (...buttons) => el("span", { class: "t-map-group" }, ...buttons);

// What a key does is the canvas's to know: after a press the keyboard is there again.
function tool(ui, picture, label, key, act, attributes = {}) {
  const made = el("button", { type: "button", class: "t-map-tool", "aria-label": label, ...attributes },
    icon(picture), el("span", { class: "t-map-name", "aria-hidden": "true" }, label, el("kbd", {}, key)));
  made.addEventListener("click", () => { act(); ui.over.focus({ preventScroll: true }); });
  return made;
}

// The pictures on the map's tools, drawn by line on 20 by 20.

const LINES = {
  move: "M10 2v16M2 10h16M10 2 7.5 4.5M10 2l2.5 2.5M10 18l-2.5-2.5M10 18l2.5-2.5M2 10l2.5-2.5M2 10l2.5 2.5M18 10l-2.5-2.5M18 10l-2.5 2.5",
  lasso: "M6.5 13.6C4 12.800 2.500 11 2.500 8.800 2.500 5.400 6 3 10 3s7.500 2.400 7.500 5.800-3.500 5.700-7.500 5.700c-.9 0-1.700-.1-2.500-.3M7.500 14.200a1.700 1.700 0 1 0-1.700 1.700c1 0 1.700-.7 1.700-1.700Zm0 0c.4 1.700-.5 3-2 3.800",
  rectangle: "M3 5V3h2M8 3h4M15 3h2v2M17 8v4M17 15v2h-2M12 17H8M5 17H3v-2M3 12V8",
  decode: "M3 4h14v9H9l-4 4v-4H3ZM6.500 7.300h7M6.500 10h4.500",
  closer: "M10 4v12M4 10h12",
  farther: "M4 10h12",
  all: "M3 7V3h4M13 3h4v4M17 13v4h-4M7 17H3v-4M7.500 10h5M10 7.500v5",
  full: "M12 3h5v5M17 3l-5.500 5.500M8 17H3v-5M3 17l5.500-5.500",
  undo: "M7 4 3 8l4 4M3 8h8.500a5 4.500 0 0 1 0 9H8",
  redo: "M13 4l4 4-4 4M17 8H8.500a5 4.500 0 0 0 0 9H12",
  clear: "M5 5l10 10M15 5 5 15",
  table: "M3 4h14v12H3ZM3 8h14M3 12h14M8.500 8v8",
};

function icon(name) {
  const holder = document.createElement("template");
  holder.innerHTML = `<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true" fill="none" stroke="currentColor" ` +
    `stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round"><path d="${LINES[name]}"/></svg>`;
  return holder.content.firstChild;
}
