// What is said of hits that several encoders found.
import assert from "node:assert/strict";
import test from "node:test";

import { agreement, letter, shared, shift } from "../../app/components/js/hits.js";

const found = [new Map([[7, 1], [3, 2], [9, 3]]), new Map([[9, 1], [4, 2], [7, 3]]), new Map()];
const columns = [{ encoder: "a" }, { encoder: "b" }, { encoder: "c" }];

test("what two columns found has a mark, in the order of the first", () => {
  assert.deepEqual([...shared(found)], [[7, 0], [9, 1]]);
});

test("hits are counted pair by pair, of the columns that are there", () => {
  assert.equal(agreement(columns, found), "Of its 3 nearest, a shares 2 with b.");
  assert.equal(agreement(columns.slice(2), found.slice(2)), "");
  const [mine, same, other] = [7, 7, 3].map((id) => new Map([[id, 1]]));
  assert.equal(agreement(columns, [mine, same, other]), "a finds the same as b.");
  assert.equal(agreement(columns, [mine, other, other]), "No other encoder finds what a finds.");
});

test("marks go on after Z, and a rank elsewhere says which way it is", () => {
  assert.deepEqual([0, 25, 26].map(letter), ["A", "Z", "A1"]);
  assert.deepEqual([shift(2, "b", 2), shift(3, "b", 7), shift(7, "b", 3)], ["b 2, same", "b 7, 4 lower", "b 3, 4 higher"]);
});
