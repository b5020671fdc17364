// The page Search where nobody serves it: a box for a query, and below it the hits of the live page.

import { mount as mountHits } from "../hits.js";
import { Refused, withPattern } from "../pattern.js";
import { Collection } from "./collection.js";
import { fetched } from "./parts.js";
import { meant, placesOf, wordsOf } from "./words.js";

const MAX_QUERY = 2000;
const MATCHES = { encoder: "sentences that match", byEncoder: false };

export function mount({ element, props, watch }) {
  const { el } = window.theodolite;
  const box = el("input", { type: "search", "aria-label": "Query", maxlength: MAX_QUERY, autocomplete: "off", placeholder: 'A sentence, "exact words", or a /pattern/' });
  const form = el("form", { class: "t-ask", role: "search" }, box, el("button", { class: "t-button t-primary" }, "Search"),
    el("button", { type: "button", class: "t-button" }, "Pick one"));
  const about = el("p", { class: "t-muted" }), area = el("div", { "aria-live": "polite" });
  element.replaceChildren(form, about, area);
  const ui = { box, area, turn: 0, collection: null, links: (index, sentence) => [["similar to this", linkTo(ui, index, sentence)]] };
  ui.hits = hitsIn(area, props.palette);
  const opened = () => {
    if (!props.value) return;
    ui.collection = new Collection(props.value, fetched);
    about.textContent = props.value.about;
    const query = new URLSearchParams(location.search);
    const asked = query.get("q")?.slice(0, MAX_QUERY);
    if (asked) ask(ui, asked, number(query.get("id")));
    else first(ui);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (box.value.trim()) ask(ui, box.value.trim());
  });
  form.lastChild.addEventListener("click", async () => {
    const index = Math.floor(Math.random() * ui.collection.value.sentences);
    ask(ui, await ui.collection.text(index), index);
  });
  area.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const query = new URL(link.href).searchParams;
    event.preventDefault();
    ask(ui, query.get("q"), number(query.get("id")));
    window.scrollTo({ top: 0 });
  });
  watch("value", opened);
  opened();
}

const number = (text) => (/^\d{1,9}$/.test(text ?? "") ? Number(text) : null);

// The component of the live page, given what it shows.
function hitsIn(element, palette) {
  const props = { value: null, palette, frozen: true };
  let redraw = null;
  mountHits({ element, props, watch: (_, heard) => { redraw = heard; } });
  return (query, columns) => {
    props.value = JSON.stringify([{ query, columns }]);
    redraw();
  };
}

// What the page begins with: a query whose hits came with the page.
function first(ui) {
  const { first: query, columns } = ui.collection.value;
  ui.turn += 1;
  ui.box.value = query;
  if (meant(query) !== "meaning") return exactly(ui, query);
  ui.hits(query, columns.map((column) => drawn(ui, column, column.first.map(([index, sentence, cosine]) => ({ index, sentence, cosine })),
    column.first.length ? "" : UNKNOWN)));
}

// Every column as it becomes ready; of a sentence of the collection its number may be known.
async function ask(ui, query, id = null) {
  const { collection } = ui, mine = (ui.turn += 1);
  ui.box.value = query;
  window.theodolite.address(["q", "id"], [query, id], {}, { step: true });
  if (query === collection.value.first) return first(ui);
  if (meant(query) !== "meaning") return exactly(ui, query);
  const shown = collection.columns.map((column) => drawn(ui, column, [], waiting(column, 0)));
  const draw = () => { if (mine === ui.turn) ui.hits(query, shown); };
  draw();
  const candidates = id === null ? [] : [id];
  const place = async (at, answer) => {
    shown[at] = await answer.catch((error) => drawn(ui, collection.columns[at], [], failed(error)));
    draw();
  };
  const alive = collection.columns.map((column, at) => [column, at]);
  await Promise.all(alive.filter(([column]) => column.runs).map(([column, at]) => place(at, run(ui, column, query, candidates, (share) => {
    shown[at] = drawn(ui, column, [], waiting(column, share));
    draw();
  }))));
  const known = collection.columns.some(({ neighbours }) => neighbours) ? await collection.numberOf(query, candidates) : null;
  await Promise.all(alive.filter(([column]) => !column.runs).map(([column, at]) => place(at, neighboursOf(ui, column, known))));
  if (known === null && !collection.columns.some(({ runs }) => runs)) {
    shown.push(await worded(ui, query));
    draw();
  }
}

