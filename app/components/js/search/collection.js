// A published collection: its texts, and what each encoder's column says of a query. What there is of it says
// `app/pages/search/freezing.py`; `load` gives a file as an ArrayBuffer. Draws nothing.

import { open } from "./encoder.js";
import { Index } from "./index.js";
import { Parts, json } from "./parts.js";
import { Rows } from "./rows.js";

export class Collection {
  constructor(value, load) {
    this.value = value;
    this.texts = new Parts(value.texts.parts, load);
    this.columns = value.columns.map((column) => new Column(column, value, load));
  }

  async text(index) {
    const { per } = this.value.texts;
    return json(await this.texts.get(Math.floor(index / per)))[index % per];
  }

  // The first sentences that match, with the places, and how many there are. `placesIn` gives for each of some texts
  // the start and the length of what matches, or null.
  async matching(placesIn) {
    const found = [];
    let total = 0;
    for (let number = 0; number < this.texts.many; number += 1) {
      const texts = json(await this.texts.get(number));
      (await placesIn(texts)).forEach((places, i) => {
        if (!places || (total += 1) > this.value.k) return;
        const sentence = texts[i];
        const characters = (end) => [...sentence.slice(0, end)].length;
        const spans = places.map(([start, length]) => [characters(start), characters(start + length)]);
        found.push({ index: number * this.value.texts.per + i, sentence, cosine: null, spans: spans.sort(([a], [b]) => a - b) });
      });
    }
    return { found, total };
  }

  // The number of a sentence that is the text, letter by letter: among some that may be it, else nothing.
  async numberOf(text, candidates) {
    for (const index of candidates) {
      if (index < this.value.sentences && await this.text(index) === text) return index;
    }
    return null;
  }

  async withTexts(hits) {
    return Promise.all(hits.map(async (hit) => ({ ...hit, sentence: await this.text(hit.index) })));
  }
}

class Column {
  constructor(described, value, load) {
    Object.assign(this, { ...described, load, k: value.k });
  }

  // Loads what answers any query, once; `told` hears which share of the vectors is there.
  ready(told = () => {}) {
    this.opened ??= this.#open(told).catch((error) => { this.opened = null; throw error; });
    return this.opened;
  }

  async #open(told) {
    const rows = new Rows(this, this.load);
    const [encoder, parts, axes] = await Promise.all([
      open(this.runs, this.load), rows.all(told), this.axes ? this.load(this.axes) : null,
    ]);
    return { encoder, index: new Index(parts, rows.mean, axes && new Float32Array(axes)) };
  }

  // The nearest sentences of a text; null where none of its words has a vector.
  async nearest(text) {
    const { encoder, index } = await this.ready();
    return encoder.split(text).length ? index.search(await encoder.encode(text), this.k) : null;
  }

  // Those of a sentence of the collection, worked out beforehand, itself first.
  async around(number) {
    const { per, parts } = this.neighbours;
    this.near ??= new Parts(parts, this.load);
    const data = await this.near.get(Math.floor(number / per));
    const all = data.byteLength / 8, many = this.k - 1, row = (number % per) * many;
    const [ids, cosines] = [new Uint32Array(data, 0, all), new Float32Array(data, 4 * all)];
    const others = Array.from({ length: many }, (_, i) => ({ index: ids[row + i], cosine: cosines[row + i] }));
    return [{ index: number, cosine: 1 }, ...others];
  }
}
