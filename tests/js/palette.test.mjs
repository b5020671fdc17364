// Which places a few letters lead to.
import assert from "node:assert/strict";
import test from "node:test";

import { match, ranked } from "../../app/components/js/palette.js";

const place = (title, kind = "page") => ({ title, kind, note: "", href: "./" });
const titles = (letters, places) => ranked(letters, places).map(({ title }) => title);

test("letters match in their order, whatever their case, and nothing else does", () => {
  assert.deepEqual(match("mlm", "minilm").at, [0, 4, 5]);
  assert.deepEqual(match("STSb", "STSBenchmark").at, [0, 1, 2, 3]);
  assert.equal(match("mm", "map"), null);
  assert.equal(match("pam", "map"), null);
});

test("letters in a row are found in a row where they are", () => {
  assert.deepEqual(match("map", "my amp map").at, [7, 8, 9]);
});

test("the beginning of a word comes before its middle, a page before the rest", () => {
  const places = [place("bitmap", "data set"), place("map", "encoder"), place("Map"), place("Compare")];
  assert.deepEqual(titles("map", places), ["Map", "map", "bitmap"]);
  assert.equal(titles("tw", [place("network"), place("Two spaces")])[0], "Two spaces");
});

test("without letters there are the pages in their order", () => {
  assert.deepEqual(titles("", [place("Data"), place("minilm", "encoder"), place("Map")]), ["Data", "Map"]);
});
