"""The training data of encoders according to their files and MTEB, and what of it is here.

By names alone: whether texts of a task were seen is what `app.pages.board.leaks` looks for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from app.jobs import processes
from store.hashing import hash_of

if TYPE_CHECKING:
    from app.pages.board.service import Standings
    from app.workspace import Workspace

KIND, FORMAT = "trained-on", "1"
FILES, MTEB = "its files", "MTEB"
"""Who says it."""
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
"""A training set -> data sets here that are made of the same texts, by their bare names."""


_failed: set[str] = set()
"""Models whose look-up failed: they are not asked about again while this process lives."""
Names = dict[str, str]
"""Training sets, and who says that an encoder saw them."""


def known(
    workspace: Workspace, facts: Mapping[str, Mapping[str, Any]], encoders: Iterable[str]
) -> dict[str, Names | None]:
    """What each encoder was trained on; None where nobody says anything.

    Args:
        workspace: where it is kept what MTEB said.
        facts: encoder -> what is listed of it.
        encoders: whom it is asked of.
    """
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


def look_up(workspace: Workspace, encoders: Iterable[str]) -> bool:
    """Ask MTEB of those it was not asked of; tell whether it knew more. It takes seconds, seldom.

    Nothing is asked where it is not installed, nor again of models where that failed before.
    """
    if not _version() or workspace.demo:
        return False
    models = {model for encoder in encoders for model in _models(encoder)}
    new = [model for model in sorted(models - _failed)
           if workspace.store.derived.get(_key(model)) is None]  # fmt: skip
    if not new:
        return False
    found = _names_by_mteb(new)
    _failed.update(set(new) - found.keys())
    for model, names in found.items():
        facts = {"model": model, "names": names, "version": _version()}
        workspace.store.derived.put(_key(model), KIND, facts)
    return any(names is not None for names in found.values())


def _names_by_mteb(models: Sequence[str]) -> dict[str, list[str] | None]:
    """What MTEB says of some models, asked by a process of its own; empty when that fails.

    Importing mteb takes seconds, in which this process would answer nobody.
    """
    code, answer, _ = processes.output("engine.mteb.models", models)
    return {} if code else json.loads(answer)


def tasks_of(board: Standings, names: Names) -> Names:
    """Tasks of the board whose data are among the names -> who says so."""
    sources = {one: who for name, who in names.items() for one in _wanted(name)}
    found = {c.task: next((sources[one] for one in _called(c.dataset) if one in sources), "")
             for c in board.columns}  # fmt: skip
    return {task: who for task, who in found.items() if who}


def here(names: Iterable[str], datasets: Sequence[str]) -> dict[str, list[str]]:
    """Of training sets those that are here: name -> data sets with its texts."""
    found = {name: [one for one in datasets if is_same(name, one)] for name in names}
    return {name: those for name, those in found.items() if those}


def is_same(name: str, dataset: str) -> bool:
    """Whether a training set is a data set here, by their names.

    Without owner, case, punctuation and the type of task: `embedding-data/SNLI` is `SNLI`, and
    MTEB's `Banking77Classification` is `banking77`; of a family in several languages, its name.
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
    """What is compared of a name."""
    last = name.removeprefix("mteb:").partition("@")[0].rpartition("/")[2]
    plain = re.sub(r"[^a-z0-9]", "", last.lower())
    return _TYPES.sub("", plain) or plain


def _models(encoder: str) -> list[str]:
    """Names that MTEB may know, `owner/name`, of the models behind an encoder."""
    from engine.encoders import parse
    from engine.errors import UserError

    try:
        sources = parse(encoder).sources
    except UserError:
        return []
    named = [MINILM if one.kind == "minilm" else one.value for one in sources
             if one.kind in ("minilm", "hf", "mteb")]  # fmt: skip
    return [name for name in named if name.count("/") == 1]


def _key(model: str) -> str:
    return hash_of(KIND, FORMAT, model, _version())


def _version() -> str:
    from engine.protocols.package import version

    return version() or ""
