// What Gradio does for the live pages, for those that are frozen: gives the modules of the components their
// values, and answers events out of a file. Nothing here draws.
const held = JSON.parse(document.getElementById("t-held").textContent);
const place = (number) => document.querySelector(`[data-piece="${number}"]`);
const plain = (number) => (value) => { if (place(number)) place(number).innerHTML = value ?? ""; };

// Links lead to pages that are in this folder, and no button opens a panel of controls.
const base = new URL(document.baseURI);
function mend(link) {
  if (link.matches("button")) return theodolite.unlink(link);
  const url = new URL(link.getAttribute("href"), base);
  if (url.origin !== base.origin || !url.pathname.startsWith(base.pathname)) return;
  const path = url.pathname.slice(base.pathname.length).replace(/\/$/, "");
  if (held.pages.includes(path)) link.href = `./${path}${path && "/"}${url.search}`;
  else theodolite.unlink(link);
}
theodolite.eachLink('a[href^="./"], button[data-press="more"]', mend);

// What the page shows at each of its views, and answers there, is a file of its own.
const query = new URLSearchParams(location.search);
const names = new Set(held.views.flatMap((view) => view.query.map(([name]) => name)));
const values = (view, name) => view.query.filter(([one]) => one === name).map(([, value]) => value);
const fits = (view) => Array.from(names).every((name) =>
  !query.has(name) || String(query.getAll(name)) === String(values(view, name)));
let view = held.views.find(fits) ?? held.views[0];

const files = {};
async function answers() {
  const { file } = view;
  files[file] ??= fetch(new URL(file, base)).then((answer) => answer.json());
  return files[file];
}

if (view !== held.views[0]) {
  for (const [number, value] of Object.entries((await answers()).shown)) {
    const piece = held.pieces[number];
    if (piece) piece.value = value;
    if (!piece || piece.html) plain(number)(value);
  }
}

// Number of a part -> what shows another value in it.
const shown = {};
const show = (values) => Object.entries(values).forEach(([number, value]) => (shown[number] ?? plain(number))(value));

async function asked(number, name, data) {
  const asks = (await answers()).asks[number];
  if (name !== asks?.event) return;
  const said = asks.pressed[data[asks.name]];
  if (!said) return;
  show(said);
  place(Object.keys(said)[0])?.scrollIntoView({ block: "nearest", behavior: "smooth" });
}

for (const [number, { module, props, value, html }] of Object.entries(held.pieces)) {
  const element = place(number);
  const watching = [];
  const given = { ...props, value };
  shown[number] = (now) => {
    given.value = now;
    if (html) plain(number)(now);
    watching.forEach((heard) => heard());
  };
  const server = new Proxy({}, {
    get: (_, name) => async (thing) => {
      const asks = (await answers()).asks[number];
      return asks.server === name ? asks.served[thing] ?? null : null;
    },
  });
  const { mount } = await import(new URL(module, base));
  mount({ element, props: given, server, trigger: (name, data) => asked(number, name, data), watch: (name, heard) => watching.push(heard) });
}

// Another view: all parts of the page as they are there, and nothing in the address of what was seen in the one before.
const pick = document.querySelector(".t-views select");
async function opened(wanted) {
  view = wanted;
  const { shown: parts } = await answers();
  if (view === wanted) show(parts);
}
function turned() {
  const url = new URL(location.href);
  url.search = new URLSearchParams(held.views[pick.value].query);
  history.replaceState(history.state, "", url);
  opened(held.views[pick.value]);
}
pick?.addEventListener("change", turned);
// Who chose before the modules were loaded was not heard, here and below.
if (pick?.selectedIndex > 0) turned();
else if (pick) pick.value = held.views.indexOf(view);

// The choices that are answered, as the address has them.
async function choose(control, value) {
  const said = (await answers()).controls[control.id][value];
  if (said) show(said);
}
for (const control of document.querySelectorAll("fieldset[id]")) {
  const address = control.id;
  const all = [...control.querySelectorAll("input, option")];
  const usual = all.find((one) => one.defaultChecked || one.defaultSelected) ?? control.querySelector("option");
  const first = usual?.value;
  const changed = (value) => {
    theodolite.address([address], [value], { [address]: first });
    choose(control, value);
  };
  control.addEventListener("change", ({ target }) => changed(target.value));
  const chosen = all.find((one) => one.checked || one.selected)?.value;
  if (chosen !== first) {
    changed(chosen);
    continue;
  }
  const wanted = all.find(({ value }) => value === query.get(address));
  if (!wanted || wanted.checked || wanted.selected) continue;
  wanted.checked = wanted.selected = true;
  choose(control, wanted.value);
}
for (const [number, [event, name]] of Object.entries(held.asks)) {
  if (query.has(name)) asked(number, event, { [name]: query.get(name) });
}
