// Finding points by their text, and placing a sentence that is not on the map. Function declarations
// only: map.js holds the state.

const ALL_TEXTS = 200000; // of more the server looks through the texts, for plain words only
const FIND_MS = 4000; // a regular expression may take for ever

function finding() {
  const { found: before, value } = map;
  const kept = before ? finder.querySelector("input")?.value ?? "" : value.find ?? "";
  const words = el("input", { type: "search", placeholder: "Words in a sentence", "aria-label": "Find", maxlength: "500", value: kept });
  const regular = el("input", { type: "checkbox" });
  const go = () => find(words.value, regular.checked);
  words.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); go(); } });
  words.addEventListener("search", () => { if (!words.value) go(); });
  const act = (label, run) => {
    const button = el("button", { type: "button", class: "t-button" }, label);
    button.addEventListener("click", run);
    return button;
  };
  const many = map.n > ALL_TEXTS;
  finder.replaceChildren(...[
    el("label", {}, "Find ", words), many ? null : el("label", {}, regular, " Regular expression"),
    act("Find", go), act("Select what was found", () => map.found && select(foundNumbers(), "add")),
    value.placing ? placing(act) : null,
  ].filter(Boolean));
  if (kept && !before) find(kept);
}

function placing(act) {
  const words = el("input", { type: "text", placeholder: "A sentence of your own", "aria-label": "Place a sentence", maxlength: "2000" });
  const go = () => words.value.trim() && place(words.value);
  words.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); go(); } });
  return el("span", { class: "t-map-group" }, words, act("Place it on the map", go));
}

function foundNumbers() {
  const numbers = [];
  for (let i = 0; i < map.n; i++) if (map.found[i]) numbers.push(i);
  return numbers;
}

async function find(text, regular = false) {
  const mine = map;
  noted("find", regular ? "" : text.trim());
  if (!text.trim()) {
    mine.found = null;
    const words = finder.querySelector("input");
    if (words) words.value = "";
    repaint();
    return;
  }
  status.textContent = "Looking…";
  try {
    const found = mine.n > ALL_TEXTS ? await foundThere(text) : await foundHere(text, regular);
    if (map !== mine) return;
    mine.found = found;
    repaint();
  } catch (error) {
    status.textContent = error.message;
  }
}

async function foundThere(text) {
  const numbers = new Uint32Array(await binary(`find?text=${encodeURIComponent(text)}`));
  const found = new Uint8Array(map.n);
  for (const i of numbers) found[i] = 1;
  return found;
}

async function foundHere(text, regular) {
  const pattern = regular ? expression(text) : null;
  const wanted = text.trim().toLowerCase();
  map.everyText ??= await (await asked("texts")).json();
  const found = new Uint8Array(map.n);
  const until = performance.now() + FIND_MS;
  for (let i = 0; i < map.n; i++) {
    const words = map.everyText[i];
    if (pattern ? pattern.test(words) : words.toLowerCase().includes(wanted)) found[i] = 1;
    if (pattern && performance.now() > until) throw new Error("This regular expression takes too long; try a simpler one.");
  }
  return found;
}

function expression(text) {
  try {
    return new RegExp(text, "iu");
  } catch (error) {
    throw new Error(`This is no regular expression: ${error.message}`, { cause: error });
  }
}

async function place(text) {
  const mine = map;
  status.textContent = "Placing it; a model that is not loaded yet takes some seconds…";
  try {
    const answer = await fetch(`${mine.value.url}/place`, {
      method: "POST", headers: { "Content-Type": "text/plain; charset=utf-8" }, body: text,
    });
    if (!answer.ok) throw new Error(await answer.text());
    const placed = await answer.json();
    if (map !== mine) return;
    mine.guest = { ...placed, text };
    mine.point = null;
    say();
    annotate();
    panelled();
  } catch (error) {
    status.textContent = error.message;
  }
}
