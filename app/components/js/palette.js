// The palette: a few letters lead to any page, encoder, data set, task or run.
// Every text is set as text.
const MAX_PLACES = 40;

// How well letters match a text when they occur in it in this order: higher is better, null when they
// do not. Letters in a row and at the beginning of words count; of equals the shorter text wins.
export function match(letters, text) {
  const wanted = letters.toLowerCase().replace(/\s+/g, "");
  const given = text.toLowerCase();
  if (!wanted) return { score: 0, at: [] };
  const found = given.indexOf(letters.trim().toLowerCase());
  const at = found >= 0 ? [...letters.trim()].map((_, i) => found + i) : subsequence(wanted, given);
  if (!at) return null;
  let score = -text.length / 100;
  at.forEach((place, i) => {
    if (i && place === at[i - 1] + 1) score += 3;
    if (place === 0 || /[^a-z0-9]/.test(given[place - 1]) || /[a-z][A-Z]/.test(text.slice(place - 1, place + 1))) score += 4;
  });
  return { score: score - at[0] / 20, at };
}

// The places of letters in a text, each as early as it can be.
function subsequence(wanted, given) {
  const at = [];
  for (const letter of wanted) {
    const place = given.indexOf(letter, at.length ? at.at(-1) + 1 : 0);
    if (place < 0) return null;
    at.push(place);
  }
  return at;
}

// The places that letters match, the best first; without letters the pages as they are.
export function ranked(letters, places) {
  if (!letters.trim()) return places.filter(({ kind }) => kind === "page").map((place) => ({ ...place, at: [] }));
  return places
    .map((place) => ({ ...place, ...match(letters, place.title) }))
    .filter(({ at }) => at)
    .sort((a, b) => b.score + (b.kind === "page") - a.score - (a.kind === "page"))
    .slice(0, MAX_PLACES);
}

// The title with the letters that matched marked.
function marked(title, at) {
  const { el } = window.theodolite;
  return [...title].map((letter, i) => (at.includes(i) ? el("mark", {}, letter) : letter));
}

// Open the palette; it is made when it is opened first.
export async function open() {
  palette ??= build();
  await palette();
}
let palette = null;

function build() {
  const { el } = window.theodolite;
  const list = el("ul", { id: "t-places", role: "listbox", "aria-label": "Places" });
  const input = el("input", {
    type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "t-places", "aria-autocomplete": "list",
    "aria-label": "Jump to", autocomplete: "off", spellcheck: "false", placeholder: "A page, encoder, data set, task or run",
  });
  const said = el("p", { class: "t-palette-said", role: "status" });
  const dialog = el("dialog", { id: "t-palette", "aria-label": "Jump to" }, input, list, said);
  document.body.append(dialog);
  let [places, shown, chosen] = [[], [], 0];

  function choose(to) {
    chosen = shown.length ? (to + shown.length) % shown.length : 0;
    [...list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === chosen)));
    const option = list.children[chosen];
    option?.scrollIntoView({ block: "nearest" });
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
  }
  function draw() {
    shown = ranked(input.value, places);
    list.replaceChildren(...shown.map(({ title, note, kind, at }, i) =>
      el("li", { role: "option", id: `t-place-${i}`, "data-kind": kind },
        el("span", { dir: "auto" }, ...marked(title, at)), el("small", {}, [note, kind].filter(Boolean).join(" · ")))));
    said.textContent = shown.length ? "" : "Nothing here has that name.";
    choose(0);
  }
  const go = (place) => place && location.assign(new URL(place.href, document.baseURI));

  input.addEventListener("input", draw);
  input.addEventListener("keydown", (event) => {
    const moves = { ArrowDown: chosen + 1, ArrowUp: chosen - 1 };
    if (event.key in moves) choose(moves[event.key]);
    else if (event.key === "Enter") go(shown[chosen]);
    else return;
    event.preventDefault();
  });
  list.addEventListener("pointermove", ({ target }) => {
    const i = [...list.children].indexOf(target.closest("li"));
    if (i >= 0 && i !== chosen) choose(i);
  });
  list.addEventListener("click", ({ target }) => go(shown[[...list.children].indexOf(target.closest("li"))]));
  dialog.addEventListener("click", ({ target }) => target === dialog && dialog.close());

  return async () => {
    if (dialog.open) return dialog.close();
    input.value = "";
    dialog.showModal();
    input.focus();
    draw();
    if (places.length) return;
    said.textContent = "Looking";
    const answer = await fetch(new URL("./theodolite/places.json", document.baseURI));
    if (answer.ok) places = await answer.json();
    draw();
  };
}
