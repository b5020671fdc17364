// Files that are fetched when something in them is asked for, and kept. What there is of them says `in_parts` of
// `app/pages/search/in_browser.py`; `load` gives a file as an ArrayBuffer.

import { unpacked } from "../packed.js";

export class Parts {
  constructor({ at, many }, load) {
    [this.at, this.many, this.load] = [at, many, load];
    this.held = new Map();
  }

  get(number) {
    if (!this.held.has(number)) {
      const found = this.load(`${this.at}-${number}`);
      found.catch(() => this.held.delete(number)); // to be tried again
      this.held.set(number, found);
    }
    return this.held.get(number);
  }

  // All of them, in order; `told` hears which share of them is there.
  all(told = () => {}) {
    let there = 0;
    return Promise.all(Array.from({ length: this.many }, async (_, number) => {
      const part = await this.get(number);
      told((there += 1) / this.many);
      return part;
    }));
  }
}

export const json = (data) => JSON.parse(new TextDecoder().decode(data));
export const fetched = async (address) => {
  const answer = await fetch(new URL(address, document.baseURI));
  if (!answer.ok) throw new Error(`${address} could not be read (${answer.status}).`);
  return unpacked(answer).arrayBuffer();
};
