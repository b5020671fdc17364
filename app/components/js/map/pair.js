// Two linked maps of the same sentences side by side, or the first alone, whose points move to where they are on the second.
// `value` has the values of both as `sides`, their encoders as `ends`, and a note on each.

import { el } from "./dom.js";
import { mount as mountMap } from "./map.js";

const WAYS = [["side", "Side by side"], ["move", "One map, animated"]];

export function mount({ element, props, trigger, watch }) {
  let way = new URLSearchParams(location.search).get("show") === "move" ? "move" : "side";
  const sides = [0, 1].map((number) => {
    const [name, note, holder] = [el("span", { class: "t-spec" }), el("small", {}), el("div", {})];
    const column = el("div", { class: "t-pair-side" }, el("h3", { class: "t-side" }, name, note), holder);
    const side = { props: { ...props, value: null }, watchers: [], name, note, holder, column };
    side.show = () => {
      const { sides: values, ends, notes, held } = props.value;
      const moves = number === 0 && way === "move";
      name.textContent = ends[number];
      note.textContent = notes[number];
      // The names of regions do not move.
      const going = moves ? { towards: values[1].url, ends, regions: [] } : {};
      side.props.value = { ...values[number], ...(held ? { held } : {}), address: number === 0, ...going };
      column.hidden = number === 1 && way === "move";
    };
    return side;
  });
  const redraw = () => sides.forEach((side) => {
    side.show();
    side.watchers.forEach((changed) => changed());
  });
  const group = `t-pair-${Math.random()}`;
  const picks = WAYS.map(([value, label]) => {
    const radio = el("input", { type: "radio", name: group, value, checked: value === way });
    radio.addEventListener("change", () => {
      way = value;
      if (!props.value.held) window.theodolite.address(["show"], [way === "side" ? "" : way], {});
      redraw();
    });
    return el("label", {}, radio, ` ${label}`);
  });
  element.replaceChildren(
    el("fieldset", { class: "t-pair-ways" }, el("legend", {}, "View"), ...picks),
    el("div", { class: "t-pair" }, ...sides.map((side) => side.column)));
  for (const side of sides) {
    side.show();
    mountMap({ element: side.holder, props: side.props, trigger, watch: (_, changed) => side.watchers.push(changed) });
  }
  watch("value", redraw);
}
