"""The training data of encoders according to their files and MTEB, and which of it is available.

Data sets are matched by name only: `app.pages.curate.leaks` compares their texts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from theodolite.app.jobs import processes
from theodolite.app.pages.board.spec import TaskColumn
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import parse
from theodolite.engine.errors import UserError
from theodolite.store.hashing import hash_of

KIND, FORMAT = "trained-on", "1"
FILES, MTEB = "its files", "MTEB"
"""Sources of the names of training data."""
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
_TYPES = re.compile(
    r"(multilabel|pair)?classification|retrieval|clustering(s2s|p2p)?|reranking|bitextmining|"
    r"hardnegatives|captions?$|dataset$"
)
_SAME = {
    "allnli": ("nli", "snli", "mnlisample"),
    "snli": ("nli",),
    "multinli": ("nli", "mnlisample"),
    "mnli": ("nli", "mnlisample"),
    "stsb": ("stsbenchmark", "stsbmultimt"),
    "starter": ("startertopics",),
}
"""Training set -> available data sets with the same texts, by normalised names."""


_failed: set[str] = set()
"""Models whose look-up failed: it is not repeated in this process."""
Names = dict[str, str]
"""Training set -> its source."""


def known(
    workspace: Workspace, facts: Mapping[str, Mapping[str, Any]], encoders: Iterable[str]
) -> dict[str, Names | None]:
    """The training data of each encoder, given its facts in the list; None if nobody names any."""
    version = _version()
    by_model = {
        row["info"]["model"]: row["info"]["names"]
        for row in workspace.store.derived.list(KIND)
        if row["info"]["version"] == version
    }
    found: dict[str, Names | None] = {}
    for encoder in encoders:
        reported = [
            by_model[model] for model in _models(encoder) if by_model.get(model) is not None
        ]
        listed = facts.get(encoder, {}).get("trained_on")
        by_mteb = dict.fromkeys((name for names in reported for name in names), MTEB)
        found[encoder] = (
            by_mteb | dict.fromkeys(listed or (), FILES) if reported or listed else None
        )
    return found


def on_tasks(
    workspace: Workspace,
    facts: Mapping[str, Mapping[str, Any]],
    encoders: Iterable[str],
    columns: Sequence[TaskColumn],
) -> dict[str, Names | None]:
    """Encoder -> {task on whose data it was trained: source}; None if no source says anything."""
    return {
        name: None if names is None else tasks_of(columns, names)
        for name, names in known(workspace, facts, encoders).items()
    }


def look_up(workspace: Workspace, encoders: Iterable[str]) -> bool:
    """Look up new encoders in MTEB, which takes seconds; return whether it knew any of them.

    Does nothing if mteb is not installed, nor for models whose look-up failed before.
    """
    if not _version() or workspace.demo:
        return False
    models = {model for encoder in encoders for model in _models(encoder)}
    new = [
        model
        for model in sorted(models - _failed)
        if workspace.store.derived.get(_key(model)) is None
    ]
    if not new:
        return False
    found = _names_by_mteb(new)
    _failed.update(set(new) - found.keys())
    for model, names in found.items():
        facts = {"model": model, "names": names, "version": _version()}
        workspace.store.derived.put(_key(model), KIND, facts)
    return any(names is not None for names in found.values())


def _names_by_mteb(models: Sequence[str]) -> dict[str, list[str] | None]:
    """Training data of models by MTEB, read in a separate process; empty when that fails.

    Importing mteb takes seconds, which would block this process.
    """
    code, answer, _ = processes.output("theodolite.engine.mteb.models", models)
    return {} if code else json.loads(answer)


def tasks_of(columns: Iterable[TaskColumn], names: Names) -> Names:
    """Tasks whose data are among the names -> the source."""
    sources = {one: who for name, who in names.items() for one in _wanted(name)}
    found = {
        c.task: next((sources[one] for one in _called(c.dataset) if one in sources), "")
        for c in columns
    }
    return {task: who for task, who in found.items() if who}


def here(names: Iterable[str], datasets: Sequence[str]) -> dict[str, list[str]]:
    """The available training sets: name -> data sets with its texts."""
    found = {name: [one for one in datasets if is_same(name, one)] for name in names}
    return {name: those for name, those in found.items() if those}


def is_same(name: str, dataset: str) -> bool:
    """Whether a training set is the same as an available data set, by their names.

    Owner, case, punctuation and task type are ignored: `embedding-data/SNLI` is `SNLI`, and MTEB's
    `Banking77Classification` is `banking77`; a family in several languages matches by its name.
    """
    return bool(_wanted(name) & _called(dataset))


@lru_cache(maxsize=4096)
def _wanted(name: str) -> frozenset[str]:
    plain = _bare(name)
    return frozenset((plain, *_SAME.get(plain, ())))


@lru_cache(maxsize=4096)
def _called(dataset: str) -> frozenset[str]:
    family, _, last = dataset.rpartition("/")
    in_language = family and re.fullmatch(r"[a-z]{2,3}(-[a-z]{2,3})?", last)
    return frozenset(_bare(name) for name in (dataset, family if in_language else "") if name)


def _bare(name: str) -> str:
    """Normalise the name of a data set for comparison."""
    last = name.removeprefix("mteb:").partition("@")[0].rpartition("/")[2]
    plain = re.sub(r"[^a-z0-9]", "", last.lower())
    return _TYPES.sub("", plain) or plain


def _models(encoder: str) -> list[str]:
    """Names that MTEB may know, `owner/name`, of the models behind an encoder."""
    try:
        sources = parse(encoder).sources
    except UserError:
        return []
    named = [
        MINILM if one.kind == "minilm" else one.value
        for one in sources
        if one.kind in ("minilm", "hf", "mteb")
    ]
    return [name for name in named if name.count("/") == 1]


def _key(model: str) -> str:
    return hash_of(KIND, FORMAT, model, _version())


def _version() -> str:
    from theodolite.engine.protocols.package import version

    return version() or ""
