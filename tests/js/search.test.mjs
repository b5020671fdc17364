// Search in a published page: words, vectors in parts, the nearest, and what a column says of a query.
import assert from "node:assert/strict";
import test from "node:test";

import { Bpe } from "../../app/components/js/search/bpe.js";
import { Collection } from "../../app/components/js/search/collection.js";
import { open } from "../../app/components/js/search/encoder.js";
import { Index } from "../../app/components/js/search/index.js";
import { Parts } from "../../app/components/js/search/parts.js";
import { knownWords, meant, placesOf, splitWords, wordsOf } from "../../app/components/js/search/words.js";

const bytes = (...arrays) => Uint8Array.from(arrays.flatMap((array) => [...new Uint8Array(array.buffer)])).buffer;
const text = (value) => new TextEncoder().encode(JSON.stringify(value)).buffer;
const from = (files) => async (address) => {
  if (!(address in files)) throw new Error(address);
  return files[address];
};

test("pairs are merged by rank, words one by one, and what is no token is its bytes", () => {
  const vocabulary = ["<s>", "\u2581", "a", "b", "ab", "\u2581ab", "ba", "<0xC3>", "<0xA9>"];
  const pair = (left, right) => [left, right].map((token) => vocabulary.indexOf(token));
  const bpe = new Bpe(vocabulary, Uint16Array.from([pair("a", "b"), pair("b", "a"), pair("\u2581", "ab")].flat()), ["<s>"]);
  const tokens = (said) => bpe.tokens(said).map((number) => vocabulary[number]);
  assert.deepEqual(tokens("aba"), ["\u2581ab", "a"]);
  assert.deepEqual(tokens("a<s>ba é"), ["\u2581", "a", "<s>", "\u2581", "ba", "\u2581", "<0xC3>", "<0xA9>"]);
  assert.deepEqual(tokens(""), []);
});

test("a word is looked up as it is, then in lower case, then in its parts", () => {
  const numbers = new Map(["don't", "The", "the", "don", "cat"].map((word, i) => [word, i]));
  assert.deepEqual(knownWords("The THE don't\u00a0Don-cat unknown", numbers), [1, 2, 0, 3, 4]);
  assert.deepEqual(splitWords("e-mail_1 \ufeff\x1c²!"), ["e", "-", "mail_1", "\ufeff", "²", "!"]);
});

test("only the parts are fetched whose words are asked for, and a failure is tried again", async () => {
  const part = (rows) => bytes(new Float32Array(rows.map(() => 0.5)), new Int8Array(rows.flat()));
  const files = { words: text(["a", "b", "c"]), "t-0": part([[2, 0], [0, 4]]) };
  const asked = [];
  const load = async (address) => { asked.push(address); return from(files)(address); };
  const encoder = await open({ kind: "words", dim: 2, rows: 2, words: "words", parts: { at: "t", many: 2 } }, load);
  assert.deepEqual([...await encoder.encode("a b b")], [1 / 3, 4 / 3]);
  assert.deepEqual([...await encoder.encode("nothing known")], [0, 0]);
  assert.deepEqual(asked, ["words", "t-0"]);
  await assert.rejects(encoder.encode("c"));
  files["t-1"] = part([[6, 6]]);
  assert.deepEqual([...await encoder.encode("c")], [3, 3]);
});

test("parts come together in order, however they arrive", async () => {
  const late = (i) => new Promise((done) => { setTimeout(() => done(i), 10 - 5 * i); });
  const told = [];
  const parts = new Parts({ at: "v", many: 3 }, (address) => late(Number(address.at(-1))));
  assert.deepEqual(await parts.all((share) => told.push(share)), [0, 1, 2]);
  assert.deepEqual(told, [1 / 3, 2 / 3, 1]);
});

const rows = (values, steps) => ({ rows: Int8Array.from(values), steps: Float32Array.from(steps) });

test("the nearest come first, ties by position; what has no step is like nothing", () => {
  const index = new Index([rows([0, 0, 10, 0], [NaN, 1]), rows([5, 0, -3, 0, 2, 2], [2, 1, 1])], [0, 0]);
  assert.deepEqual(index.search([2, 0], 3).map((hit) => hit.index), [1, 2, 4]);
  assert.deepEqual(index.search([0, 0], 2), [{ index: 0, cosine: 0 }, { index: 1, cosine: 0 }]);
  assert.equal(index.search([1, 0], 9).length, 5);
});

test("rows stand around a mean, and axes bring a query to fewer dimensions", () => {
  const around = new Index([rows([0, 4, 4, 0], [1, 0.25])], [3, 0]);
  assert.deepEqual(around.search([3, 4], 2), [{ index: 0, cosine: 1 }, { index: 1, cosine: 0.6 }]);
  const fewer = new Index([rows([1, -1], [1, 1])], [0], Float32Array.of(0, 0, 1));
  assert.deepEqual(fewer.search([7, 7, 2], 1), [{ index: 0, cosine: 1 }]);
});

test("an encoder that needs Python has the neighbours of a sentence, itself first", async () => {
  const load = from({
    "s-0": text(["A cat.", "Straße 😀 Cat"]), "s-1": text(["No."]),
    "n-0": bytes(Uint32Array.of(2, 0), Float32Array.of(0.5, 0.25)), "n-1": bytes(Uint32Array.of(1), Float32Array.of(0.75)),
  });
  const neighbours = { per: 2, parts: { at: "n", many: 2 } };
  const value = { k: 2, sentences: 3, texts: { per: 2, parts: { at: "s", many: 2 } }, columns: [{ encoder: "minilm", neighbours }] };
  const collection = new Collection(value, load);
  const [column] = collection.columns;
  assert.deepEqual(await column.around(2), [{ index: 2, cosine: 1 }, { index: 1, cosine: 0.75 }]);
  assert.equal((await collection.withTexts(await column.around(1)))[1].sentence, "A cat.");
  assert.equal(await collection.numberOf("No.", [0, 9, 2]), 2);
  assert.equal(await collection.numberOf("no.", [0, 2]), null);
  const { found, total } = await collection.matching(placesOf(wordsOf("CAT")));
  assert.equal(total, 2);
  assert.deepEqual(found[1], { index: 1, sentence: "Straße 😀 Cat", cosine: null, spans: [[9, 12]] });
});

test("a query is meant by its quotes or slashes; all its words are found, whole and in any order", () => {
  assert.deepEqual(['"boat"', "/boats?/", '"a boat" harbor', "a boat", '""'].map(meant), ["words", "pattern", "meaning", "meaning", "meaning"]);
  const holds = (query, sentence) => wordsOf(query).every((one) => one.test(sentence));
  const sentence = "In the Harbor a  boat (red) waits.";
  for (const query of ['"a boat" harbor', "boat a", "(red)", '"A Boat']) assert.ok(holds(query, sentence), query);
  for (const query of ['"boat a"', "boa", "bor", "boat ship"]) assert.ok(!holds(query, sentence), query);
  assert.ok(holds("ボート", "赤いボートが待つ"));
  assert.deepEqual(wordsOf('" "'), []);
});
