"""A button that uploads a folder of the visitor's machine, as a ZIP archive.

A box of Gradio's takes folders too, but files come out of it without the folders they lie in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from app.components.modules import mount

if TYPE_CHECKING:
    import gradio as gr


def folder(label: str, into: str, endings: Sequence[str], **kwargs: Any) -> gr.HTML:
    """Make the button.

    Args:
        label: what stands on it.
        into: `elem_id` of the box, which takes several files.
        endings: of the files that are taken along, such as `.json`.
        **kwargs: as `gr.HTML` takes them: `elem_id`, …
    """
    import gradio as gr

    wanted = "|".join(ending.replace(".", r"\.") for ending in endings)
    return gr.HTML("", html_template="", js_on_load=mount("folder.js"), apply_default_css=False,
                   words=label, into=f"#{into}", wanted=f"(?:{wanted})$", **kwargs)  # fmt: skip
