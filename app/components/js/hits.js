// Neighbours of queries, a column an encoder; sentences that several encoders found are marked, and light up
// together under the pointer or the focus. Of how they were found it knows nothing: `value` is what
// `app/surfaces/document.py` writes, and HTML in it is that of the page's own parts.

const MINUS = "\u2212";
const MAY_SCROLL = 200; // characters: in the narrowest column more may take over ten lines

export function mount({ element, props, watch }) {
  const redraw = () => draw(element, props.value ? JSON.parse(props.value) : [], props);
  light(element);
  watch("value", redraw);
  redraw();
}

function draw(element, blocks, { palette, frozen }) {
  element.replaceChildren(...blocks.map((one, place) => block(one, place, palette, frozen)));
}

function block({ query, columns }, place, palette, frozen) {
  const { el } = window.theodolite;
  const found = columns.map(ranks);
  const badges = shared(found);
  const said = columns.some(({ byEncoder }) => byEncoder) ? agreement(columns, found) : "";
  const drawn = columns.map((column, mine) => {
    const items = column.hits.map((hit, i) => {
      const others = columns.flatMap((there, other) =>
        (other !== mine && found[other].has(hit.sentence) ? [[title(there), found[other].get(hit.sentence)]] : []));
      return item(hit, i + 1, query, badges.get(hit.sentence), others, palette);
    });
    const body = column.instead ? [html(column.instead)] : [html(column.above), el("ol", {}, ...items)];
    return el("div", { class: "t-column" }, head(column, frozen), column.note ? el("p", { class: "t-note" }, column.note) : null, ...body);
  });
  return el("section", { class: "t-hits", "data-query": place, "aria-label": query }, el("h2", {}, query),
    said ? el("p", {}, said) : null, el("div", { class: "t-columns" }, ...drawn));
}

// Where documents are cut in several ways, an encoder has several columns.
const title = ({ encoder, chunks }) => (chunks ? `${encoder} (${chunks})` : encoder);

// A sentence -> its rank. Numbers of sentences are of their own collection.
const ranks = ({ hits }) => new Map(hits.map(({ sentence }, i) => [sentence, i + 1]));

// A sentence that several found -> the number of its mark.
export function shared(found) {
  const times = new Map();
  for (const column of found) for (const text of column.keys()) times.set(text, (times.get(text) ?? 0) + 1);
  return new Map([...times].filter(([, many]) => many > 1).map(([text], number) => [text, number]));
}

// How many hits are shared, pair by pair; nothing while columns are missing.
export function agreement(columns, found) {
  const ready = columns.map((column, i) => [title(column), found[i]]).filter(([, { size }]) => size);
  if (ready.length < 2) return "";
  const [[first, mine], ...others] = ready;
  if (mine.size === 1) {
    const [text] = mine.keys();
    const same = others.filter(([, theirs]) => theirs.has(text)).map(([name]) => name);
    return same.length ? `${first} finds the same as ${same.join(", ")}.` : `No other encoder finds what ${first} finds.`;
  }
  const shares = others.map(([name, theirs]) => `${[...mine.keys()].filter((text) => theirs.has(text)).length} with ${name}`);
  return `Of its ${mine.size} nearest, ${first} shares ${shares.join(", ")}.`;
}

// A, B, …, Z, A1, …: the same for the same sentence in all columns.
export const letter = (number) => String.fromCharCode(65 + (number % 26)) + (number >= 26 ? Math.floor(number / 26) : "");

// Where another encoder ranks the same sentence: `minilm 7, 4 lower`.
export function shift(rank, name, there) {
  return there === rank ? `${name} ${there}, same` : `${name} ${there}, ${Math.abs(there - rank)} ${there > rank ? "lower" : "higher"}`;
}

function head(column, frozen) {
  const { el } = window.theodolite;
  // Pressed, the panel with all encoders opens.
  const name = column.byEncoder && !frozen
    ? el("button", { type: "button", class: "t-spec t-change", "data-of": "more", title: "Change the encoders", "data-press": "more" }, column.encoder)
    : el("span", { class: "t-spec" }, column.encoder);
  return el("header", {}, name, column.chunks ? el("small", {}, column.chunks) : null, html(column.aside));
}

function item(hit, rank, query, badge, others, palette) {
  const { el } = window.theodolite;
  const tag = (text) => el("span", { class: "t-tag" }, text);
  const marks = [...(hit.label ? [tag(hit.label)] : []), ...(hit.sentence === query ? [tag("the query itself")] : [])];
  let own = {};
  if (badge !== undefined) {
    own = { tabindex: "0", style: `--mark:${palette[badge % palette.length]}` };
    marks.unshift(el("i", { class: "t-mark", "aria-hidden": "true" }, letter(badge)));
    marks.push(...others.map(([name, there]) => el("span", {}, shift(rank, name, there))));
  }
  const links = hit.links.map(([words, to]) =>
    el("a", { href: to, title: words, "aria-label": `${words}: ${hit.sentence.slice(0, 80)}` }, words.split(" ")[0]));
  // A long text may scroll, also by keyboard.
  const reach = hit.sentence.length > MAY_SCROLL ? { tabindex: "0" } : {};
  return el("li", { "data-hit": hit.index, ...own }, el("span", { class: "t-rank" }, rank),
    el("div", {}, el("p", { dir: "auto", ...reach }, ...words(hit)), marks.length ? el("div", { class: "t-also" }, ...marks) : null),
    el("div", { class: "t-aside" }, cosine(hit.cosine), ...links));
}

// The sentence, with its matches marked. Positions count whole characters, as Python's do.
function words({ sentence, spans = [] }) {
  const characters = [...sentence], parts = [];
  let end = 0;
  for (const [start, stop] of spans) {
    const from = Math.max(start, end);
    if (stop <= from) continue; // inside the match before it
    parts.push(characters.slice(end, from).join(""), window.theodolite.el("mark", {}, characters.slice(from, stop).join("")));
    end = stop;
  }
  return [...parts, characters.slice(end).join("")];
}

function cosine(value) {
  if (value === null) return null;
  const { el } = window.theodolite;
  return el("span", { class: "t-cosine" }, value.toFixed(3).replace("-", MINUS),
    el("i", { style: `--share:${Math.round(100 * Math.max(0, value))}%` }));
}

function html(text) {
  if (!text) return null;
  const held = document.createElement("template");
  held.innerHTML = text;
  return held.content;
}

function light(element) {
  const on = ({ target }) => {
    const id = target.closest?.("[data-hit]")?.dataset.hit;
    element.querySelectorAll("[data-hit]").forEach((hit) => {
      const group = hit.closest("[data-query]") === target.closest?.("[data-query]");
      hit.classList.toggle("t-lit", id !== undefined && group && hit.dataset.hit === id);
    });
  };
  const off = () => element.querySelectorAll(".t-lit").forEach((hit) => hit.classList.remove("t-lit"));
  element.addEventListener("pointerover", on);
  element.addEventListener("pointerleave", off);
  element.addEventListener("focusin", on);
  element.addEventListener("focusout", off);
}
