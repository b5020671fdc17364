"""A task scored by mteb's own code: `mteb.evaluate` on one of our encoders.

The scores are those that the leaderboard would show. Files are written only to a temporary folder;
MTEB's own cache of results is not used.
"""

import json
import logging
import math
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

from theodolite.engine.datasets.types import Dataset, MtebTask
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import UserError
from theodolite.engine.mteb import conversion, own_tasks
from theodolite.engine.mteb.examples import (
    NONE,
    Values,
    record_queries,
    values_of,
    with_clusters,
    writes,
)
from theodolite.engine.mteb.model import Model, TextProgress
from theodolite.engine.mteb.package import caution, package
from theodolite.engine.mteb.results import scores_of
from theodolite.engine.protocols.package import installed_protocol, version
from theodolite.engine.results import Score
from theodolite.engine.tasks.task import Measurement, Task

_SAME = 1e-2
"""Points of 100 by which two ways to the same score may differ: MTEB rounds some."""


def measure(
    task: Task,
    data: Dataset,
    encoder: Encoder,
    protocol: str,
    seed: int,
    progress: TextProgress | None = None,
) -> Measurement:
    """Measure an encoder on a task by MTEB's code.

    Args:
        task: one of ours, or MTEB's own.
        data: a data set of the task's kind.
        encoder: the encoder to evaluate, with its cache.
        protocol: `mteb-X.Y.Z`, matching the installed version.
        seed: the random seed; MTEB's default is 42.
        progress: called with the number of sentences encoded; an exception from it stops the run.
    """
    mteb = package()
    if protocol != installed_protocol():
        raise UserError(
            f"Protocol {protocol} is scored by mteb {protocol.removeprefix('mteb-')}; mteb "
            f"{version()} is installed.",
            f"Use --protocol mteb, or pip install mteb=={protocol.removeprefix('mteb-')}.",
            code="unsupported",
        )
    own = isinstance(data, MtebTask)
    mteb_task = own_tasks.make(data.name, seed) if own else conversion.make(task, data, seed)
    single = not mteb_task.is_aggregate
    if own and single:
        own_tasks.read(mteb_task)
    queries = {} if not single or writes(mteb_task) else record_queries(mteb_task)
    model = Model(encoder, progress)
    with tempfile.TemporaryDirectory() as folder, _quiet():
        try:
            (task_result,) = mteb.evaluate(
                model,
                mteb_task,
                cache=None,
                co2_tracker=False,
                show_progress_bar=False,
                encode_kwargs={"batch_size": 32, "show_progress_bar": False},
                prediction_folder=Path(folder) if single and writes(mteb_task) else None,
            ).task_results
        except Exception as error:
            why = own_tasks.explain(error, mteb_task) if own else None
            raise why or error from None
        main = mteb_task.metadata.main_score
        values, details = values_of(mteb_task, Path(folder), queries, main) if single else ({}, {})
    parts = [(split, one) for split, several in task_result.scores.items() for one in several]
    loaded = own_tasks.parts_of(mteb_task) if mteb_task.dataset else ()
    sizes = {part: own_tasks.count_rows(mteb_task, part) for part in loaded}
    scores = tuple(scores_of(parts, main, sizes))
    if math.isnan(scores[0].score):
        raise UserError(
            f"mteb gives no score of {task.name}.",
            "Its data may not decide one.",
            code="not-finite",
        )
    if values and not _means(values, details, scores[0]):
        values, details = {}, {"notes": [NONE]}
    notes = [*caution(), *(own_tasks.notes(mteb_task) if own else ()), *details.pop("notes", ())]
    details |= {
        "mteb": json.loads(task_result.model_dump_json()),
        "type": mteb_task.metadata.type,
        "notes": notes,
    }
    if own and single:
        details["hub_dataset"] = str(mteb_task.metadata.dataset["path"])
    measured = Measurement(scores, values, details)
    return with_clusters(measured, mteb_task) if own and values else measured


def _means(values: Values, details: dict[str, Any], main: Score) -> bool:
    """Whether the values' mean is the main score, or the score is not a mean."""
    name = details.get("mean_of")
    return name is None or abs(100.0 * float(values[name].mean()) - main.score) < _SAME


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence MTEB's warnings, progress bars and log; the notes have what matters of them."""
    logger, level = logging.getLogger("mteb"), logging.getLogger("mteb").level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
