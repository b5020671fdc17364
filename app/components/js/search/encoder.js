// Static encoders, run in the page: a sentence's vector is the mean of its words' vectors. How an encoder splits texts
// and where its files are says `app/pages/search/in_browser.py`; `load` gives a file of it as an ArrayBuffer.

import { Bpe } from "./bpe.js";
import { Parts, json } from "./parts.js";
import { wordVector } from "./random.js";
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

// Rows of a table in parts: float32 steps of a part's rows, then these rows as int8, in such steps.
function table({ dim, rows, parts }, load) {
  const held = new Parts(parts, load);
  return (words) => Promise.all(words.map(async (word) => {
    const data = await held.get(Math.floor(word / rows)), row = word % rows;
    const many = data.byteLength / (dim + 4);
    const step = new Float32Array(data, 0, many)[row];
    return Float64Array.from(new Int8Array(data, 4 * many + row * dim, dim), (value) => value * step);
  }));
}

function mean(rows, dim) {
  const sum = new Float64Array(dim);
  for (const row of rows) for (let i = 0; i < dim; i += 1) sum[i] += row[i];
  return sum.map((value) => value / Math.max(rows.length, 1));
}
