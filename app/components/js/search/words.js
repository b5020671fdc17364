// Words as Python sees them: `str.split`, `str.lower` and the regular expressions of `engine/encoders/words.py`.

const SPACES = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const PIECES = new RegExp(`[^${SPACES}]+`, "gu");
const WORDS = new RegExp(`[\\p{L}\\p{N}_]+|[^\\p{L}\\p{N}_${SPACES}]`, "gu");

// Runs of letters, digits and underscores, and every other sign that is not a space alone.
export const splitWords = (text) => text.match(WORDS) ?? [];

// The known words of a text, as numbers: a piece between spaces as it is, then in lower case, then its words.
export function knownWords(text, numbers) {
  const find = (word) => numbers.get(word) ?? numbers.get(word.toLowerCase());
  return (text.match(PIECES) ?? []).flatMap((piece) => {
    const found = find(piece);
    return found === undefined ? splitWords(piece).map(find).filter((number) => number !== undefined) : [found];
  });
}
