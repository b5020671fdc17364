// Finding points by their text, and placing a sentence that is not on the map. The server searches: it can
// stop a pattern that would take for ever.

import { request } from "./data.js";
import { el, pressable } from "./dom.js";
import { busy, repaint, say } from "./draw.js";
import { broadcast } from "./link.js";
import { annotate } from "./overlay.js";
import { renderPanel, uncover } from "./panel.js";
import { select } from "./tools.js";
import { findIn } from "./staticSource.js";

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

export async function find(ui, text, pattern = false, own = true) {
  const mine = ui.map;
  const sought = text.trim() ? { text: text.trim(), pattern } : null;
  mine.sought = sought;
  let [found, failure] = [null, ""];
  if (sought) {
    busy(ui, pattern ? "Looking; a pattern that takes too long is stopped" : "Looking");
    try {
      found = await findPoints(ui, sought);
    } catch (error) {
      failure = error.message;
    }
    if (ui.map !== mine || mine.sought !== sought) return; // another search began meanwhile
    if (failure) mine.sought = null;
  }
  highlight(ui, found, mine.sought);
  if (own) broadcast(ui, { found, sought: mine.sought });
  if (failure) ui.status.textContent = failure;
}

// Points that match stand out; the boxes hold the search.
export function highlight(ui, found, sought) {
  ui.map.found = found;
  ui.map.sought = sought;
  const [words, pattern] = ui.finder.querySelectorAll("input");
  if (sought || !found) words.value = sought?.text ?? (document.activeElement === words ? words.value : "");
  if (sought) pattern.checked = sought.pattern;
  ui.pickFound.hidden = !found;
  repaint(ui);
}

async function findPoints(ui, { text, pattern }) {
  if (ui.map.value.parts) return findIn(ui, { text, pattern });
  const answer = await request(ui, `find?text=${encodeURIComponent(text)}${pattern ? "&pattern=1" : ""}`);
  if (answer.headers.get("Content-Type").startsWith("text/")) throw new Error(await answer.text());
  const found = new Uint8Array(ui.map.n);
  for (const i of new Uint32Array(await answer.arrayBuffer())) found[i] = 1;
  return found;
}

async function place(ui, text) {
  const mine = ui.map;
  busy(ui, "Placing it; a model that is not loaded yet takes some seconds");
  try {
    const answer = await fetch(`${mine.value.url}/place`, {
      method: "POST", headers: { "Content-Type": "text/plain; charset=utf-8" }, body: text,
    });
    if (!answer.ok) throw new Error(await answer.text());
    const placed = await answer.json();
    if (ui.map !== mine) return;
    mine.placedPoint = { ...placed, text };
    [mine.point, mine.decoded] = [null, null];
    say(ui);
    annotate(ui);
    renderPanel(ui);
    uncover(ui, placed.x, placed.y);
  } catch (error) {
    ui.status.textContent = error.message;
  }
}
