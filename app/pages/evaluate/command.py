"""`theodolite encode | evaluate | compare | search`: what the engine computes, from a terminal."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app import formats
from app.terminal import (
    DataOption,
    JsonOption,
    StoreOption,
    emit,
    emit_json,
    line,
    plain_errors,
    progress_bar,
    say,
)
from app.workspace import Workspace, default_data, default_store

if TYPE_CHECKING:
    from app.pages.search.service import Limits

EncodersArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="ENCODER…", help="Spec strings, e.g. minilm, random:256, hf:ID?pooling=cls_token."
    ),
]


def open_workspace(store: Path | None, data: Path | None) -> Workspace:
    """The workspace that --store and --data, or their defaults, name."""
    return Workspace(store or default_store(), data or default_data())


@plain_errors
def encode(
    encoder: Annotated[str, typer.Argument(help="A spec string, e.g. minilm | normalise.")],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[SENTENCE]…", help="Sentences; none: stdin.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Read sentences from here, one a line (UTF-8).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write a float32 .npy of shape (n, dim) here.")
    ] = None,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Turn sentences into vectors.

    theodolite encode minilm "a boat on the river" --json

    theodolite encode "wordllama | whiten:starter,64" --file sentences.txt --out vectors.npy
    """
    from app.typed import Typed
    from engine.errors import UserError

    sentences = _sentences(texts, file)
    if out is None and not as_json:
        raise UserError(
            "Nowhere to put the vectors.",
            "Add --out FILE.npy, or --json to print one object a sentence.",
        )
    if out is not None:
        check_writable(out)
    workspace = open_workspace(store, data)
    model = workspace.load(encoder)
    with progress_bar("encoding") as move:
        vectors = (Typed(model) if texts else model).encode(
            sentences, lambda done, total: move(done, total, "encoding")
        )
    if out is not None:
        import numpy as np

        with out.open("wb") as target:
            np.save(target, vectors, allow_pickle=False)
        say(f"{vectors.shape[0]} vectors of {vectors.shape[1]} dimensions written to {out}.")
    if as_json:
        for sentence, vector in zip(sentences, vectors.tolist(), strict=True):
            emit_json({"sentence": sentence, "vector": vector})


def _sentences(texts: list[str] | None, file: Path | None) -> list[str]:
    """Sentences of the command, of a file (`.gz` too) or of standard input, one a line."""
    from engine.datasets.files import decode, lines
    from engine.errors import UserError

    if texts:
        return texts
    if file is None:
        return list(decode(io.BytesIO(sys.stdin.buffer.read()), "Standard input"))
    try:
        return list(lines(file))
    except OSError as error:
        raise UserError(
            f"{str(file)!r} cannot be read: {error.strerror}.", "Check the path."
        ) from error


def check_writable(file: Path) -> None:
    """Refuse before anything is computed what cannot be written afterwards.

    Raises:
        UserError: a folder, or no right to write there.
    """
    from engine.errors import UserError

    if file.is_dir() or not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
        raise UserError(f"{str(file)!r} cannot be written.", "Name a file in a folder of yours.")


