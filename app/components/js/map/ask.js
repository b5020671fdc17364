// What has to be asked: an open point with its true neighbours, a position in words, where a sentence would lie, which points
// have some words. The server answers, which can stop a pattern that would take for ever, or the files of the map.

import { request } from "./data.js";
import { update } from "./state.js";
import { findIn, pointOf } from "./staticSource.js";
import { busy, summarise, tell } from "./status.js";
import { chosenNumbers } from "./tools.js";

// What `what` answers as `{ answer }`, or `{ error }`; null where a later question of its kind, or another map, came meanwhile.
async function ask(ui, kind, words, what) {
  const [mine, ticket] = [ui.map, Symbol(kind)];
  mine.asked[kind] = ticket;
  busy(ui, words);
  let got;
  try {
    got = { answer: await what() };
  } catch (error) {
    got = { error: error.message };
  }
  if (ui.map !== mine || mine.asked[kind] !== ticket) return null;
  if (got.error) tell(ui, got.error);
  else summarise(ui);
  return got;
}

export async function openPoint(ui, id, isOwn = true) {
  if (isOwn) update(ui, { opened: id });
  const got = await ask(ui, "card", "Looking for its neighbours in the full space",
    async () => (ui.map.value.parts ? pointOf(ui, id) : (await request(ui, `point?id=${id}`)).json()));
  if (got?.answer) update(ui, { point: { id, ...got.answer }, placedPoint: null, decoded: null });
}

export async function decodeAt(ui, x, y) {
  update(ui, { decoded: { x, y }, point: null, placedPoint: null });
  const got = await ask(ui, "card", "Decoding that place; a decoder that is not loaded yet takes some seconds",
    async () => (await request(ui, `decode?x=${x}&y=${y}`)).json());
  if (!got?.answer || !ui.map.decoded) return; // closed meanwhile
  const decoded = got.answer;
  update(ui, { decoded });
  tell(ui, `${ui.status.textContent} ${decoded.failure ?? (decoded.lacking ? `There is no decoder for ${decoded.lacking} yet.` : `Decoded: ${decoded.sentence}`)}`);
}

// Under the key: the point that is gone to, else the middle of what is seen.
export function decodeHere(ui) {
  if (!ui.map.value.decoding) return;
  if (ui.map.hovered >= 0) decodeAt(ui, ui.map.xy[2 * ui.map.hovered], ui.map.xy[2 * ui.map.hovered + 1]);
  else decodeAt(ui, ui.map.view.x, ui.map.view.y);
}

export async function place(ui, text) {
  const got = await ask(ui, "card", "Placing it; a model that is not loaded yet takes some seconds", async () => {
    const answer = await fetch(`${ui.map.value.url}/place`, {
      method: "POST", headers: { "Content-Type": "text/plain; charset=utf-8" }, body: text,
    });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  });
  if (got?.answer) update(ui, { placedPoint: { ...got.answer, text }, point: null, decoded: null });
}

// The selection as a data set, labelled if each of its points has a label of one's own; why not, if it is refused.
export async function keep(ui, name) {
  const [ids, own] = [chosenNumbers(ui), ui.map.columns.own];
  const labels = own && ids.every((i) => own.values[i]) ? ids.map((i) => own.labels[own.values[i]]) : [];
  const got = await ask(ui, "keep", "Making the data set", async () => {
    const answer = await fetch(`${ui.map.value.url}/dataset`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name, ids, labels }),
    });
    if (answer.headers.get("Content-Type").startsWith("text/")) throw new Error(await answer.text());
    return answer.json();
  });
  if (got?.answer) update(ui, { made: got.answer.name });
  return got?.error;
}

export async function find(ui, text, pattern = false) {
  const sought = text.trim() ? { text: text.trim(), pattern } : null;
  if (!sought) {
    ui.map.asked.find = null;
    update(ui, { found: null, sought });
    return;
  }
  const words = pattern ? "Looking; a pattern that takes too long is stopped" : "Looking";
  const got = await ask(ui, "find", words, () => (ui.map.value.parts ? findIn(ui, sought) : foundBy(ui, sought)));
  if (!got) return;
  update(ui, { found: got.answer ?? null, sought: got.answer ? sought : null });
  if (got.error) tell(ui, got.error);
}

async function foundBy(ui, { text, pattern }) {
  const answer = await request(ui, `find?text=${encodeURIComponent(text)}${pattern ? "&pattern=1" : ""}`);
  if (answer.headers.get("Content-Type").startsWith("text/")) throw new Error(await answer.text());
  const found = new Uint8Array(ui.map.n);
  for (const i of new Uint32Array(await answer.arrayBuffer())) found[i] = 1;
  return found;
}
