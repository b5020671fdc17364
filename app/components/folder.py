"""A button that uploads a folder of the user's machine as a ZIP archive.

Gradio's own file component takes folders too, but drops the paths of the files in them.
"""

from collections.abc import Sequence
from typing import Any

import gradio as gr

from theodolite.app.components.modules import mount


def folder(label: str, into: str, endings: Sequence[str], **kwargs: Any) -> gr.HTML:
    """Make the button.

    Args:
        label: text of the button.
        into: `elem_id` of the file component, which takes several files.
        endings: endings of the files to include, such as `.json`.
        **kwargs: arguments of `gr.HTML`: `elem_id`, …
    """
    pattern = "|".join(ending.replace(".", r"\.") for ending in endings)
    return gr.HTML(
        "",
        html_template="",
        js_on_load=mount("folder.js"),
        apply_default_css=False,
        words=label,
        into=f"#{into}",
        wanted=f"(?:{pattern})$",
        **kwargs,
    )
