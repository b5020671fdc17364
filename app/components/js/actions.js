// Buttons that call Python: `<button data-act="cancel" data-id="…">` triggers the event `act`, with
// `data-param="run" data-value="…"` it also writes that to the address, as a step of the browser's history, and keys in
// `data-keys` press it.

export function mount({ element, trigger }) {
  listen(element, trigger);
}

export function listen(element, trigger) {
  element.addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (!button || button.disabled) return;
    const { act, id, param, value } = button.dataset;
    if (param) window.theodolite.address([param], [value], {}, { step: true });
    trigger("act", { act, id });
  });
  document.addEventListener("keydown", (event) => {
    const { key, ctrlKey, metaKey, altKey, repeat, target } = event;
    const writes = target.closest?.("input, textarea, select, dialog, [contenteditable]");
    if (ctrlKey || metaKey || altKey || repeat || writes) return;
    const named = [...element.querySelectorAll("[data-keys]")].find((one) => one.dataset.keys.split(" ").includes(key));
    if (!named || named.disabled) return;
    event.preventDefault();
    named.click();
  });
  // Drawn anew under the fingers of someone at a keyboard: the same button keeps the focus, or the
  // one of the same name where what it is about has changed. One that became another in its place
  // loses it: pressed twice, Cancel would be Remove.
  let held = null;
  document.addEventListener("focusin", ({ target }) => {
    const button = element.contains(target) ? target.closest("[data-act]") : null;
    held = button && { button, act: button.dataset.act, id: button.dataset.id, name: button.getAttribute("aria-label") };
  });
  new MutationObserver(() => {
    if (!held || ![held.button, document.body].includes(document.activeElement)) return;
    const { button, act, id, name } = held;
    if (button.isConnected && button.dataset.act === act && button.dataset.id === id) return;
    const alike = [...element.querySelectorAll(`[data-act="${CSS.escape(act)}"]`)];
    const next = alike.find((one) => one.dataset.id === id) ?? alike.find((one) => one.getAttribute("aria-label") === name);
    next ? next.focus() : button.blur();
  }).observe(element, { childList: true, subtree: true, attributeFilter: ["data-act", "data-id"] });
}
