"""Our own HTML whose buttons call Python.

A button `<button data-act="cancel" data-id="…">` sends the event `act` with `act` and `id`; with
`data-param="run" data-value="…"` it also writes that to the address, as a step of the
browser's history.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from theodolite.app.components.modules import mount

if TYPE_CHECKING:
    import gradio as gr


def actions(value: str = "", **kwargs: Any) -> gr.HTML:
    """Make the component; its value is HTML, with everything from outside escaped."""
    import gradio as gr

    script = f'{mount("actions.js")} // Gradio looks for the names of events: "act"'
    return gr.HTML(value, js_on_load=script, apply_default_css=False, **kwargs)


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
        param: (name, value) to write to the address: what is opened is a place to come Back to.
        kind: `link` to style the button as a link.
        keys: that press it, with spaces between; the first is shown.
    """
    css = "t-link" if kind == "link" else "t-button t-small-button"
    extra = f' data-param="{escape(param[0])}" data-value="{escape(param[1])}"' if param else ""
    key = ""
    if keys:
        extra += f' data-keys="{escape(keys)}"'
        key = f"<kbd>{escape(keys[0].upper())}</kbd>"
    return (
        f'<button type="button" class="{css}" data-act="{escape(act)}" data-id="{escape(id)}"'
        f'{extra} aria-label="{escape(about)}">{escape(label)}{key}</button>'
    )
