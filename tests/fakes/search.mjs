// What a page answers, asked from a test: a JSON file of questions, answers as JSON. `node search.mjs QUESTIONS`.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { open } from "../../app/components/js/search/encoder.js";
import { Index } from "../../app/components/js/search/index.js";
import { Rows } from "../../app/components/js/search/rows.js";

const { folder, encoder, texts, vectors, k } = JSON.parse(await readFile(process.argv[2], "utf8"));
const load = async (address) => {
  const data = await readFile(join(folder, address));
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
};
const asked = await open(encoder, load);
const rows = vectors ? new Rows(vectors, load) : null;
const index = rows ? new Index(await rows.all(), rows.mean) : null;
const answers = [];
for (const text of texts) {
  answers.push(index ? index.search(await asked.encode(text), k) : asked.split(text));
}
process.stdout.write(JSON.stringify(answers));
