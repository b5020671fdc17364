// Vectors in parts: of each part the steps of its rows as float32, then the rows as int8, in such steps around `mean`.
// A row without a step is all zeros. `packed` of `app/pages/search/in_browser.py` writes them.

import { Parts } from "./parts.js";

export class Rows {
  constructor({ dim, rows, parts, mean }, load) {
    [this.dim, this.many, this.mean] = [dim, rows, mean ?? new Array(dim).fill(0)];
    this.parts = new Parts(parts, load);
  }

  async row(number) {
    const { steps, rows } = this.#opened(await this.parts.get(Math.floor(number / this.many)));
    const at = number % this.many, step = steps[at];
    return this.mean.map((value, i) => (Number.isNaN(step) ? 0 : value + step * rows[at * this.dim + i]));
  }

  // Every part, as { steps, rows }; `told` hears which share of them is there.
  async all(told = () => {}) {
    const parts = await this.parts.all(told);
    return parts.map((data) => this.#opened(data));
  }

  #opened(data) {
    const many = data.byteLength / (this.dim + 4);
    return { steps: new Float32Array(data, 0, many), rows: new Int8Array(data, 4 * many) };
  }
}