// By words or by a pattern, without the encoders.
async function exactly(ui, query) {
  const mine = ui.turn;
  ui.hits(query, [drawn(ui, MATCHES, [], waiting({}))]);
  const column = await (meant(query) === "words" ? worded(ui, query) : patterned(ui, query.slice(1, -1))).catch((error) => drawn(
    ui, MATCHES, [], failed(error)));
  if (mine === ui.turn) ui.hits(query, [column]);
}

async function run(ui, column, query, candidates, told) {
  await column.ready(told);
  const begun = performance.now();
  const found = await column.nearest(query);
  const took = performance.now() - begun;
  if (!found) return drawn(ui, column, [], notice("It knows none of these words.", "Write others."));
  const hits = await ui.collection.withTexts(found);
  candidates.push(...hits.filter(({ sentence }) => sentence === query).map(({ index }) => index));
  return { ...drawn(ui, column, hits), aside: `<small>${took < 10 ? took.toFixed(1) : Math.round(took)} ms</small>` };
}

async function neighboursOf(ui, column, known) {
  if (column.neighbours && known !== null) return drawn(ui, column, await ui.collection.withTexts(await column.around(known)));
  return drawn(ui, column, [], column.neighbours
    ? notice("It needs Python for a new sentence.", "Its neighbours of every sentence of the collection are here: press “similar” beside one, or “Pick one”.")
    : UNKNOWN);
}

const worded = (ui, query) => matched(ui, "sentences with these words", placesOf(wordsOf(query)), "Use fewer words.");

async function patterned(ui, pattern) {
  try {
    return await withPattern(pattern, (firstOf) => {
      const places = async (texts) => (await firstOf(texts)).map((first) => first && [first]);
      return matched(ui, MATCHES.encoder, places, "Case is ignored; spaces are not.");
    });
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return drawn(ui, MATCHES, [], notice(error.message, error.hint));
  }
}

async function matched(ui, encoder, placesIn, hint) {
  const { found, total } = await ui.collection.matching(placesIn);
  const note = `${total.toLocaleString("en")} found${total > found.length ? `, the first ${found.length} are shown` : ""}`;
  return drawn(ui, { encoder, byEncoder: false, note }, found, found.length ? "" : notice("None.", hint));
}

// A column as the hits have it.
const drawn = (ui, { encoder, byEncoder = true, note = "" }, hits, instead = "") => ({
  encoder, byEncoder, note, instead, aside: "", above: "",
  hits: hits.map((hit) => ({ ...hit, links: ui.links(hit.index, hit.sentence) })),
});

const linkTo = (ui, index, sentence) => `./search?${new URLSearchParams({ in: ui.collection.value.collection, q: sentence, id: index })}`;
const waiting = ({ runs, loads }, share) => (runs
  ? `<div class="t-run"><p class="t-muted">Loading ${loads}</p><div class="t-bar"><i style="width:${Math.round(100 * share)}%"></i></div></div>`
  : '<div class="t-run"><p class="t-muted">Looking it up</p></div>');
const failed = () => notice("One of its files could not be read.", "Search again; the network may be down.");
const notice = (said, hint) => `<div class="t-notice"><p><strong>${said}</strong></p><p>${hint}</p></div>`;
const UNKNOWN = notice("It needs Python.", "Its vectors for this collection were not available when this was published.");
