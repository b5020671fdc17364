"""The form that adds a file of your own: preview it, assign its columns, save it.

After a wrong mapping the file and all choices stay as they are.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from theodolite.app.pages.data import service, views
from theodolite.app.pages.data.views import KINDS
from theodolite.app.web import parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, shape
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import archives, tables
from theodolite.engine.datasets.columns import ROLES as NEEDED
from theodolite.engine.datasets.columns import roles_of
from theodolite.engine.datasets.types import TYPES as INFO_TYPES
from theodolite.engine.errors import UserError

OFFERED = [(words.capitalize(), kind) for kind, words in KINDS.items() if kind in NEEDED]
TYPES = {
    "Classification": "distinguished (classification)",
    "Clustering": "found as groups (clustering)",
    "Retrieval": "found among all documents (retrieval)",
    "Reranking": "reranked, each query's own candidates (reranking)",
}
"""Type of task -> how it uses the rows, for kinds of data set with several types."""
HEADERS = {"detect": None, "holds names": True, "is a row": False}
ROLES = {
    "left": "First sentence",
    "right": "Second sentence",
    "score": "Score",
    "text": "Text",
    "label": "Label",
    "anchor": "Anchor",
    "positive": "Positive",
    "negative": "Hard negative",
    "query": "Query",
    "document": "Document",
    "grade": "Grade (0: does not answer)",
    "split": "Split (optional)",
    "cluster": "Cluster: rows that belong together (optional)",
}
"""Role of a column -> its label."""
CONTROLS = (
    Control(
        "file",
        "A table (Excel too), lines, ZIP or several files",
        gr.File,
        options={"file_count": "multiple", "height": 150, "elem_id": "upload"},
    ),
    Control(
        "sheet",
        "Sheet",
        gr.Dropdown,
        choices=(),
        options={"visible": False, "elem_id": "sheet"},
    ),
    Control("kind", "It holds", gr.Radio, choices=OFFERED, options={"scale": 3}),
    Control(
        "header",
        "The first line",
        gr.Radio,
        "detect",
        choices=list(HEADERS),
        options={"scale": 2},
    ),
    Control(
        "type",
        "To be",
        gr.Radio,
        choices=[(words, name) for name, words in TYPES.items()],
        options={"visible": False, "elem_id": "made-for"},
    ),
    *(
        Control(
            role,
            label,
            gr.Dropdown,
            choices=(),
            options={"visible": False, "min_width": 160, "elem_id": f"role-{role}"},
        )
        for role, label in ROLES.items()
    ),
    Control(
        "name",
        "Name",
        default="",
        hint="Letters, digits, spaces and . _ + -",
        options={"max_lines": 1, "elem_id": "upload-name"},
    ),
)


def build(workspace: Workspace) -> Any:
    """Lay out the form.

    Returns:
        A hidden box with the name of the data set added last; it fires `change`.
    """
    kept = gr.Textbox(visible="hidden", label="Kept", elem_id="kept")
    controls = Controls(*CONTROLS)
    controls.render("file")
    notice = parts.notice()
    with gr.Column(visible=False, elem_id="mapping") as body:
        controls.render("sheet")
        preview = parts.static("", elem_id="look")
        with gr.Column(elem_id="fields") as fields:
            with gr.Row():
                controls.render("kind", "header")
            controls.render("type")
            with gr.Row():
                controls.render(*ROLES)
        with gr.Row():
            controls.render("name")
        keep = gr.Button("Add data set", variant="primary", elem_id="take-in")
    file, sheet, kind, made_for, name_box = (
        controls[of] for of in ("file", "sheet", "kind", "type", "name")
    )
    roles = [controls[role] for role in ROLES]

    def read(values: Values) -> Answer:
        """Read the files and fill the form with guesses."""
        if not values.file:
            return None
        with service.bring([Path(file) for file in values.file], values.sheet or "") as brought:
            path = brought.path
            found = tables.preview(path, path.name, HEADERS[values.header])
        found = replace(found, problems=[*brought.notes, *found.problems])
        columns = list(found.columns)
        guessed = {
            controls[role]: gr.update(
                choices=columns if role in NEEDED.get(found.kind, ()) else ["", *columns],
                value=found.guesses.get(role),
                visible=_belongs(role, found.kind),
            )
            for role in ROLES
        }
        return {
            **guessed,
            body: gr.update(visible=True),
            sheet: gr.update(choices=list(brought.sheets), visible=len(brought.sheets) > 1),
            fields: gr.update(visible=found.type is None),
            preview: views.first_rows(path.name, found),
            kind: found.kind,
            made_for: _types(found.kind),
            name_box: values.name or service.name_for(path.name),
        }

    def take(values: Values) -> Answer:
        if not values.file:
            raise UserError("No file to add.", "Choose one above.", code="missing")
        with service.bring([Path(file) for file in values.file], values.sheet or "") as brought:
            path = brought.path
            packed = archives.is_archive(path.name)
            found = tables.preview(path, path.name) if packed else None
            if found and found.type:
                mapping = found.mapping
            else:
                chosen = {
                    role: column
                    for role in ROLES
                    if (column := getattr(values, role)) and _belongs(role, values.kind)
                }
                usual = values.type not in INFO_TYPES.get(values.kind, ())[1:]
                mapping = tables.Mapping(
                    values.kind, chosen, HEADERS[values.header], None if usual else values.type
                )
            name = values.name.strip()
            row = service.keep(workspace, path, path.name, name, mapping, notes=brought.notes)
        return {kept: f"upload:{row['name']}", file: None, body: gr.update(visible=False)}

    shape(
        lambda kind: {
            **{controls[role]: gr.update(visible=_belongs(role, kind)) for role in ROLES},
            made_for: _types(kind),
        },
        {kind: [kind for _, kind in OFFERED]},
    )
    on(
        [file.upload, sheet.input, controls["header"].input],
        read,
        controls,
        [body, sheet, fields, preview, kind, made_for, *roles, name_box],
        notice,
        show_progress="full",
        show_progress_on=file,
    )
    on(file.clear, lambda: {body: gr.update(visible=False)}, None, [body], notice)
    on(
        keep.click,
        take,
        controls,
        [kept, file, body],
        notice,
        show_progress="full",
        show_progress_on=keep,
    )
    return kept


def _belongs(role: str, kind: str) -> bool:
    return kind in NEEDED and role in roles_of(kind)


def _types(kind: str) -> dict[str, Any]:
    """The choice among the types of task of a kind; hidden if there is only one."""
    types = INFO_TYPES.get(kind, ())  # type: ignore[call-overload]
    choices = [(TYPES[name], name) for name in types] if len(types) > 1 else []
    value = types[0] if choices else None
    return gr.update(visible=bool(choices), choices=choices, value=value)
