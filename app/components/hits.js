// A Gradio `js_on_load` body. A sentence that several columns found lights up in all of them while it
// is under the pointer or has the focus.
const light = (event) => {
  const id = event.target.closest?.("[data-hit]")?.dataset.hit;
  element.querySelectorAll("[data-hit]").forEach((hit) => {
    const group = hit.closest("[data-query]") === event.target.closest?.("[data-query]");
    hit.classList.toggle("t-lit", id !== undefined && group && hit.dataset.hit === id);
  });
};
const dark = () => element.querySelectorAll(".t-lit").forEach((hit) => hit.classList.remove("t-lit"));
element.addEventListener("pointerover", light);
element.addEventListener("pointerleave", dark);
element.addEventListener("focusin", light);
element.addEventListener("focusout", dark);
