// Files of a map that nobody serves, `value.parts.per` points a file: each is fetched when one of its points is
// asked for, and kept. Texts lie at `value.parts.texts`: several maps may be of the same.

import { unpacked } from "../packed.js";

// Where the files of a map come from: the server that makes them, a published folder that has them deflated, or
// the document itself (`value.held`, by address, in base64).
export async function fetched(value, address, name) {
  if (value.held) return new Response(Uint8Array.from(atob(value.held[`${address}/${name}`]), (letter) => letter.charCodeAt(0)));
  const answer = await fetch(`${address}/${name}`);
  if (!answer.ok) throw new Error(`The map's ${name.split(/[?-]/)[0]} could not be read (${answer.status}).`);
  return value.parts ? unpacked(answer) : answer;
}

const held = new WeakMap(); // map -> name of a file -> what it holds

export function file(map, name, number, read, at = map.value.url) {
  const mine = held.get(map) ?? held.set(map, new Map()).get(map);
  const key = `${name}-${number}`;
  if (!mine.has(key)) {
    const found = fetched(map.value, at, key).then((answer) => answer[read]());
    found.catch(() => mine.delete(key)); // to be tried again
    mine.set(key, found);
  }
  return mine.get(key);
}

export const place = (map, i) => Math.floor(i / map.value.parts.per);

// Has the texts of these points known.
export async function readTexts(map, numbers) {
  const files = new Set(numbers.map((i) => place(map, i)));
  await Promise.all(Array.from(files, async (number) => {
    const texts = await file(map, "texts", number, "json", map.value.parts.texts);
    texts.forEach((text, at) => map.texts.set(number * map.value.parts.per + at, text));
  }));
}
