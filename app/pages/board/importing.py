"""The section *Published results* of the page Board: importing and removing published scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gradio as gr

from theodolite.app import exchange, formats
from theodolite.app.components.folder import folder
from theodolite.app.web import parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.mteb.reading import ENDINGS, Reading

TITLE = "Published results"
LEAD = (
    "Results in MTEB's layout (MODEL/REVISION/TASK.json), as a ZIP archive, a folder or single "
    "files, and the hub's YAML of evaluation results. They are references: never ranked, tested, "
    "or averaged with yours."
)
FILES = "published-files"
CONTROLS = (
    Control(
        "file",
        "ZIP, JSON or YAML",
        gr.File,
        options={"file_count": "multiple", "height": 120, "elem_id": FILES},
    ),
    Control(
        "model",
        "Model",
        default="",
        hint="Owner/name; needed if the files lack it.",
        options={"max_lines": 1, "elem_id": "published-model"},
    ),
    Control(
        "revision",
        "Revision of the model",
        default="",
        options={"max_lines": 1, "elem_id": "published-revision"},
    ),
    Control(
        "imported",
        "Imported models",
        gr.Dropdown,
        (),
        "Removed results can be imported again.",
        (),
        {"multiselect": True, "elem_id": "published-here"},
    ),
)
MAX_PROBLEMS = 3


def build(workspace: Workspace) -> Controls:
    """Lay out the section; the page notices imports by itself, and fills the list of models."""
    controls = Controls(*CONTROLS)
    with gr.Accordion(TITLE, open=False, elem_id="published-results"):
        parts.static(f'<p class="t-muted">{LEAD}</p>')
        with gr.Row():
            with gr.Column(scale=3, min_width=280):
                controls.render("file")
                folder("Choose a whole folder", FILES, ENDINGS, elem_id="published-folder")
            with gr.Column(scale=2, min_width=280):
                controls.render("model", "revision")
                take = gr.Button("Import", size="md", elem_id="published-take")
            with gr.Column(scale=2, min_width=280):
                controls.render("imported")
                remove = gr.Button("Remove", size="md", elem_id="published-remove")
        notice = parts.notice()
    changed = [controls["file"], controls["imported"]]

    def bring(values: Values) -> Answer:
        files = [(Path(file).name, Path(file)) for file in values.file or ()]
        if not files:
            raise UserError(
                "There is nothing to import.", "Choose files or a folder first.", code="missing"
            )
        found = exchange.bring(workspace, files, values.model, values.revision)
        return {
            controls["file"]: None,
            controls["imported"]: here(workspace),
            notice: summary(found),
        }

    def let_go(values: Values) -> Answer:
        chosen = [tuple(json.loads(one)) for one in values.imported]
        number = exchange.forget(workspace, chosen)
        words = f"{formats.plural(number, 'published result')} removed."
        return {controls["imported"]: here(workspace), notice: parts.say(words)}

    on(
        [controls["file"].upload, take.click],
        bring,
        controls,
        changed,
        notice,
        show_progress="full",
        show_progress_on=controls["file"],
    )
    on(remove.click, let_go, controls, changed, notice)
    return controls


def here(workspace: Workspace) -> Any:
    """The choices of models with imported results, by revision."""
    choices = [
        (
            f"{model}{revision and f', {revision[:8]}'}: {formats.plural(number, 'result')}",
            formats.json_text([model, revision]),
        )
        for model, revision, number in workspace.store.published.held()
    ]
    return gr.update(choices=choices, value=[])


def summary(found: Reading) -> str:
    """The outcome of an import: the number of results, files left out, notes."""
    models = {(one.model, one.revision) for one in found.results}
    tasks = {one.task for one in found.results}
    left = [f"Left out: {problem}." for problem in found.problems[:MAX_PROBLEMS]]
    if len(found.problems) > MAX_PROBLEMS:
        left.append(f"Also left out: {len(found.problems) - MAX_PROBLEMS} more files.")
    what = (
        f"{formats.plural(len(found.results), 'result')} of {formats.plural(len(models), 'model')} "
        f"on {formats.plural(len(tasks), 'task')} imported."
    )
    return parts.say(what) + parts.warn([*found.notes, *left])
