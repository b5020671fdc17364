"""The training data of encoders according to their files and MTEB, and which of it is available.

Data sets are matched by name only: `app.pages.curate.leaks` compares their texts.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from theodolite.app.jobs import processes
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.mteb.package import TESTED, unlisted
from theodolite.engine.protocols.package import version
from theodolite.engine.rankers import parse
from theodolite.store.hashing import hash_of

KIND, FORMAT = "trained-on", "2"
FILES, MTEB = "its files", "MTEB"
"""Sources of the names of training data."""
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
_OF_MINILM = (
    *("MSMARCO", "MSMARCO-Fa", "MSMARCO-FaHardNegatives", "MSMARCO-PL", "MSMARCO-PLHardNegatives"),
    *("MSMARCO-VN", "MSMARCOHardNegatives", "MSMARCOv2", "MultilingualNanoMSMARCORetrieval"),
    *("MultilingualNanoNQRetrieval", "NQ", "NQ-Fa", "NQ-FaHardNegatives", "NQ-NL", "NQ-PL"),
    *("NQ-PLHardNegatives", "NQ-VN", "NQHardNegatives", "NQTablesRetrieval", "NanoMSMARCO-VN"),
    *("NanoMSMARCORetrieval", "NanoNQ-VN", "NanoNQRetrieval", "mMARCO-NL"),
)
"""What mteb says of it in the version of `TESTED`, so that nobody waits for the import."""
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
    by_model = _by_mteb(workspace)
    sets: dict[str, Names | None] = {}
    for encoder in encoders:
        reported = [by_model[model] for model in _models(encoder) if model in by_model]
        named = [name for names in reported for name in names or ()]
        declared = facts.get(encoder, {}).get("trained_on")
        known = dict.fromkeys(named, MTEB) | dict.fromkeys(declared or (), FILES)
        is_known = declared or any(names is not None for names in reported)
        sets[encoder] = known if is_known else None
    return sets


def look_up(workspace: Workspace, encoders: Iterable[str]) -> bool:
    """Look up new encoders in MTEB, which takes seconds; return whether it knew any of them.

    Does nothing if mteb is not installed, nor for models whose look-up failed before; mteb is not
    imported for models that it does not name.
    """
    if not version() or workspace.demo:
        return False
    known = _by_mteb(workspace)
    models = {model for encoder in encoders for model in _models(encoder)}
    new = models - _failed - known.keys()
    if not new:
        return False
    unknown = unlisted(new)
    names_by_model: dict[str, list[str] | None] = dict.fromkeys(unknown)
    if asked := sorted(new - unknown):
        # In a separate process: importing mteb takes seconds, which would block this one.
        code, answer, _ = processes.output("theodolite.engine.mteb.models", asked)
        names_by_model |= {} if code else json.loads(answer)
    _failed.update(new - names_by_model.keys())
    if names_by_model:
        workspace.store.derived.put(_key(), KIND, known | names_by_model)
    return any(names is not None for names in names_by_model.values())


def _by_mteb(workspace: Workspace) -> dict[str, list[str] | None]:
    """Model -> its training data by the installed version of MTEB, where it was asked."""
    row = workspace.store.derived.get(_key())
    shipped = {MINILM: list(_OF_MINILM)} if version() == TESTED else {}
    return shipped | (row["info"] if row else {})


def _key() -> str:
    return hash_of(KIND, FORMAT, version() or "")


def tasks_of(datasets: Mapping[str, str], names: Names) -> Names:
    """Tasks, given with their data sets, whose data are among the names -> the source."""
    sources = {one: who for name, who in names.items() for one in _names_of_task(name)}
    return {
        task: next(sources[one] for one in _names_of_data(dataset) if one in sources)
        for task, dataset in datasets.items()
        if sources.keys() & _names_of_data(dataset)
    }


def here(names: Iterable[str], datasets: Sequence[str]) -> dict[str, list[str]]:
    """The available training sets: name -> data sets with its texts."""
    datasets_here = {
        name: [dataset for dataset in datasets if is_same(name, dataset)] for name in names
    }
    return {name: those for name, those in datasets_here.items() if those}


def is_same(name: str, dataset: str) -> bool:
    """Whether a training set is the same as an available data set, by their names.

    Owner, case, punctuation and task type are ignored: `embedding-data/SNLI` is `SNLI`, and MTEB's
    `Banking77Classification` is `banking77`; a family in several languages matches by its name.
    """
    return bool(_names_of_task(name) & _names_of_data(dataset))


@lru_cache(maxsize=4096)
def _names_of_task(name: str) -> frozenset[str]:
    plain = _bare(name)
    return frozenset((plain, *_SAME.get(plain, ())))


@lru_cache(maxsize=4096)
def _names_of_data(dataset: str) -> frozenset[str]:
    family, _, last = dataset.rpartition("/")
    in_language = re.fullmatch(r"[a-z]{2,3}(-[a-z]{2,3})?", last)
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
    names = [
        MINILM if source.kind == "minilm" else source.value
        for source in sources
        if source.kind in ("minilm", "hf", "mteb")
    ]
    return [name for name in names if name.count("/") == 1]
