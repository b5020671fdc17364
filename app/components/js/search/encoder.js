// Static encoders, run in the page: a sentence's vector is the mean of its words' vectors. How an encoder splits texts
// and where its files are says `app/pages/search/in_browser.py`; `load` gives a file of it as an ArrayBuffer.

import { Bpe } from "./bpe.js";
import { json } from "./parts.js";
import { wordVector } from "./random.js";
import { Rows } from "./rows.js";
import { knownWords, splitWords } from "./words.js";

// `split`: a text to its known words, by number or as they are. `encode`: a text to Float64Array (dim), zero without a
// known word.
export async function open(described, load) {
  const [split, vectors] = await KINDS[described.kind](described, load);
  return { split, encode: async (text) => mean(await vectors(split(text)), described.dim) };
}

const KINDS = {
  async random({ dim }) {
    return [(text) => splitWords(text.toLowerCase()), (words) => words.map((word) => wordVector(word, dim))];
  },
  async words(described, load) {
    const numbers = new Map(json(await load(described.words)).map((word, number) => [word, number]));
    return [(text) => knownWords(text, numbers), table(described, load)];
  },
  async tokens(described, load) {
    const [words, merges] = await Promise.all([load(described.words), load(described.merges)]);
    const bpe = new Bpe(json(words), new Uint16Array(merges), described.special);
    return [(text) => bpe.tokens(text), table(described, load)];
  },
};

function table(described, load) {
  const held = new Rows(described, load);
  return (words) => Promise.all(words.map((word) => held.row(word)));
}

function mean(rows, dim) {
  const sum = new Float64Array(dim);
  for (const row of rows) for (let i = 0; i < dim; i += 1) sum[i] += row[i];
  return sum.map((value) => value / Math.max(rows.length, 1));
}
