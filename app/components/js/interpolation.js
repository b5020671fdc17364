// Steps between two sentences: a slider, the step under it, and the list of all steps. `value` has `steps`, the rows of
// the answer from the first sentence to the second, both `ends`, and the `collection` of the real sentences.

import { cosine, el } from "./map/dom.js";

const percent = (share) => `${Math.round(100 * share)} %`;
const bare = (word) => word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
const wordsOf = (sentence) => new Set(sentence.split(/\s+/).map(bare).filter(Boolean));

// A sentence with its words marked by the end they come from; words of both ends are plain.
function origins(sentence, ends) {
  const [first, second] = ends.map(wordsOf);
  const kind = (part) => {
    const word = bare(part);
    const [a, b] = [first.has(word), second.has(word)];
    return !word || (a && b) ? "" : a ? "t-of-first" : b ? "t-of-second" : "t-of-none";
  };
  const runs = []; // neighbours of one kind are one mark
  for (const part of sentence.split(/\s+/).filter(Boolean)) {
    if (runs.at(-1)?.kind === kind(part)) runs.at(-1).text += ` ${part}`;
    else runs.push({ kind: kind(part), text: part });
  }
  const marks = runs.flatMap(({ kind, text }, i) => [i ? " " : "", kind ? el("span", { class: kind }, text) : text]);
  return el("span", { dir: "auto" }, ...(sentence ? marks : [el("span", { class: "t-muted" }, "nothing at all")]));
}

function measure(name, value, kind) {
  const bar = el("i", { class: kind });
  bar.style.setProperty("--share", `${Math.round(100 * Math.max(0, Math.min(1, value)))}%`);
  return el("span", { class: "t-measure" }, el("small", {}, name), bar, el("b", {}, cosine(value)));
}

const measures = (stop) => el("div", { class: "t-measures" },
  measure("to the first", stop.to_first, "t-one"), measure("to the second", stop.to_second, "t-two-end"));

function near(stop) {
  if (!stop.near.length) return null;
  return el("ul", { class: "t-near", "aria-label": "Nearest real sentences" },
    ...stop.near.map((one) => el("li", {}, el("span", { dir: "auto" }, one.sentence), el("b", {}, cosine(one.cosine)))));
}

export function mount({ element, props, watch }) {
  const draw = () => {
    element.hidden = !props.value;
    if (props.value) drawSteps(element, props.value);
  };
  watch("value", draw);
  draw();
}

function drawSteps(element, { steps, ends, collection }) {
  const middle = Math.floor(steps.length / 2);
  const slider = el("input", { type: "range", min: 0, max: steps.length - 1, step: 1, "aria-label": "Share of the way" });
  const where = el("output", {}), sentence = el("p", { class: "t-sentence" }), numbers = el("div", {});
  // The step under the slider, and its row in the list.
  const move = (at) => {
    const step = steps[at];
    slider.value = at;
    slider.setAttribute("aria-valuetext", `${percent(step.share)} of the way: ${step.sentence}`);
    where.textContent = `${percent(step.share)} of the way`;
    sentence.replaceChildren(origins(step.sentence, ends));
    numbers.replaceChildren(measures(step), el("p", { class: "t-small t-muted" }, `Cosine to the point itself ${cosine(step.cosine ?? 0)}`));
    rows.forEach((row, i) => {
      row.classList.toggle("t-now", i === at);
      row.querySelector("button").setAttribute("aria-pressed", String(i === at));
    });
  };
  const choose = (at) => {
    move(at);
    window.theodolite.address?.(["at"], [at === middle ? "" : at], {});
  };
  const rows = steps.map((step, at) => {
    const go = el("button", { type: "button", class: "t-step", "aria-label": `Show ${percent(step.share)} of the way` }, percent(step.share));
    go.addEventListener("click", () => choose(at));
    return el("li", {}, go, el("div", {}, el("p", { class: "t-stop" }, origins(step.sentence, ends)), near(step)), measures(step));
  });
  slider.addEventListener("input", () => choose(Number(slider.value)));
  element.replaceChildren(el("div", { class: "t-walk" },
    el("section", { class: "t-stage", "aria-label": "The step under the slider" },
      el("div", { class: "t-ends" }, el("span", { dir: "auto" }, ends[0]), where, el("span", { dir: "auto" }, ends[1])),
      slider, sentence, numbers),
    el("p", { class: "t-legend" }, "Words ", el("span", { class: "t-of-first" }, "of the first"), ", ",
      el("span", { class: "t-of-second" }, "of the second"), ", of both, ", el("span", { class: "t-of-none" }, "of neither"), ".",
      collection ? ` Below the step on the slider: the sentences of ${collection} nearest to its point, with their cosine.` : ""),
    el("ol", { class: "t-steps", "aria-label": "All steps" }, ...rows)));
  const at = Number(new URLSearchParams(location.search).get("at") || middle);
  move(at in steps ? at : middle);
}
