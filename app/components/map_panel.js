// Under the map: the point that is open with its true neighbours, and the sentences selected.
// Function declarations only: map.js holds the state.

const IN_PANEL = 100;

async function openPoint(id, own = true) {
  trigger("click", { id });
  if (own) tellOthers({ opened: id });
  if (!map.value.neighbours) return;
  const mine = map;
  busy("Looking for its neighbours in the full space");
  try {
    const found = await (await asked(`point?id=${id}`)).json();
    if (map !== mine) return;
    [mine.guest, mine.said] = [null, null];
    mine.point = { id, ...found };
    say();
    annotate();
    panelled();
  } catch (error) {
    status.textContent = error.message;
  }
}

function closePoint() {
  map.point = null;
  map.guest = null;
  map.said = null;
  annotate();
  panelled();
  noted();
}

function panelled() {
  const parts = [];
  if (map.point) parts.push(pointCard(map.point));
  if (map.guest) parts.push(guestCard(map.guest));
  if (map.said) parts.push(saidCard(map.said));
  if (map.chosen) parts.push(chosenCard());
  panel.replaceChildren(...parts);
}

function pressable(label, run, kind = "t-link") {
  const button = el("button", { type: "button", class: kind }, label);
  button.addEventListener("click", run);
  return button;
}

function searchLink(sentence) {
  if (!map.value.search) return null;
  return el("a", { href: `${map.value.search}&q=${encodeURIComponent(sentence.slice(0, 1000))}` }, "Open in Search");
}

function pointCard(point) {
  const near = point.neighbours.filter((one) => one.kept).length;
  const all = point.neighbours.length;
  const facts = point.facts.map(([name, value]) => el("span", {}, `${name}: ${value}`));
  return el("section", { class: "t-map-card", "aria-label": "The open point" },
    el("h3", {}, point.text),
    el("p", { class: "t-small t-muted t-map-facts" }, ...facts),
    el("p", { class: "t-small" }, all
      ? `Of its ${all} nearest in the full space, ${near} are among its ${all} nearest on the map; the others, dashed, the map put elsewhere.`
      : "It has no neighbours."),
    neighbourTable(point.neighbours),
    el("p", { class: "t-map-acts" }, searchLink(point.text) ?? "",
      pressable("Select it and its neighbours", () => select([point.id, ...point.neighbours.map((one) => one.id)], "replace")),
      pressable("Close", closePoint)));
}

function guestCard(guest) {
  return el("section", { class: "t-map-card", "aria-label": "The sentence placed" },
    el("h3", {}, guest.text),
    el("p", { class: "t-small" }, "Placed, at the cross, where its nearest sentences lie; the map itself did not move for it."),
    neighbourTable(guest.neighbours),
    el("p", { class: "t-map-acts" }, searchLink(guest.text) ?? "", pressable("Close", closePoint)));
}

function neighbourTable(neighbours) {
  const rows = neighbours.map((one) => el("tr", {},
    el("td", {}, pressable(one.text, () => openPoint(one.id))),
    el("td", { class: "t-num" }, one.cosine.toFixed(3)),
    el("td", {}, one.kept === undefined ? "" : one.kept ? "near" : "elsewhere")));
  const heads = ["Nearest in the full space", "Cosine", "On the map"];
  return el("div", { class: "t-scroll t-map-rows", tabindex: "0", role: "region", "aria-label": "Nearest in the full space" },
    el("table", { class: "t-table" },
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, ...rows)));
}

function chosenCard() {
  const [numbers, all] = [chosenNumbers(IN_PANEL), sum(map.chosen)];
  const items = el("ol", {});
  const card = el("section", { class: "t-map-card", "aria-label": "Selected" },
    el("h3", {}, `${count(all)} selected`),
    el("div", { class: "t-scroll t-map-rows", tabindex: "0", role: "region", "aria-label": "Sentences selected" }, items),
    all > IN_PANEL ? el("p", { class: "t-small t-muted" }, `The first ${IN_PANEL}; a CSV has all.`) : "",
    el("p", { class: "t-map-acts" }, pressable("CSV", () => save("CSV")), pressable("Parquet", () => save("Parquet")), pressable("Clear", clear)));
  texts(numbers).then((words) => {
    items.replaceChildren(...words.map((text, k) => el("li", {}, pressable(text, () => openPoint(numbers[k])))));
  });
  return card;
}
