// An answer: its blocks one under another. `value` is what `app/surfaces/web.py` writes: a block is HTML of the page's own
// parts, a component with its module and its props, or HTML with further blocks inside it. A value that is HTML is the progress
// of the next answer, above the one that is there. What is as before stays where it is, and keeps the focus, what was scrolled
// and what was unfolded; a component is given its new value.

import { listen } from "./actions.js";

export function mount({ element, props, trigger, watch }) {
  const about = { trigger, frozen: props.frozen };
  let places = [];
  const progress = document.createElement("div");
  progress.className = "t-progress";
  const redraw = () => {
    const value = props.value || "[]";
    if (value.startsWith("<")) {
      progress.innerHTML = value;
      if (!progress.isConnected) element.prepend(progress);
      return;
    }
    progress.remove();
    places = draw(element, places, JSON.parse(value), about);
  };
  listen(element, trigger);
  watch("value", redraw);
  redraw();
}

function draw(element, before, pieces, about) {
  const places = pieces.map((piece, i) => (before[i] && before[i].module === piece.module && before[i].html === piece.html
    ? before[i] : make(piece, about)));
  places.forEach((place, i) => update(place, pieces[i], about));
  const nodes = places.map(({ node }) => node);
  if (nodes.length !== element.children.length || nodes.some((node, i) => node !== element.children[i])) {
    element.replaceChildren(...nodes);
  }
  return places;
}

function make({ html, module, props = {} }, { trigger, frozen }) {
  const node = document.createElement("div");
  node.className = "t-block";
  const place = { node, module, html, props: { ...props, frozen }, watchers: [], inside: [] };
  if (module) {
    const watch = (_, changed) => place.watchers.push(changed);
    import(new URL(module, import.meta.url).href).then((code) => code.mount({ element: node, props: place.props, trigger, watch }));
  } else {
    node.innerHTML = html;
    if (frozen) node.querySelectorAll(".t-live-only").forEach((one) => one.remove());
  }
  return place;
}

function update(place, { props = {}, inside }, about) {
  if (inside) place.inside = draw(place.node.querySelector("[data-inside]"), place.inside, inside, about);
  if (JSON.stringify(place.props.value) !== JSON.stringify(props.value)) {
    Object.assign(place.props, props);
    place.watchers.forEach((changed) => changed());
  }
}
