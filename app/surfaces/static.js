// A published page: shows the answer of the view in its address, out of that view's file, with the components of the
// live pages. Nothing here draws.
const held = JSON.parse(document.getElementById("t-held").textContent);
const base = new URL(document.baseURI);

// Links lead to pages that are in this folder, and no button opens a panel of controls.
function mend(link) {
  if (link.matches("button")) return theodolite.unlink(link);
  const url = new URL(link.getAttribute("href"), base);
  if (url.origin !== base.origin || !url.pathname.startsWith(base.pathname)) return;
  const path = url.pathname.slice(base.pathname.length).replace(/\/$/, "");
  if (held.pages.includes(path)) link.href = `./${path}${path && "/"}${url.search}`;
  else theodolite.unlink(link);
}
theodolite.forEvery('a[href^="./"], button[data-press="more"]', mend);

// The view of the address: the first that differs in none of the values that are given there, or only in what is asked anew.
const query = new URLSearchParams(location.search);
const names = new Set(held.views.flatMap((view) => view.query.map(([name]) => name)));
const own = (view, name) => view.query.filter(([one]) => one === name).map(([, value]) => value);
const values = (view, name) => (own(view, name).length ? own(view, name) : [held.usual[name] ?? ""]);
const fits = (view) => [...names].every((name) => !query.has(name) || String(query.getAll(name)) === String(values(view, name)));
let view = held.views.find(fits);
if (!view) {
  held.asked.forEach((name) => names.delete(name));
  view = held.views.find(fits) ?? held.views[0];
}

const props = { value: null, frozen: true }; // no component has a server
let redraw = () => {};
async function show(wanted) {
  view = wanted;
  const text = await fetch(new URL(view.file, base)).then((answer) => answer.text());
  if (view !== wanted) return;
  props.value = text;
  redraw();
}

const pick = document.querySelector(".t-views select");
function choose() {
  const url = new URL(location.href);
  url.search = new URLSearchParams(held.views[pick.value].query);
  history.replaceState(history.state, "", url);
  show(held.views[pick.value]);
}
pick?.addEventListener("change", choose);
const tabs = document.querySelector(".t-tabs");
if (tabs) theodolite.tabs(tabs);
const { mount } = await import(new URL(held.answer, base));
mount({ element: document.getElementById("answer"), props, trigger: () => {}, watch: (_, changed) => { redraw = changed; } });
if (pick?.selectedIndex > 0) choose(); // before this script was loaded
else {
  if (pick) pick.value = held.views.indexOf(view);
  show(view);
}
