"""The form that takes in a file of one's own: look at it, say which column is what, keep it.

A wrong mapping loses nothing: the file and everything chosen stay as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.pages.data import service, views
from app.pages.data.views import KINDS
from app.web import parts
from app.web.controls import Answer, Control, Controls, Values, on, shape
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

ENDINGS = [".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet", ".gz"]
HEADERS = {"look at it": None, "holds names": True, "is a row": False}
ROLES = {
    "left": "First sentence", "right": "Second sentence", "score": "Score", "text": "Text",
    "label": "Label", "anchor": "Anchor", "positive": "Positive", "negative": "Hard negative",
    "split": "Split (optional)",
}  # fmt: skip
"""Role of a column -> its label."""
CONTROLS = (
    Control("file", "CSV, TSV, JSON lines, Parquet or plain lines; .gz too", gr.File,
            options={"file_types": ENDINGS, "height": 130, "elem_id": "upload"}),
    Control("kind", "It holds", gr.Radio, choices=[(w.capitalize(), k) for k, w in KINDS.items()],
            options={"scale": 3}),
    Control("header", "The first line", gr.Radio, "look at it", choices=list(HEADERS),
            options={"scale": 2}),
    *(Control(role, label, gr.Dropdown, choices=(),
              options={"visible": False, "min_width": 160, "elem_id": f"role-{role}"})
      for role, label in ROLES.items()),
    Control("name", "Name", default="", hint="Letters, digits, spaces and . _ + -",
            options={"max_lines": 1, "elem_id": "upload-name"}),
)  # fmt: skip


def build(workspace: Workspace) -> Any:
    """Lay out the form.

    Returns:
        A hidden box with the name of the data set that was last taken in; its `change` tells.
    """
    kept = gr.Textbox(visible="hidden", label="Kept", elem_id="kept")
    controls = Controls(*CONTROLS)
    controls.render("file")
    notice = parts.notice()
    with gr.Column(visible=False, elem_id="mapping") as body:
        preview = parts.static("", elem_id="look")
        with gr.Row():
            controls.render("kind", "header")
        with gr.Row():
            controls.render(*ROLES)
        with gr.Row():
            controls.render("name")
        keep = gr.Button("Add data set", variant="primary", elem_id="take-in")
    file, kind, name = (controls[of] for of in ("file", "kind", "name"))
    roles = [controls[role] for role in ROLES]

    def read(asked: Values) -> Answer:
        """Look at the file and fill the form with guesses."""
        from engine.datasets import tables

        if not asked.file:
            return None
        path = Path(asked.file)
        found = tables.preview(path, path.name, HEADERS[asked.header])
        columns = list(found.columns)
        guessed = {
            controls[role]: gr.update(
                choices=["", *columns] if role == "split" else columns,
                value=found.guesses.get(role),
                visible=_belongs(role, found.kind),
            )
            for role in ROLES
        }
        return {
            **guessed,
            body: gr.update(visible=True),
            preview: views.first_rows(path.name, found),
            kind: found.kind,
            name: asked.name or service.name_for(path.name),
        }

    def take(asked: Values) -> Answer:
        from engine.datasets.tables import Mapping

        if not asked.file:
            raise UserError("There is no file to add.", "Choose one above.")
        chosen = {
            role: column
            for role in ROLES
            if (column := getattr(asked, role)) and _belongs(role, asked.kind)
        }
        path = Path(asked.file)
        mapping = Mapping(asked.kind, chosen, HEADERS[asked.header])
        row = service.keep(workspace, path, path.name, asked.name.strip(), mapping)
        return {kept: f"upload:{row['name']}", file: None, body: gr.update(visible=False)}

    shape(
        lambda kind: {controls[role]: gr.update(visible=_belongs(role, kind)) for role in ROLES},
        {kind: list(KINDS)},
    )
    on([file.upload, controls["header"].input], read, controls, [body, preview, kind, *roles, name],
       notice, show_progress="full", show_progress_on=file)  # fmt: skip
    on(file.clear, lambda: {body: gr.update(visible=False)}, None, [body], notice)
    on(keep.click, take, controls, [kept, file, body], notice, show_progress="full",
       show_progress_on=keep)  # fmt: skip
    return kept


def _belongs(role: str, kind: str) -> bool:
    from engine.datasets.columns import ROLES as NEEDED

    optional = ("split",) if kind in ("pairs", "labels") else ()
    return role in (*NEEDED.get(kind, ()), *optional)  # type: ignore[call-overload]
