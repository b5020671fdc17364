// The boxes on the map: finding points by their text, and placing a sentence that is not on it.

import { find, place } from "./ask.js";
import { el, pressable } from "./dom.js";
import { select } from "./tools.js";

export function finding(ui) {
  const { sought } = ui.map;
  const words = el("input", { type: "search", placeholder: "Find words", "aria-label": "Find", maxlength: "500", value: sought?.text ?? "" });
  const pattern = el("input", { type: "checkbox", checked: Boolean(sought?.pattern), "aria-label": "Regular expression" });
  const go = () => find(ui, words.value, pattern.checked);
  onEnter(words, go);
  words.addEventListener("search", () => { if (!words.value) go(); });
  const regex = el("label", { class: "t-map-regex", title: "Regular expression" }, pattern, el("span", { "aria-hidden": "true" }, ".*"));
  ui.pickFound = pressable("Select what was found", () => ui.map.found && select(ui, foundNumbers(ui), "add"), "t-map-tool t-map-wide");
  ui.pickFound.hidden = !ui.map.found;
  ui.finder.replaceChildren(...[el("span", { class: "t-map-group" }, words, regex), ui.pickFound, ui.map.value.placing ? placing(ui) : null].filter(Boolean));
}

const onEnter = (input, run) =>
  input.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); run(); } });

function placing(ui) {
  const words = el("input", {
    type: "text", placeholder: "Place a sentence", "aria-label": "Place a sentence", maxlength: "2000" });
  onEnter(words, () => words.value.trim() && place(ui, words.value));
  return el("span", { class: "t-map-group" }, words);
}

function foundNumbers(ui) {
  const numbers = [];
  for (let i = 0; i < ui.map.n; i++) if (ui.map.found[i]) numbers.push(i);
  return numbers;
}

// The boxes hold the search whose points stand out.
export function renderFinder(ui) {
  const { found, sought } = ui.map;
  const [words, pattern] = ui.finder.querySelectorAll("input");
  if (sought || !found) words.value = sought?.text ?? (document.activeElement === words ? words.value : "");
  if (sought) pattern.checked = sought.pattern;
  ui.pickFound.hidden = !found;
}
