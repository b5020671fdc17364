// What the map fetches from the server, and what of it is seen: coordinates, columns, texts.

import { ratio, short } from "./dom.js";
import { fetched, readTexts } from "./parts.js";
import { SIZES, project } from "./view.js";

export const request = (ui, part, at = ui.value.url) => fetched(ui.value, at, part);

export const binary = async (ui, part, at) => (await request(ui, part, at)).arrayBuffer();

export async function column(ui, key) {
  if (key === null) return null;
  if (!ui.map.columns[key]) {
    const about = ui.map.value.columns.find((c) => c.key === key);
    if (!about) return null;
    const [mine, data] = [ui.map, await binary(ui, `column/${encodeURIComponent(key)}`)];
    const values = about.kind === "label" ? new Uint16Array(data) : new Float32Array(data);
    mine.columns[key] = { ...about, values };
    if (mine !== ui.map) return null;
  }
  return ui.map.columns[key];
}

export async function texts(ui, numbers) {
  const mine = ui.map;
  const missing = numbers.filter((i) => !mine.texts.has(i));
  if (mine.value.parts) await readTexts(mine, missing);
  else for (let k = 0; k < missing.length; k += 100) {
    const part = missing.slice(k, k + 100);
    const answer = await fetch(`${mine.value.url}/texts?${part.map((id) => `ids=${id}`).join("&")}`);
    const found = answer.ok ? await answer.json() : part.map(() => "");
    part.forEach((i, at) => mine.texts.set(i, String(found[at])));
  }
  return numbers.map((i) => mine.texts.get(i));
}

// Where on the screen a place of the plane lies, as things stand.
export const seen = (ui) => ({ ...project(ui.map.view, ui.stage.clientWidth, ui.stage.clientHeight, ratio()), grow: SIZES[ui.map.size] });

export const placeOf = (ui, view, i) => view.toScreen(ui.map.xy[2 * i], ui.map.xy[2 * i + 1]);

export const valueOf = (by, i) =>
  by.kind === "label" ? by.labels[by.values[i]] ?? "–" : Number.isNaN(by.values[i]) ? "not measured" : short(by.values[i]);

// The column that the points are coloured by, null for none.
export const colouring = (ui) => (ui.map.colour === null ? null : ui.map.columns[ui.map.colour]);
