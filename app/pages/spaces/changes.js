// A Gradio `js_on_load` body. A sentence under the pointer or with the focus has a ring on the linked
// maps; a button opens it there.
const tell = (what) => {
  const group = element.querySelector(".t-changes")?.dataset.group;
  if (group) window.dispatchEvent(new CustomEvent("theodolite:map", { detail: { group, from: null, ...what } }));
};
const numberOf = (target) => {
  const near = target.closest?.("[data-near]");
  const point = near ? near.dataset.near : target.closest?.("[data-point]")?.dataset.point;
  return point === undefined ? -1 : Number(point);
};
const ring = (event) => tell({ hovered: numberOf(event.target) });
element.addEventListener("pointerover", ring);
element.addEventListener("focusin", ring);
element.addEventListener("pointerleave", () => tell({ hovered: -1 }));
element.addEventListener("focusout", () => tell({ hovered: -1 }));
element.addEventListener("click", (event) => {
  if (!event.target.closest?.("[data-show]")) return;
  const point = numberOf(event.target);
  tell({ opened: point, hovered: point });
  document.querySelector(".t-map-stage")?.scrollIntoView({ block: "nearest" });
});
