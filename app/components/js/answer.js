// An answer: its blocks one under another. `value` is what `app/surfaces/web.py` writes: a block is HTML of the page's own
// parts, or a component with its module and its props; a value may also be HTML, while the answer is being computed. What is
// as before stays where it is; a component is given its new value, so that it keeps the focus and what was scrolled.

export function mount({ element, props, trigger, watch }) {
  let places = [];
  const redraw = () => {
    const pieces = piecesOf(props.value);
    places = pieces.map((piece, i) => (places[i] && places[i].module === piece.module && places[i].html === piece.html
      ? update(places[i], piece) : make(piece, trigger, props.frozen)));
    const nodes = places.map(({ node }) => node);
    if (nodes.length !== element.children.length || nodes.some((node, i) => node !== element.children[i])) {
      element.replaceChildren(...nodes);
    }
  };
  watch("value", redraw);
  redraw();
}

function piecesOf(value) {
  if (!value) return [];
  return value.startsWith("<") ? [{ html: value }] : JSON.parse(value);
}

function make({ html, module, props = {} }, trigger, frozen) {
  const node = document.createElement("div");
  const place = { node, module, html, props: { ...props, frozen }, watchers: [] };
  if (module) {
    const watch = (_, changed) => place.watchers.push(changed);
    import(new URL(module, import.meta.url).href).then((code) => code.mount({ element: node, props: place.props, trigger, watch }));
  } else {
    node.innerHTML = html;
  }
  return place;
}

function update(place, { props = {} }) {
  if (JSON.stringify(place.props.value) !== JSON.stringify(props.value)) {
    Object.assign(place.props, props);
    place.watchers.forEach((changed) => changed());
  }
  return place;
}
