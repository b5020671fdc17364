// Finding points by their text, and placing a sentence that is not on the map. The server looks: it can
// stop a pattern that would take for ever. Function declarations only: map.js holds the state.

function finding() {
  const { sought } = map;
  const words = el("input", { type: "search", placeholder: "Words in a sentence", "aria-label": "Find", maxlength: "500", value: sought?.text ?? "" });
  const pattern = el("input", { type: "checkbox", checked: Boolean(sought?.pattern) });
  const go = () => find(words.value, pattern.checked);
  words.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); go(); } });
  words.addEventListener("search", () => { if (!words.value) go(); });
  const act = (label, run) => {
    const button = el("button", { type: "button", class: "t-button" }, label);
    button.addEventListener("click", run);
    return button;
  };
  finder.replaceChildren(...[
    el("label", {}, "Find ", words), el("label", {}, pattern, " Regular expression"),
    act("Find", go), act("Select what was found", () => map.found && select(foundNumbers(), "add")),
    map.value.placing ? placing(act) : null,
  ].filter(Boolean));
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

async function find(text, pattern = false, own = true) {
  const mine = map;
  const sought = text.trim() ? { text: text.trim(), pattern } : null;
  mine.sought = sought;
  let [found, trouble] = [null, ""];
  if (sought) {
    busy(pattern ? "Looking; a pattern that takes too long is stopped" : "Looking");
    try {
      found = await foundThere(sought);
    } catch (error) {
      trouble = error.message;
    }
    if (map !== mine || mine.sought !== sought) return; // something else was looked for meanwhile
    if (trouble) mine.sought = null;
  }
  lit(found, mine.sought);
  if (own) tellOthers({ found, sought: mine.sought });
  if (trouble) status.textContent = trouble;
}

// The points that were found stand out; the boxes say what was looked for.
function lit(found, sought) {
  map.found = found;
  map.sought = sought;
  const [words, pattern] = finder.querySelectorAll("input");
  if (sought || !found) words.value = sought?.text ?? (document.activeElement === words ? words.value : "");
  if (sought) pattern.checked = sought.pattern;
  repaint();
}

async function foundThere({ text, pattern }) {
  const answer = await asked(`find?text=${encodeURIComponent(text)}${pattern ? "&pattern=1" : ""}`);
  if (answer.headers.get("Content-Type").startsWith("text/")) throw new Error(await answer.text());
  const found = new Uint8Array(map.n);
  for (const i of new Uint32Array(await answer.arrayBuffer())) found[i] = 1;
  return found;
}

async function place(text) {
  const mine = map;
  busy("Placing it; a model that is not loaded yet takes some seconds");
  try {
    const answer = await fetch(`${mine.value.url}/place`, {
      method: "POST", headers: { "Content-Type": "text/plain; charset=utf-8" }, body: text,
    });
    if (!answer.ok) throw new Error(await answer.text());
    const placed = await answer.json();
    if (map !== mine) return;
    mine.guest = { ...placed, text };
    [mine.point, mine.said] = [null, null];
    say();
    annotate();
    panelled();
  } catch (error) {
    status.textContent = error.message;
  }
}
