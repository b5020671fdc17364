// Files that are fetched when something in them is asked for, and kept. What there is of them says `in_parts` of
// `app/web/frozen.py`; `load` gives a file as an ArrayBuffer.

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

  // All of them, one behind another, as bytes; `told` hears how many are there.
  async all(told = () => {}) {
    let there = 0;
    const numbers = Array.from({ length: this.many }, (_, number) => number);
    const found = await Promise.all(numbers.map(async (number) => {
      const part = await this.load(`${this.at}-${number}`);
      told(there += 1);
      return part;
    }));
    const bytes = new Uint8Array(found.reduce((sum, part) => sum + part.byteLength, 0));
    let end = 0;
    for (const part of found) {
      bytes.set(new Uint8Array(part), end);
      end += part.byteLength;
    }
    return bytes;
  }
}

export const json = (data) => JSON.parse(new TextDecoder().decode(data));
export const fetched = async (address) => {
  const answer = await fetch(new URL(address, document.baseURI));
  if (!answer.ok) throw new Error(`${address} could not be read (${answer.status}).`);
  return answer.arrayBuffer();
};
