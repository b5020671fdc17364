"""Our own HTML whose buttons call Python.

A button `<button data-act="cancel" data-id="…">` sends the event `act` with `act` and `id`; with
`data-param="run" data-value="…"` it also writes that to the address.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import gradio as gr

_JS = """
element.addEventListener("click", (event) => {
  const button = event.target.closest("[data-act]");
  if (!button || button.disabled) return;
  const { act, id, param, value } = button.dataset;
  if (param) theodolite.address([param], [value], {});
  trigger("act", { act, id });
});
document.addEventListener("keydown", (event) => {
  const { key, ctrlKey, metaKey, altKey, repeat, target } = event;
  const writes = target.closest?.("input, textarea, select, dialog, [contenteditable]");
  if (ctrlKey || metaKey || altKey || repeat || writes) return;
  const named = [...element.querySelectorAll("[data-keys]")]
    .find((one) => one.dataset.keys.split(" ").includes(key));
  if (!named || named.disabled) return;
  event.preventDefault();
  named.click();
});
// Drawn anew under the fingers of someone at a keyboard: the same button keeps the focus, or the
// one of the same name where what it is about has changed.
let held = null;
document.addEventListener("focusin", ({ target }) => {
  held = element.contains(target) ? target.closest("[data-act]") : null;
});
new MutationObserver(() => {
  if (!held || held.isConnected || document.activeElement !== document.body) return;
  const { act, id } = held.dataset;
  const alike = [...element.querySelectorAll(`[data-act="${CSS.escape(act)}"]`)];
  const name = held.getAttribute("aria-label");
  (alike.find((one) => one.dataset.id === id)
    ?? alike.find((one) => one.getAttribute("aria-label") === name))?.focus();
}).observe(element, { childList: true, subtree: true });
"""


def actions(value: str = "", **kwargs: Any) -> gr.HTML:
    """Make the component; its value is HTML, with everything from outside escaped."""
    import gradio as gr

    return gr.HTML(value, js_on_load=_JS, apply_default_css=False, **kwargs)


def button(
    label: str,
    act: str,
    id: str,
    *,
    about: str,
    param: tuple[str, str] | None = None,
    kind: str = "",
    keys: str = "",
) -> str:
    """A button for `actions`.

    Args:
        label: text of the button.
        act: name of the action.
        id: id of the item it applies to.
        about: accessible name, which makes sense without the button's context.
        param: (name, value) to write to the address.
        kind: `link` to style the button as a link.
        keys: keyboard shortcuts, as `KeyboardEvent.key` names them, separated by spaces.
    """
    css = "t-link" if kind == "link" else "t-button t-small-button"
    extra = f' data-param="{escape(param[0])}" data-value="{escape(param[1])}"' if param else ""
    if keys:
        extra += f' data-keys="{escape(keys)}"'
    return (
        f'<button type="button" class="{css}" data-act="{escape(act)}" data-id="{escape(id)}"'
        f'{extra} aria-label="{escape(about)}">{escape(label)}</button>'
    )
