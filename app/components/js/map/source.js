// Where the files of a map come from: the server that makes them, a published folder that has them deflated, or
// the document itself (`value.held`, by name, in base64).

import { unpacked } from "../packed.js";

export async function fetched(value, address, name) {
  if (value.held) return new Response(Uint8Array.from(atob(value.held[name]), (letter) => letter.charCodeAt(0)));
  const answer = await fetch(`${address}/${name}`);
  if (!answer.ok) throw new Error(`The map's ${name.split(/[?-]/)[0]} could not be read (${answer.status}).`);
  return value.parts ? unpacked(answer) : answer;
}