@plain_errors
def evaluate(
    encoders: EncodersArgument,
    tasks: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated tasks or suites; default: the starter set and STS, or with "
            "--protocol all it covers."
        ),
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="A protocol's name; default: each task's own.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Default: the protocol's own seed.")] = None,
    seeds: Annotated[
        int,
        typer.Option(help="How many seeds in a row, from --seed on; 1 to 20. Tells the spread."),
    ] = 1,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what it would cost, and measure nothing.")
    ] = False,
    unlisted: Annotated[
        bool, typer.Option("--unlisted", help="Keep the encoders out of the list on the pages.")
    ] = False,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure encoders on tasks; a number measured before is read, not measured again.

    theodolite evaluate minilm wordllama random:256 --tasks StarterSTS,StarterTopics

    theodolite evaluate hf:bert-base-uncased?pooling=avg --tasks sts --data senteval --json

    theodolite evaluate minilm --tasks transfer --protocol senteval --seeds 3

    theodolite evaluate minilm --tasks senteval --protocol senteval --estimate

    With --json every number is one object; `main` is true on the one a table shows. With --seeds,
    tasks that draw nothing are measured once, and the others end with one line on their spread.
    """
    from engine import protocols
    from engine.tasks import expand, seeds_of

    protocols.check_seed(seed, seeds)
    workspace = open_workspace(store, data)
    names = expand(tasks, workspace.catalog, protocol)
    if estimate:
        _print_estimate(workspace, encoders, names, protocol, seed, seeds, as_json)
        return
    total = len(dict.fromkeys(encoders)) * sum(
        len(seeds_of(name, protocol, seed, seeds)) for name in names
    )
    table: list[dict[str, Any]] = []
    with progress_bar("evaluating") as move:

        def within_task(done: int, of: int) -> None:
            move(len(table) + done / max(of, 1), total, "evaluating")

        rows = workspace.evaluate(
            encoders, names, protocol, seed, within_task, seeds=seeds, listed=not unlisted
        )
        for row in rows:
            if as_json:
                _emit_scores(workspace, row)
            table.append(row)
            within_task(0, 1)
    _print_results(table, as_json, with_seed=seeds > 1)
    if protocol is None:
        say("No protocol was named: each task ran under its own, which stands beside its score.")
    if any(row["error"] is not None for row in table):
        raise typer.Exit(1)


def _print_results(table: list[dict[str, Any]], as_json: bool, *, with_seed: bool) -> None:
    """Rows for people, and the spread over seeds for both."""
    from app.pages.evaluate.spread import spreads, words
    from app.pages.overview.service import measure

    found = spreads(table)
    if as_json:
        for (encoder, task, protocol), over in found.items():
            head = {"encoder": encoder, "task": task, "protocol": protocol}
            emit_json({**head, "spread": vars(over)})
        return
    rows = [{**row, "measure": "" if row["error"] else measure(row)} for row in table]
    seed_column = ("seed",) if with_seed else ()
    emit(
        rows,
        ("encoder", "task", *seed_column, "score", "measure", "n", "protocol", "error"),
        False,
    )
    for (encoder, task, protocol), over in found.items():
        line(f"{encoder} on {task} under {protocol}: mean {over.mean:.2f} {words(over)}")


def _print_estimate(
    workspace: Workspace,
    encoders: list[str],
    tasks: list[str],
    protocol: str | None,
    seed: int | None,
    seeds: int,
    as_json: bool,
) -> None:
    from app.pages.evaluate import costs

    found: list[costs.Estimate] = []
    with progress_bar("estimating") as move:
        for share, what, made in costs.estimates(workspace, encoders, tasks, protocol, seed, seeds):
            move(share, 1.0, f"estimating {what}")
            found += [made] if made is not None else []
    if as_json:
        for made in found:
            emit_json(made.row())
        return
    emit([costs.row_in_words(made) for made in found],
         ("encoder", "results", "new_sentences", "encoding", "training", "in_all", "memory", "disk",
          "error"), False)  # fmt: skip
    say("Estimates, on this machine as busy as it is now: mostly within a factor of two.")


def _emit_scores(workspace: Workspace, row: dict[str, Any]) -> None:
    if row["error"] is not None:
        keys = ("encoder", "fingerprint", "task", "protocol", "seed", "error", "hint")
        emit_json({key: row[key] for key in keys})
        return
    for score in workspace.store.results.scores(row["id"]):
        emit_json(score)


@plain_errors
def compare(
    encoders: EncodersArgument,
    tasks: Annotated[
        str | None, typer.Option(help="Comma-separated tasks or suites; default: all shared.")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="Results under this protocol only; default: each task's own.")
    ] = None,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which differences between measured encoders are real.

    theodolite compare minilm wordllama random:256

    theodolite compare minilm wordllama --tasks transfer --protocol senteval --json

    Each task gets the difference to the first encoder, its 95 % paired-bootstrap interval, and a
    verdict after Holm's correction over the tasks (McNemar's test where examples are right or
    wrong). Tie groups are another question: all pairs of encoders on one task, with Holm's
    correction over the pairs; those with the letter a tie with the best. With --json: every
    p-value, and the ranks that hold 95 % of the resamples. What was not measured yet is measured
    by `theodolite evaluate`.
    """
    from app.pages.compare import service as comparison

    workspace = open_workspace(store, data)
    report = comparison.compare(workspace, encoders, tasks, protocol)
    emit(
        report.rows() if as_json else [_in_words(row) for row in report.rows()],
        (
            "task",
            "encoder",
            "score",
            "tie_group",
            "against",
            "delta",
            "low",
            "high",
            "p",
            "verdict",
        ),
        as_json,
    )
    for warning in report.warnings:
        if as_json:
            emit_json({"warning": warning})
        else:
            say(f"Note: {warning}")


