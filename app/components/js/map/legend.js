// What the colours stand for, and filtering by it; names, size of points and files below it.

import { rampColour } from "./colours.js";
import { colouring } from "./data.js";
import { count, el, short } from "./dom.js";
import { save, tables } from "./files.js";
import { update } from "./state.js";
import { colourBy, filterBy } from "./tools.js";
import { SIZES } from "./view.js";

const MAX_LEGEND_ROWS = 300;

// The choices around the legend, anew for every map.
export function choices(ui) {
  const pick = el("select", { "aria-label": "Colour by" }, el("option", { value: "" }, "One colour"),
    ...ui.map.value.columns.map((c) => el("option", { value: c.key }, c.name)));
  pick.addEventListener("change", () => colourBy(ui, pick.value || null));
  const saves = el("select", { "aria-label": "Save" }, el("option", { value: "" }, "Save…"),
    ...["PNG", "SVG", ...tables(ui)].map((kind) => el("option", { value: kind }, kind)));
  saves.addEventListener("change", () => { save(ui, saves.value); saves.value = ""; });
  ui.colours.replaceChildren(pick);
  ui.options.replaceChildren(...[pointSize(ui), saves, ui.map.value.regions.length ? named(ui) : null].filter(Boolean));
}

function named(ui) {
  const box = el("input", { type: "checkbox", checked: ui.map.names });
  box.addEventListener("change", () => update(ui, { names: box.checked }));
  return el("label", {}, box, " Names");
}

function pointSize(ui) {
  const pick = el("select", { "aria-label": "Points" },
    ...Object.keys(SIZES).map((size) => el("option", { value: size, selected: size === ui.map.size }, `${size[0].toUpperCase()}${size.slice(1)} points`)));
  pick.addEventListener("change", () => update(ui, { size: pick.value }));
  return pick;
}

// Anew for what the points are coloured by; what had the focus has it again.
export function renderLegend(ui) {
  ui.colours.querySelector("select").value = ui.map.colour ?? "";
  ui.options.querySelector("select").value = ui.map.size;
  const by = colouring(ui);
  const at = [...ui.legend.querySelectorAll("button, input")].indexOf(document.activeElement);
  ui.legend.replaceChildren(...(by ? [by.kind === "label" ? labelLegend(ui, by) : rampLegend(ui, by)] : []));
  if (at >= 0) ui.legend.querySelectorAll("button, input")[at]?.focus();
}

function labelLegend(ui, by) {
  const filter = ui.map.filters[ui.map.colour];
  const counts = new Uint32Array(by.labels.length + 1);
  for (const value of by.values) counts[Math.min(value, by.labels.length)]++;
  const order = by.labels.map((_, i) => i).sort((a, b) => counts[b] - counts[a]);
  const rows = order.slice(0, MAX_LEGEND_ROWS).map((i) => {
    const [r, g, b] = ui.map.shades[i];
    const on = !filter || filter.has(i);
    const row = el("button", { type: "button", "aria-pressed": String(on), class: "t-map-label", title: "Show only this, again for all; with Shift, this one more or less" },
      el("i", { style: `background: rgb(${r} ${g} ${b})`, "aria-hidden": "true" }), el("span", {}, by.labels[i]),
      el("small", {}, count(counts[i])));
    row.addEventListener("click", (event) => { // by key too: a button clicks on Enter, Shift and all
      const next = event.shiftKey && filter ? new Set(filter) : new Set();
      if (event.shiftKey && filter?.has(i)) next.delete(i);
      else next.add(i);
      const same = filter && filter.size === 1 && filter.has(i);
      filterBy(ui, ui.map.colour, same || !next.size ? null : next);
    });
    return row;
  });
  const rest = order.length - rows.length;
  const more = rest > 0 ? el("p", { class: "t-small t-muted" }, `and ${count(rest)} smaller ones`) : null;
  return el("div", { class: "t-map-labels" }, ...rows, more ?? "");
}

function rampLegend(ui, by) {
  const [low, high] = ui.map.filters[ui.map.colour] ?? [by.low, by.high];
  const step = (by.high - by.low) / 100 || 1;
  const end = (name, value) => el("input", { type: "range", min: by.low, max: by.high, step, value, "aria-label": `${name} value shown` });
  const [from, to] = [end("Lowest", low), end("Highest", high)];
  for (const input of [from, to]) {
    input.addEventListener("change", () => {
      const pair = [Number(from.value), Number(to.value)].sort((a, b) => a - b);
      filterBy(ui, ui.map.colour, pair[0] <= by.low + step / 2 && pair[1] >= by.high - step / 2 ? null : [pair[0], pair[1]]);
    });
  }
  const stops = [0, 0.25, 0.5, 0.75, 1].map((s) => `rgb(${rampColour(s).join(" ")})`).join(", ");
  return el("div", {}, el("div", { class: "t-map-ramp", style: `background: linear-gradient(to right, ${stops})` }),
    el("p", { class: "t-small" }, low === high ? short(low) : `${short(low)} to ${short(high)}`), from, to);
}
