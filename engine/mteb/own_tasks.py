"""MTEB's own tasks by name, as `mteb:TASK/SUBSETS@SPLITS`: `mteb:STS17/en-en+de-en@test`.

Their data come from the hub or the local cache of `datasets`, at MTEB's pinned revision.
"""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from theodolite.engine.datasets.types import MtebTask, content_hash
from theodolite.engine.errors import UserError, did_you_mean, first_line
from theodolite.engine.hub import causes, explain_failure, offline_if_unreachable
from theodolite.engine.mteb.package import lazy_import, package

PREFIX = "mteb:"
Part = tuple[str, str]
"""Subset and split."""
UNKNOWN_LANGUAGE = "und-Zyyy"
"""The language given for our own data, which may not state one; MTEB drops scores without."""


def split_name(name: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Split `mteb:NAME/subset+subset@split+split` into its parts; omitted parts are empty."""
    rest, _, splits = name.removeprefix(PREFIX).partition("@")
    task, _, subsets = rest.partition("/")

    def several(text: str) -> tuple[str, ...]:
        return tuple(part for part in text.split("+") if part)

    return task, several(subsets), several(splits)


def name_of(task: Any) -> str:
    """Return the name of an MTEB task, with its subsets and splits if not all are used."""
    known = task.metadata
    subsets = "" if list(task.hf_subsets) == list(known.hf_subsets) else "+".join(task.hf_subsets)
    splits = "" if list(task.eval_splits) == list(known.eval_splits) else "+".join(task.eval_splits)
    return f"{PREFIX}{known.name}" + (subsets and f"/{subsets}") + (splits and f"@{splits}")


def load(name: str) -> MtebTask:
    """Describe a task without loading its data."""
    task = make(name)
    source = task.metadata.dataset
    where = [str(source.get(key)) for key in ("path", "name", "revision")]
    digest = content_hash([*where, *task.hf_subsets, *task.eval_splits])
    texts, _ = count_examples(task)
    return MtebTask(name_of(task), task.metadata.name, task.metadata.type, digest, texts or 0)


def make(name: str, seed: int = 42) -> Any:
    """Instantiate one of MTEB's own tasks by name."""
    package()
    task, subsets, splits = split_name(name)
    known = lazy_import("get_tasks._TASKS_REGISTRY")
    if task not in known:
        lists = "`theodolite data suite` lists its suites and their tasks."
        hint = did_you_mean(task, known, lists, PREFIX)
        raise UserError(f"MTEB has no task named {task!r}.", hint, code="unknown")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the result's notes say that a task is superseded
        instance = known[task](seed=seed)
    _check(task, "subset", subsets, instance.metadata.hf_subsets)
    _check(task, "split", splits, instance.metadata.eval_splits)
    if subsets:
        instance.hf_subsets = list(subsets)
    if splits:
        instance.filter_eval_splits(list(splits))
    if list(instance.metadata.modalities) != ["text"]:
        raise UserError(
            f"{task} is a task on {' and '.join(instance.metadata.modalities)}.",
            "Encoders here read text; choose a text task.",
            code="unsupported",
        )
    return instance


def _check(task: str, what: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise UserError(
                f"{task} has no {what} {name!r}.",
                f"It has {', '.join(known[:12])}{' and more' if len(known) > 12 else ''}.",
                code="unknown",
            )


def count_examples(task: Any) -> tuple[int | None, int | None]:
    """Count examples and characters of the scored subsets and splits; None if unknown."""
    parts = task.metadata.tasks if task.is_aggregate else [task]
    counts = [_of_one(one) for one in parts]
    if any(one is None for one in counts):
        return None, None
    counted = [one for one in counts if one is not None]
    return sum(n for n, _ in counted), sum(size for _, size in counted)


def _of_one(task: Any) -> tuple[int, int] | None:
    stats = task.metadata.descriptive_stats
    if not stats:
        return None
    examples = characters = 0
    for split in task.eval_splits:
        of_split = stats.get(split)
        if of_split is None:
            return None
        by_subset = of_split.get("hf_subset_descriptive_stats") or {}
        subsets = [by_subset[subset] for subset in task.hf_subsets if subset in by_subset] or [
            of_split
        ]
        for subset in subsets:
            examples += int(subset.get("num_samples") or 0)
            characters += _characters(subset)
    return examples, characters


def _characters(stats: Mapping[str, Any]) -> int:
    whole = stats.get("number_of_characters")
    if whole:
        return int(whole)
    tables = [stat for stat in stats.values() if isinstance(stat, Mapping)]
    return sum(int(table.get("total_text_length") or 0) for table in tables)


def notes(task: Any) -> list[str]:
    """Return caveats about a task: superseded, or beta."""
    sentences = []
    if task.metadata.superseded_by:
        newer = task.metadata.superseded_by
        sentences.append(f"{task.metadata.name} is superseded by {newer} in MTEB.")
    if task.metadata.is_beta:
        sentences.append(f"{task.metadata.name} is a beta task in MTEB: its scores may change.")
    return sentences


def explain(error: Exception, task: Any) -> UserError | None:
    """Explain why a task's data could not be loaded; None for unrelated errors."""
    about = task.metadata
    source = about.dataset["path"]
    place = f"{source} at {about.dataset['revision'][:12]}"
    page, revision = f"datasets/{source}", about.dataset["revision"]
    if why := explain_failure(error, f"data set {place}", page, revision, is_open=about.is_public):
        return why
    words = " ".join(map(str, causes(error)))
    if "scripts are no longer supported" in words or "trust_remote_code" in words:
        return UserError(
            f"The data of {about.name} ({place}) are read by a program of their own.",
            "No remote code is run here. A newer version of the task may have plain files.",
            code="denied",
        )
    return None


def read(task: Any) -> None:
    """Load a task's data."""
    try:
        with warnings.catch_warnings(), offline_if_unreachable():
            warnings.simplefilter("ignore")
            task.load_data()
    except UserError:
        raise
    except Exception as error:
        why = explain(error, task)
        raise why or UserError(
            f"mteb could not read the data of {task.metadata.name}: {first_line(error)}",
            "Look whether its page on the hub says more, or take another task.",
            code="failed",
        ) from error
    if hasattr(task, "corpus"):  # mteb's v1 data layout, converted later
        return
    missing = [
        split if subset == "default" else f"{subset} ({split})"
        for subset, split in parts_of(task)
        if not count_rows(task, (subset, split))
    ]
    if missing:
        name = task.metadata.name
        raise UserError(
            f"{name} has no data of {', '.join(missing)}.",
            f"Name what it has, as in {PREFIX}{name}/SUBSET@SPLIT, or take another task.",
            code="missing",
        )


def parts_of(task: Any) -> list[Part]:
    """Return the parts of a task, in the order of their values per example."""
    return [(subset, split) for split in task.eval_splits for subset in task.hf_subsets]


def rows_of(task: Any, part: Part) -> Any:
    """Return the scored rows of a part, in MTEB's layout; none where it has no such part."""
    subset, split = part
    data = task.dataset or {}
    of_subset = data[subset] if subset in data else data
    return of_subset[split] if split in of_subset else ()


def count_rows(task: Any, part: Part) -> int:
    """Return the number of examples of a part: queries, pairs, sentences or texts."""
    rows = rows_of(task, part)
    for name in ("queries", "sentence1"):
        if isinstance(rows, Mapping) and name in rows:
            rows = rows[name]
    return len(rows)