def _in_words(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a comparison as the table prints it."""
    p = row.get("p_holm", row.get("p"))
    verdict, note = row["verdict"], row.get("tie_group_note")
    said = f"{verdict} ({note})" if note else verdict
    return {**row, "p": None if p is None else formats.p_value(p), "verdict": said}


@plain_errors
def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    collection: Annotated[
        str, typer.Option("--in", metavar="DATASET", help="Where to look; see `theodolite data`.")
    ] = "starter-topics",
    encoder: Annotated[
        list[str] | None, typer.Option("--encoder", "-e", help="Once for each encoder.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="How many at most.")] = 10,
    by: Annotated[str, typer.Option(help="meaning, words or pattern.")] = "meaning",
    unlike: Annotated[
        list[str] | None, typer.Option(help="A sentence to be unlike; once for each.")
    ] = None,
    least: Annotated[float | None, typer.Option(min=-1, max=1, help="The least cosine.")] = None,
    index: Annotated[
        bool,
        typer.Option("--index", help="Make an index of a large collection first, for later ones."),
    ] = False,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find sentences of a collection: the nearest, one list for each encoder, or by their words.

    theodolite search "a dog runs on the grass" --in flickr30k -e minilm -e random:256 -k 5

    theodolite search "a dog runs" --unlike "a dog sleeps" --least 0.4

    theodolite search "^Who .*[?]$" --by pattern

    Every sentence is compared with the query. Of more than 200,000 sentences --index makes an index
    once; later searches then read little and find nearly the same.
    """
    from app.pages.search import indexes
    from app.pages.search.service import Limits, alike, nearest
    from engine.errors import UserError

    workspace = open_workspace(store, data)
    limits = Limits(k, least)
    if by in ("words", "pattern"):
        _by_words(workspace, by, collection, query, limits, as_json)
        return
    if by != "meaning":
        raise UserError(f"There is no search by {by!r}.", "Choose meaning, words or pattern.")
    rows: list[dict[str, Any]] = []
    with progress_bar("encoding") as move:
        for spec in encoder or ["minilm"]:
            what = f"encoding {collection} with {spec}"
            moved = lambda done, total, what=what: move(done, total, what)  # noqa: E731
            if index and indexes.is_large(len(workspace.catalog.sentences(collection)[0])):
                indexes.make(workspace, spec, collection, moved)
            hits = (
                [alike(workspace, spec, collection, [query], unlike, limits, moved)]
                if unlike
                else nearest(workspace, spec, collection, [query], limits, moved)
            )
            rows += [
                {"encoder": spec, "rank": rank, "cosine": hit.cosine, "sentence": hit.sentence}
                for rank, hit in enumerate(hits[0], 1)
            ]
    emit(rows, ("encoder", "rank", "cosine", "sentence"), as_json)


def _by_words(
    workspace: Workspace, by: str, collection: str, query: str, limits: Limits, as_json: bool
) -> None:
    from app.pages.search import service as retrieval

    find = retrieval.containing if by == "words" else retrieval.matching
    hits, total = find(workspace, collection, query, limits)
    rows = [{"id": hit.index, "sentence": hit.sentence} for hit in hits]
    emit(rows, ("id", "sentence"), as_json)
    say(f"{total:,} found, the first {len(rows)} shown.")
