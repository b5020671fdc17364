// Words as Python sees them: `str.split`, `str.lower` and the regular expressions of `engine/encoders/words.py` and
// `app/pages/search/service.py`.

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

const TERMS = /"([^"]*)"?|([^\s"]+)/gu;
const UNSPACED = "\\u0e00-\\u0eff\\u1000-\\u109f\\u1780-\\u17ff\\u3040-\\u30ff\\u3400-\\u9fff\\uf900-\\ufaff";
const BORDERED = `(?![${UNSPACED}])[\\p{L}\\p{N}_]`; // of the scripts that put spaces between words

// How a query is meant: in quotes by its words, between slashes as a pattern, else by meaning.
export const meant = (query) => (query.length > 2 && query[0] === query.at(-1) ? { '"': "words", "/": "pattern" }[query[0]] : null) ?? "meaning";

// Regular expressions of which all match in a sentence that holds all words, whatever the case; quotes make a phrase.
export function wordsOf(query) {
  const terms = [...query.matchAll(TERMS)].map(([, phrase, word]) => (phrase ?? word).trim()).filter(Boolean);
  return terms.map((term) => {
    const text = term.split(/\s+/u).map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/gu, "\\$&")).join("\\s+");
    const [before, after] = [term, [...term].at(-1)].map((end) => new RegExp(`^${BORDERED}`, "u").test(end));
    return new RegExp(`${before ? "(?<![\\p{L}\\p{N}_])" : ""}${text}${after ? "(?![\\p{L}\\p{N}_])" : ""}`, "iu");
  });
}

// Gives for each of some texts where all regular expressions match, [start, length] of each, or null.
export const placesOf = (wanted) => (texts) => texts.map((text) => {
  const matches = wanted.map((one) => one.exec(text));
  return matches.length && !matches.includes(null) ? matches.map(({ 0: found, index }) => [index, found.length]) : null;
});
