// Sentences whose neighbours differ between two encoders, with both lists. A sentence under the pointer or with the focus
// has a ring on the linked maps; a button opens it there.

export function mount({ element, props, watch }) {
  const { el } = window.theodolite;
  const number = (value) => value.toFixed(3).replace("-", "−");

  function list(encoder, near, shared) {
    const items = near.map(({ id, text, cosine }, place) => {
      const isShared = shared.has(id);
      return el("li", { "data-near": id, class: isShared ? "t-shared" : null },
        el("span", { class: "t-rank" }, String(place + 1)),
        el("p", { dir: "auto" }, text, isShared ? el("em", {}, " in both") : ""),
        el("span", { class: "t-num" }, number(cosine)));
    });
    const head = el("header", {}, el("span", { class: "t-spec" }, encoder), el("small", {}, "cosine"));
    return el("section", { class: "t-column" }, head, el("ol", {}, ...items));
  }

  function item({ id, text, jaccard, overlap, lists }, place) {
    const [first, second] = lists.map((near) => new Set(near.map((one) => one.id)));
    const shared = new Set([...first].filter((one) => second.has(one)));
    const many = shared.size ? `${shared.size} of ${first.size} shared` : "none shared";
    const show = el("button", { type: "button", class: "t-link", "data-show": "" }, "Show it on the maps");
    const figures = `Jaccard ${jaccard.toFixed(2)}, rank-biased overlap ${overlap.toFixed(2)}. `;
    return el("li", { "data-point": id }, el("details", {},
      el("summary", {}, el("span", { class: "t-rank" }, String(place + 1)), el("span", { dir: "auto" }, text), el("small", {}, many)),
      el("div", { class: "t-swap" },
        el("p", { class: "t-small t-muted" }, figures, show),
        el("div", { class: "t-columns" }, ...lists.map((near, side) => list(props.value.encoders[side], near, shared))))));
  }

  const draw = () => element.replaceChildren(...(props.value ? [el("ol", { class: "t-changes" }, ...props.value.items.map(item))] : []));
  watch("value", draw);
  draw();

  const tell = (what) => window.dispatchEvent(
    new CustomEvent("theodolite:map", { detail: { group: props.value.group, from: null, ...what } }),
  );
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
}
