// The line that says what is on the map, what is being done, and what went wrong.

import { count, el, sum } from "./dom.js";

// What takes a while, with a bar; the next word on the line ends it.
export function busy(ui, text) {
  ui.status.replaceChildren(`${text}…`, el("span", { class: "t-bar t-unknown", role: "progressbar", "aria-label": text }, el("i", {})));
}

export function tell(ui, text) {
  ui.status.textContent = text;
}

export function summarise(ui) {
  const { n, chosen, found, allowed, scene, unwritten } = ui.map;
  const selected = chosen ? sum(chosen) : 0;
  const shown = allowed ? sum(allowed) : n;
  tell(ui, [
    `${count(n)} point${n === 1 ? "" : "s"}`,
    shown < n ? `${count(n - shown)} filtered away, kept in grey` : "",
    found ? `${count(sum(found))} found` : "",
    selected ? `${count(selected)} selected` : "",
    unwritten ? `${unwritten} too large to fit in the link` : "",
    scene.kind === "canvas" && scene.drawn < n ? `no WebGL here: a sample of ${count(scene.drawn)} is drawn, selecting counts all` : "",
  ].filter(Boolean).join(", ") + ".");
}
