// Text to tokens by byte pair encoding, as the package tokenizers does it for wordllama: spaces become ▁, one is put
// before the text, and pairs are merged by rank, the leftmost first. A character without a token is its bytes.
// `tests/app/pages/search/test_in_browser.py` holds the two to the same tokens.

const SPACE = "\u2581";

export class Bpe {
  // `vocabulary`: tokens by number. `merges`: pairs of their numbers, Uint16, by rank. `special`: tokens such as <s>,
  // which stand for themselves in a text.
  constructor(vocabulary, merges, special) {
    this.numbers = new Map(vocabulary.map((token, number) => [token, number]));
    this.special = new RegExp(`(${special.map((token) => token.replace(/[^\w\s<>]/g, "\\$&")).join("|")})`);
    this.merges = new Map();
    for (let i = 0; i < merges.length; i += 2) {
      const [left, right] = [merges[i], merges[i + 1]];
      this.merges.set(pair(left, right), { rank: i, token: this.numbers.get(vocabulary[left] + vocabulary[right]) });
    }
  }

  // Numbers of a text's tokens.
  tokens(text) {
    const pieces = text.replace(/\p{Surrogate}/gu, "\ufffd").split(this.special);
    return pieces.flatMap((piece, i) => (i % 2 ? [this.numbers.get(piece)] : this.#plain(piece)));
  }

  // No token has ▁ behind another character, so words can be taken one by one: no merge reaches across.
  #plain(text) {
    if (!text) return [];
    return (SPACE + text.replaceAll(" ", SPACE)).match(/\u2581*[^\u2581]+|\u2581+/gu).flatMap((word) => this.#word(word));
  }

  #word(word) {
    const found = [...word].flatMap((character) => this.numbers.get(character) ?? this.#bytes(character));
    while (found.length > 1) {
      let best = null, at = 0;
      for (let i = 0; i + 1 < found.length; i += 1) {
        const merge = this.merges.get(pair(found[i], found[i + 1]));
        if (merge && (!best || merge.rank < best.rank)) [best, at] = [merge, i];
      }
      if (!best) break;
      found.splice(at, 2, best.token);
    }
    return found;
  }

  #bytes(character) {
    return [...new TextEncoder().encode(character)].map((byte) => this.numbers.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`));
  }
}

const pair = (left, right) => left * 65536 + right;
