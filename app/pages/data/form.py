"""The form that takes in a file of one's own: look at it, say which column is what, keep it.

A wrong mapping loses nothing: the file and everything chosen stay as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.pages.data import service
from app.pages.data.views import KINDS, cell
from app.web import parts
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

ENDINGS = [".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".parquet", ".gz"]
ROLES = ("left", "right", "score", "text", "label", "anchor", "positive", "negative", "split")
HEADERS = {"look at it": None, "holds names": True, "is a row": False}
LABELS = {
    "left": "First sentence", "right": "Second sentence", "score": "Score", "text": "Text",
    "label": "Label", "anchor": "Anchor", "positive": "Positive", "negative": "Hard negative",
    "split": "Split (optional)",
}  # fmt: skip


class Form:
    """The components of the form.

    Attributes:
        kept: hidden box with the name of the data set that was last taken in; `change` tells.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.kept = gr.Textbox(visible="hidden", label="Kept", elem_id="kept")
        self._file = gr.File(
            label="CSV, TSV, JSON lines, Parquet or plain lines; .gz too", file_types=ENDINGS,
            height=130, elem_id="upload",
        )  # fmt: skip
        self._notice = parts.notice()
        with gr.Column(visible=False, elem_id="mapping") as self._body:
            self._look = parts.static("", elem_id="look")
            with gr.Row():
                self._kind = gr.Radio(
                    [(words.capitalize(), kind) for kind, words in KINDS.items()],
                    label="It holds", elem_id="kind", scale=3,
                )  # fmt: skip
                self._header = gr.Radio(list(HEADERS), value="look at it", label="The first line",
                                        elem_id="header", scale=2)  # fmt: skip
            with gr.Row():
                self._roles = {
                    role: gr.Dropdown([], label=LABELS[role], visible=False, min_width=160,
                                      elem_id=f"role-{role}")
                    for role in ROLES
                }  # fmt: skip
            with gr.Row():
                self._name = gr.Textbox(label="Name", max_lines=1, elem_id="upload-name",
                                        info="Letters, digits, spaces and . _ + -")  # fmt: skip
            self._keep = gr.Button("Take it in", variant="primary", elem_id="take-in")
        self._wire()

    def _wire(self) -> None:
        roles = list(self._roles.values())
        looked = [self._body, self._look, self._kind, *roles, self._name, self._notice]
        look = parts.telling(self._preview, len(looked) - 1)
        gr.on([self._file.upload, self._header.input], look, [self._file, self._header, self._name],
              looked, show_progress="full", show_progress_on=self._file)  # fmt: skip
        self._file.clear(lambda: (gr.update(visible=False), ""), None, [self._body, self._notice])
        parts.shape(_shape, {self._kind: KINDS}, roles)
        given = [self._file, self._kind, self._header, self._name, *roles]
        self._keep.click(
            parts.telling(self._take, 3), given,
            [self.kept, self._file, self._body, self._notice], show_progress="full",
            show_progress_on=self._keep,
        )  # fmt: skip

    def _preview(self, file: str | None, header: str, name: str) -> tuple[Any, ...]:
        """Look at the file and fill the form with guesses."""
        from engine.datasets import tables

        if not file:
            return tuple(gr.skip() for _ in range(len(ROLES) + 4))
        look = tables.preview(Path(file), Path(file).name, HEADERS[header])
        boxes = [
            gr.update(choices=["", *look.columns] if role == "split" else list(look.columns),
                      value=look.guesses.get(role), visible=_belongs(role, look.kind))
            for role in ROLES
        ]  # fmt: skip
        return (
            gr.update(visible=True), _table(Path(file).name, look), look.kind, *boxes,
            name or service.name_for(Path(file).name),
        )  # fmt: skip

    def _take(
        self, file: str | None, kind: str, header: str, name: str, *columns: str | None
    ) -> tuple[Any, ...]:
        from engine.datasets.tables import Mapping

        if not file:
            raise UserError("There is no file to take in.", "Choose one above.")
        if not name.strip():
            raise UserError("The data set has no name.", "Give it one: tasks and links use it.")
        chosen = {
            role: column
            for role, column in zip(ROLES, columns, strict=True)
            if column and _belongs(role, kind)
        }
        mapping = Mapping(kind, chosen, HEADERS[header])  # type: ignore[arg-type]
        row = service.keep(self._workspace, Path(file), Path(file).name, name.strip(), mapping)
        return f"upload:{row['name']}", None, gr.update(visible=False)


def _shape(kind: str) -> tuple[Any, ...]:
    return tuple(gr.update(visible=_belongs(role, kind)) for role in ROLES)


def _belongs(role: str, kind: str) -> bool:
    from engine.datasets.columns import ROLES as NEEDED

    optional = ("split",) if kind in ("pairs", "labels") else ()
    return role in (*NEEDED.get(kind, ()), *optional)  # type: ignore[call-overload]


def _table(filename: str, look: Any) -> str:
    """What the file holds, and what is wrong with it."""
    rows = [tuple(cell(value) for value in row) for row in look.rows]
    head = "first line holds names" if look.header else "no line of names"
    return (
        f'<p class="t-muted">{cell(filename)}: {formats.plural(look.n_rows, "row")}, '
        f"{formats.plural(len(look.columns), 'column')}, {head}.</p>"
        f"{parts.warn(look.problems)}{parts.table(look.columns, rows, 'First rows of the file')}"
    )
