// The body of a Gradio `js_on_load`: element, props and watch are given. Nothing here calls Python.
const { el, address } = window.theodolite;

const number = (value) => value.toFixed(3).replace("-0.000", "0.000").replace("-", "−");
const percent = (share) => `${Math.round(100 * share)} %`;
const bare = (word) => word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "");
const wordsOf = (sentence) => new Set(sentence.split(/\s+/).map(bare).filter(Boolean));

let rows = [];
let shown = null; // what moves with the slider

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
  return el("span", { class: "t-measure" }, el("small", {}, name), bar, el("b", {}, number(value)));
}

const measures = (stop) => el("div", { class: "t-measures" },
  measure("to the first", stop.first, "t-one"), measure("to the second", stop.second, "t-two-end"));

function near(stop) {
  if (!stop.near.length) return null;
  return el("ul", { class: "t-near", "aria-label": "Nearest real sentences" },
    ...stop.near.map((one) => el("li", {}, el("span", { dir: "auto" }, one.sentence), el("b", {}, number(one.cosine)))));
}

// The step under the slider, and its row in the strip.
function move(at, own) {
  const { stops, ends, middle } = props.value;
  const stop = stops[at];
  shown.slider.value = at;
  shown.slider.setAttribute("aria-valuetext", `${percent(stop.share)} of the way: ${stop.sentence}`);
  shown.where.textContent = `${percent(stop.share)} of the way`;
  shown.sentence.replaceChildren(origins(stop.sentence, ends));
  shown.measures.replaceChildren(measures(stop), el("p", { class: "t-small t-muted" }, `Cosine to the point itself ${number(stop.cosine)}`));
  rows.forEach((row, i) => {
    row.classList.toggle("t-now", i === at);
    row.querySelector("button").setAttribute("aria-pressed", String(i === at));
  });
  if (own) address(["at"], [at === middle ? "" : at], {});
}

function row(stop, at) {
  const go = el("button", { type: "button", class: "t-step", "aria-label": `Show ${percent(stop.share)} of the way` }, percent(stop.share));
  go.addEventListener("click", () => move(at, true));
  return el("li", {}, go,
    el("div", {}, el("p", { class: "t-stop" }, origins(stop.sentence, props.value.ends)), near(stop)),
    measures(stop));
}

function draw() {
  const value = props.value;
  element.hidden = !value;
  if (!value) return element.replaceChildren();
  const { stops, ends, collection } = value;
  const slider = el("input", { type: "range", min: 0, max: stops.length - 1, step: 1, "aria-label": "Share of the way" });
  slider.addEventListener("input", () => move(Number(slider.value), true));
  shown = { slider, where: el("output", {}), sentence: el("p", { class: "t-sentence" }), measures: el("div", {}) };
  rows = stops.map(row);
  element.replaceChildren(el("div", { class: "t-walk" },
    el("section", { class: "t-stage", "aria-label": "The step under the slider" },
      el("div", { class: "t-ends" }, el("span", { dir: "auto" }, ends[0]), shown.where, el("span", { dir: "auto" }, ends[1])),
      slider, shown.sentence, shown.measures),
    el("p", { class: "t-legend" }, "Words ", el("span", { class: "t-of-first" }, "of the first"), ", ",
      el("span", { class: "t-of-second" }, "of the second"), ", of both, ", el("span", { class: "t-of-none" }, "of neither"), ".",
      collection ? ` Below the step on the slider: the sentences of ${collection} nearest to its point, with their cosine.` : ""),
    el("ol", { class: "t-steps", "aria-label": "All steps" }, ...rows)));
  move(value.at, false);
}

watch("value", draw);
draw();
