"""Choosing an encoder for your own data: a file in, a decision sheet out.

The page Choose, `theodolite choose` and `theodolite.choose` share it; a job makes the sheet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from theodolite.app import beforehand, endpoints, formats
from theodolite.app.jobs.submit import Move, perform
from theodolite.app.pages.board import cost
from theodolite.app.pages.choose import data as evidence
from theodolite.app.pages.choose import words
from theodolite.app.pages.choose.job import MARGIN, ChooseJob
from theodolite.app.pages.choose.sheet import Sheet, stored
from theodolite.app.pages.data import service as uploads
from theodolite.app.pages.encoders.service import ensure_listed, names
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import tables
from theodolite.engine.datasets.tables import Mapping
from theodolite.engine.errors import UserError
from theodolite.store.errors import StoreError

KINDS = ("labels", "labelled-pairs", "pairs", "retrieval", "parallel", "sentences")
_MAX_NAMES = 99


def bring(workspace: Workspace, files: Sequence[Path], columns: str | None = None) -> str:
    """Add a file to the data sets; the roles of its columns are found unless given.

    Rows without a label are left out if other rows have one.

    Args:
        workspace: stores the data set.
        files: a table, an archive, or all files of one data set.
        columns: `text=…,label=…`; None to find them by their names and values.

    Returns:
        Its name in the catalog.
    """
    workspace.refuse_visitors()
    before = {row["name"] for row in workspace.store.uploads.list()}
    with uploads.together(files) as file, TemporaryDirectory() as folder:
        guessed = None if columns else evidence.mapping(file)
        mapping = guessed or uploads.mapping_of(file, None, columns)
        used = {"columns": mapping.columns}
        kept, without = tables.labelled_rows(file, file.name, mapping)
        name, facts = uploads.name_for(file.name), dict[str, Any]()
        if without and not kept:
            mapping = tables.Mapping("sentences", {"text": mapping.columns["text"]}, mapping.header)
        elif without:
            file, facts = Path(folder) / f"{name}.jsonl", {"unlabelled": without, **used}
            file.write_text(kept, encoding="utf-8")
            mapping = tables.Mapping(mapping.kind, {role: role for role in mapping.columns})
        added = _keep(workspace, file, name, mapping, facts)
    try:
        evidence.check(workspace.catalog.load(added))
    except UserError:
        if added.removeprefix("upload:") not in before:
            uploads.remove(workspace, added)
        raise
    return added


def _keep(
    workspace: Workspace, file: Path, name: str, mapping: Mapping, facts: dict[str, Any]
) -> str:
    """Store a file under its name, with a number added if other content has the name."""
    for number in range(1, _MAX_NAMES):
        unused = name if number == 1 else f"{name[:76]} {number}"
        try:
            kept = uploads.keep(workspace, file, file.name, unused, mapping, facts)
            return f"upload:{kept['name']}"
        except StoreError as error:
            if "already" not in error.message:
                raise
    raise UserError(f"Too many uploads are called {name!r}.", "Rename the file.", code="conflict")


def defaults(workspace: Workspace) -> list[str]:
    """The encoders in the list."""
    return names(workspace)


def choose(
    workspace: Workspace,
    data: Path | str,
    encoders: Sequence[str] | None = None,
    *,
    columns: str | None = None,
    max_ms: float | None = None,
    max_bytes: int | None = None,
    licences: Sequence[str] = (),
    margin: float | None = None,
    move: Move | None = None,
) -> Sheet:
    """Measure encoders on your own data, and choose among them.

        sheet = theodolite.choose(theodolite.Workspace(folder), "reviews.csv")
        print(sheet["best"], sheet["ties"], sheet["cheapest"])

    Args:
        workspace: stores the file, the results and the sheet.
        data: a file, or the name of a data set.
        encoders: spec strings; None for those installed.
        columns: `text=…,label=…`; None to guess them.
        max_ms: most milliseconds for a single sentence on this machine.
        max_bytes: most bytes per vector.
        licences: allowed licences of the weights; empty for any.
        margin: points that a cheaper form may lose; None for 2.
        move: updates a progress bar.

    Returns:
        `best`, `ties`, `cheapest`, `more_examples`, `warnings`, and the numbers behind them.
    """
    job = job_of(workspace, data, encoders, columns, max_ms, max_bytes, licences, margin)
    return sheet_of(workspace, job, move)


def job_of(
    workspace: Workspace,
    data: Path | str,
    encoders: Sequence[str] | None = None,
    columns: str | None = None,
    max_ms: float | None = None,
    max_bytes: int | None = None,
    licences: Sequence[str] = (),
    margin: float | None = None,
) -> ChooseJob:
    """The job of the arguments of `choose`, with the file added to the data sets."""
    known = set(workspace.catalog.names())
    name = str(data)
    if Path(data).exists() or name not in known:
        name = bring(workspace, [Path(data)], columns)
    elif columns:
        raise UserError(
            f"{name} is a data set already, whose columns are fixed.",
            "Give its file again, with other columns.",
            code="conflict",
        )
    names = encoders or defaults(workspace)
    return ChooseJob.of(name, names, max_ms, max_bytes, licences, margin)


def sheet_of(workspace: Workspace, job: ChooseJob, move: Move | None = None) -> Sheet:
    """The sheet of a job, from the store or made now."""
    job.validate(workspace)
    ensure_listed(workspace, job.encoders)
    if not job.is_stored(workspace):
        for _ in perform(workspace, job, move=move):
            pass
    found = stored(workspace, job)
    if found is None:
        raise UserError("The sheet could not be made.", "The log has the details.", code="failed")
    return found


def offered(workspace: Workspace) -> list[str]:
    """Names of the data sets that encoders can be chosen for."""
    return [info.name for info in workspace.catalog.list() if info.kind in KINDS]


def plan(workspace: Workspace, job: ChooseJob) -> list[str]:
    """The planned measurements in words."""
    dataset = workspace.catalog.load(job.dataset)
    evidence.check(dataset)
    task, rows = evidence.task_of(workspace, job.dataset), evidence.examples(dataset)
    labels = len(evidence.labels_of(dataset))
    of = f", {formats.plural(labels, 'label')}" if labels else ""
    if task is None:
        few = f"Fewer than {evidence.MIN_EXAMPLES} labels" if rows else "No labels"
        what = f"{few}: the sheet will say how encoders differ and what they cost, not who is best."
    else:
        named = words.EXAMPLES.get(dataset.kind, ("example",))
        what = f"{formats.plural(rows or 0, *named)}{of}, evaluated as {task}."
    if without := evidence.unlabelled(workspace, job.dataset):
        what += f" {formats.plural(without, 'row')} without a label are left out."
    what = " ".join(
        [*words.columns({"columns": evidence.columns_of(workspace, job.dataset)}), what]
    )
    every = job.with_baseline()
    left = len(set(every) - cost.measured(workspace).keys())
    timed = f" Timing takes about {10 * left} s." if left else ""
    many = formats.plural(len(every), "encoder")
    baseline = f"{many}, among them random words ({job.baseline}) as the baseline.{timed}"
    return [what, baseline, *sent(workspace, job), *warned(workspace, job)]


def warned(workspace: Workspace, job: ChooseJob) -> Iterator[str]:
    """Warnings to read before a run: settings that a model's files deny, and texts that it cuts."""
    for name in job.encoders:
        for text in beforehand.of(workspace, name, [job.dataset]):
            yield f"{name}: {text}"


def sent(workspace: Workspace, job: ChooseJob) -> Iterator[str]:
    """The texts that endpoints would get, in a sentence each."""
    timed = cost.measured(workspace)
    for name, counts in endpoints.announced(workspace, job.encoders, job.dataset):
        yield counts if name in timed else f"{counts} Made-up texts are sent too, to time it."


def command(job: ChooseJob) -> list[str]:
    """Arguments of the equivalent `theodolite choose …`, without defaults."""
    argv = ["theodolite", "choose", job.dataset]
    for name in job.encoders:
        argv += ["-e", name]
    if job.max_ms is not None:
        argv += ["--max-ms", f"{job.max_ms:g}"]
    if job.max_bytes is not None:
        argv += ["--max-bytes", str(job.max_bytes)]
    if job.margin != MARGIN:
        argv += ["--margin", f"{job.margin:g}"]
    return argv + (["--licence", ",".join(job.licences)] if job.licences else [])
