// What a map that nobody serves answers by itself, out of its files: a point with its true neighbours, the
// points with some words, a table.

import { withPattern } from "../pattern.js";
import { column, texts, valueOf } from "./data.js";
import { file, place } from "./parts.js";

const columns = (ui) => Promise.all(ui.map.value.columns.map(({ key }) => column(ui, key)));

// Of each point its k nearest in the full space: their numbers, doubled, and one more where it is near on the
// map too; then their cosines.
export async function pointOf(ui, id) {
  const { map } = ui;
  const { per, k } = map.value.parts;
  const neighbours = [];
  if (k) {
    const data = await file(map, "near", place(map, id), "arrayBuffer");
    const all = data.byteLength / 8;
    const [marked, cosines] = [new Uint32Array(data, 0, all), new Float32Array(data, 4 * all)];
    for (let at = (id % per) * k; at < (id % per) * k + k; at++) {
      neighbours.push({ id: marked[at] >>> 1, kept: Boolean(marked[at] & 1), cosine: cosines[at] });
    }
  }
  const [text, ...others] = await texts(ui, [id, ...neighbours.map((one) => one.id)]);
  const known = await columns(ui);
  const facts = known.filter(Boolean).map((by) => [by.name, valueOf(by, id)]);
  return { text, facts, neighbours: neighbours.map((one, at) => ({ ...one, text: others[at] })) };
}

export async function findIn(ui, { text, pattern }) {
  if (pattern) return withPattern(text, (firstOf) => foundBy(ui, async (words) => (await firstOf(words)).map(Boolean)));
  return foundBy(ui, (words) => words.map((one) => one.toLowerCase().includes(text.toLowerCase())));
}

async function foundBy(ui, test) {
  const { map } = ui;
  const { per } = map.value.parts;
  const found = new Uint8Array(map.n);
  for (let from = 0; from < map.n; from += per) {
    const numbers = Array.from({ length: Math.min(per, map.n - from) }, (_, i) => from + i);
    const words = await texts(ui, numbers);
    if (ui.map !== map) return found;
    found.set(await test(words), from);
  }
  return found;
}

export async function tableOf(ui, numbers, spreadsheet) {
  const { xy } = ui.map;
  const known = (await columns(ui)).filter(Boolean);
  const words = await texts(ui, numbers);
  const rows = numbers.map((i, at) => [i, words[at], shortest(xy[2 * i]), shortest(xy[2 * i + 1]),
    ...known.map((by) => (by.kind === "label" ? by.labels[by.values[i]] : shortest(by.values[i])))]);
  return window.theodolite.csv([["id", "sentence", "x", "y", ...known.map((by) => by.key)], ...rows], spreadsheet);
}

// A number of 32 bits in as few digits as tell it apart; nothing where there is none.
function shortest(value) {
  if (!Number.isFinite(value)) return null;
  for (let digits = 6; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return short;
  }
  return Number(value.toPrecision(9));
}
