"""The form that adds a file of your own: preview it, assign its columns, save it.

After a wrong mapping the file and all choices stay as they are.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import formats
from theodolite.app.blocks import Block, Caveat, Caveats, Table, Text
from theodolite.app.pages.data import service
from theodolite.app.web import parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, shape
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import tables
from theodolite.engine.datasets.columns import ROLES as NEEDED, roles_of
from theodolite.engine.datasets.types import HOLDS, TYPES as INFO_TYPES
from theodolite.engine.errors import UserError

OFFERED = [(words.capitalize(), kind) for kind, words in HOLDS.items() if kind in NEEDED]
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
TO_NOTICE = """() => document.querySelector("#upload-notice [role=alert]")?.scrollIntoView()"""
"""The form is longer than the window, and what was refused is said at its top."""
CONTROLS = (
    Control(
        "file",
        "CSV, Excel, JSONL, text, PDF or ZIP",
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


def build(workspace: Workspace, *, again: bool = False) -> Any:
    """Lay out the form.

    Args:
        workspace: stores the data sets.
        again: whether the file stays, to be added once more with other columns.

    Returns:
        A hidden box with the name of the data set added last, to be stripped; it fires `change`.
    """
    added = gr.Textbox(visible="hidden", label="Added", elem_id="kept")
    controls = Controls(*CONTROLS)
    file = controls.render("file")
    notice = parts.notice(elem_id="upload-notice")
    sheet = controls.render("sheet")
    with gr.Column(visible=False, elem_id="mapping") as body:
        look = web.answer(elem_id="look")
        with gr.Column(elem_id="fields") as fields:
            with gr.Row():
                controls.render("kind", "header")
            controls.render("type")
            with gr.Row():
                controls.render(*ROLES)
        with gr.Row():
            controls.render("name")
        add = gr.Button("Add data set", variant="primary", elem_id="take-in")
    kind, made_for = controls["kind"], controls["type"]
    hidden = dict.fromkeys([sheet, body], gr.update(visible=False))

    def fields_of(kind: str) -> dict[Any, Any]:
        """Show only the fields of a kind, and the choice among its types of task if it has some."""
        types = INFO_TYPES.get(kind, ())  # type: ignore[call-overload]
        choices = [(TYPES[name], name) for name in types] if len(types) > 1 else []
        first = types[0] if choices else None
        return {
            **{controls[role]: gr.update(visible=_belongs(role, kind)) for role in ROLES},
            made_for: gr.update(visible=bool(choices), choices=choices, value=first),
        }

    def read(values: Values) -> Answer:
        """Read the files and fill the form with guesses."""
        if not values.file:
            return hidden
        with service.bring([Path(file) for file in values.file], values.sheet or "") as folder:
            sheets = list(folder.sheets)
            box = gr.update(choices=sheets, value=folder.sheet or None, visible=len(sheets) > 1)
            path = folder.path
            try:
                preview = tables.preview(path, path.name, HEADERS[values.header])
            except UserError as error:  # another sheet can be chosen
                return {sheet: box, notice: parts.problem(error)}
            doubts = [f"{text}: choose below." for text in service.doubts(path, preview)[0]]
        name = Path(values.file[0]).name if len(values.file) == 1 else path.name
        by_role = fields_of(preview.kind)
        needed, columns = NEEDED.get(preview.kind, ()), list(preview.columns)
        doubts += _lacks(preview)
        for role in ROLES:
            offered = columns if role in needed else ["", *columns]
            by_role[controls[role]] |= {"choices": offered, "value": preview.guesses.get(role)}
        return {
            **by_role,
            body: gr.update(visible=True),
            sheet: box,
            fields: gr.update(visible=preview.type is None),
            look: web.value(_look(name, preview, [*folder.notes, *doubts])),
            kind: preview.kind,
            controls["name"]: values.name or service.name_for(path.name),
        }

    def read_new(values: Values) -> Iterator[Answer]:
        """Read other files, with a name and sheets of their own; what was before is gone."""
        yield {body: gr.update(visible=False)}
        yield read(Values(**vars(values) | {"name": "", "sheet": ""}))

    def mapping_of(values: Values) -> tables.Mapping:
        """The roles of columns as they are chosen."""
        usual = values.type not in INFO_TYPES.get(values.kind, ())[1:]
        roles = {role: getattr(values, role) for role in ROLES}
        columns = {of: c for of, c in roles.items() if c and _belongs(of, values.kind)}
        header = HEADERS[values.header]
        return tables.Mapping(values.kind, columns, header, None if usual else values.type)

    def take(values: Values) -> Answer:
        if not values.file:
            raise UserError("No file to add.", "Choose one above.", code="missing")
        with service.bring([Path(file) for file in values.file], values.sheet or "") as folder:
            path = folder.path
            mapping = service.packed_mapping(path) or mapping_of(values)
            name = values.name.strip()
            row = service.keep(workspace, path, path.name, name, mapping, notes=folder.notes)
        closed = {} if again else {file: None, **hidden}
        name = f"upload:{row['name']}"
        # The box has to change, also where the same name is added once more.
        return {added: f"{name} " if values.added == name else name, **closed}

    shape(fields_of, {kind: [kind for _, kind in OFFERED]})
    rest = [controls[name] for name in controls if name not in ("file", "header")]
    outputs = [body, look, fields, *rest]
    other = [file.upload, file.delete, file.clear]
    on(other, read_new, controls, outputs, notice, show_progress_on=file)
    asks = [sheet.input, controls["header"].input]
    on(asks, read, controls, outputs, notice, show_progress_on=file)
    given = {**controls, "added": added}
    on(add.click, take, given, [added, file, *hidden], notice, show_progress_on=add).then(
        None, js=TO_NOTICE
    )
    return added


def _belongs(role: str, kind: str) -> bool:
    return kind in NEEDED and role in roles_of(kind)


def _lacks(preview: tables.Preview) -> list[str]:
    """The columns that a table of its kind needs and that no column was taken for."""
    needed = NEEDED.get(preview.kind, ()) if preview.type is None else ()
    return [
        f"No column looks like the {ROLES[role].lower()}: choose one below."
        for role in needed
        if role not in preview.guesses
    ]


def _look(name: str, preview: tables.Preview, notes: Sequence[str]) -> list[Block]:
    """The first rows of a file, and what is doubtful about it."""
    if preview.type and preview.columns[0] != "file":
        size = formats.plural(preview.n_rows, "document")
    elif preview.type:
        size = f"{formats.plural(preview.n_rows, 'file')} of {HOLDS[preview.kind]}"
    else:
        head = "first line has column names" if preview.header else "no header line"
        columns = formats.plural(len(preview.columns), "column")
        size = f"{formats.plural(preview.n_rows, 'row')}, {columns}, {head}"
    # A row may be longer or shorter than others.
    width = max(map(len, [preview.columns, *preview.rows]))
    heads, *rows = [[*row, *[""] * (width - len(row))] for row in [preview.columns, *preview.rows]]
    return [
        Text("", f"{name}: {size}."),
        Caveats([Caveat(text) for text in (*notes, *preview.problems)]),
        Table("First rows of the file", heads, rows),
    ]
