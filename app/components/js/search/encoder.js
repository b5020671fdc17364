// Static encoders, run in the page: a sentence's vector is the mean of its words' vectors. How an encoder splits texts
// and where its files are says `app/publish/page_encoders.py`; `load` gives a file of it as an ArrayBuffer.

import { Bpe } from "./bpe.js";
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
    const numbers = new Map((await json(load, described.vocabulary)).map((word, number) => [word, number]));
    return [(text) => knownWords(text, numbers), table(described, load)];
  },
  async tokens(described, load) {
    const [vocabulary, merges] = await Promise.all([json(load, described.vocabulary), load(described.merges)]);
    const bpe = new Bpe(vocabulary, new Uint16Array(merges), described.special);
    return [(text) => bpe.tokens(text), table(described, load)];
  },
};

export const json = async (load, address) => JSON.parse(new TextDecoder().decode(await load(address)));

// Rows of a table whose parts are fetched when one of their rows is asked for: float32 steps of the rows, then the rows
// as int8, a multiple of their step.
function table({ dim, rows, parts }, load) {
  const held = new Map();
  const part = (number) => {
    if (!held.has(number)) held.set(number, load(parts[number]).catch((error) => { held.delete(number); throw error; }));
    return held.get(number);
  };
  return async (words) => {
    const needed = [...new Set(words.map((word) => Math.floor(word / rows)))];
    const found = new Map(await Promise.all(needed.map(async (number) => [number, await part(number)])));
    return words.map((word) => {
      const data = found.get(Math.floor(word / rows)), row = word % rows;
      const many = data.byteLength / (dim + 4);
      const step = new Float32Array(data, 0, many)[row];
      return Float64Array.from(new Int8Array(data, 4 * many + row * dim, dim), (value) => value * step);
    });
  };
}

function mean(rows, dim) {
  const sum = new Float64Array(dim);
  for (const row of rows) for (let i = 0; i < dim; i += 1) sum[i] += row[i];
  return sum.map((value) => value / Math.max(rows.length, 1));
}
