"""Folders of tables of any name in `mteb/` and `nli/`.

A file is a split (`dev.tsv`), or a language or part of one (`dev-de.tsv`, `base_wiki_train.jsonl`).
Columns are recognised by name or content, as for an upload; `.xml` is that of the RTE challenges.
"""

import re
from collections.abc import Collection
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError, TreeBuilder, XMLParser, fromstring

from theodolite.engine.datasets import limits
from theodolite.engine.datasets.archives import rank, split_of
from theodolite.engine.datasets.beir import PART
from theodolite.engine.datasets.columns import ROLES, roles_of
from theodolite.engine.datasets.files import DatasetSource, unpacked, where
from theodolite.engine.datasets.languages import ENGLISH, codes, is_language
from theodolite.engine.datasets.shapes import build
from theodolite.engine.datasets.tables import guesses_of, join_splits, read_columns
from theodolite.engine.datasets.types import Dataset, DatasetInfo, Kind, TaskType
from theodolite.engine.errors import UserError
from theodolite.engine.stamps import of_file

FOLDERS: dict[str, tuple[Kind, TaskType]] = {
    "mteb/classification": ("labels", "Classification"),
    "mteb/clustering": ("labels", "Clustering"),
    "mteb/pair_classification": ("labelled-pairs", "PairClassification"),
    "mteb/reranking": ("retrieval", "Reranking"),
    "mteb/sts": ("pairs", "STS"),
    "nli": ("labelled-pairs", "PairClassification"),
}
"""Folder -> kind and task type of its data sets."""
EXPECTED = "tables named by their split, such as train.csv and test.tsv"
_KNOWN: dict[str, tuple[str, str]] = {
    "trecqa": ("TREC QA: questions and sentences that may hold the answer", ""),
    "pawsx": ("PAWS-X: pairs that are paraphrases or only share their words", "free for any use"),
    "xnli": ("XNLI: pairs by entailment, 3 classes", "CC BY-NC 4.0"),
    "rte3": ("RTE-3: pairs by entailment, 2 classes", ""),
    "nli/cad_snli": ("Counterfactually augmented SNLI: pairs by entailment", "Apache-2.0"),
    "nli/mnli_sample": ("MultiNLI, a sample: pairs by entailment", ""),
    "nli/wiki_nli": ("Wikipedia NLI: pairs by entailment", "CC BY-SA 3.0 and GFDL"),
}
"""Name -> description and licence. All are English unless their files name a language."""
_KINDS: dict[TaskType, str] = {
    "Classification": "Labelled texts",
    "Clustering": "Labelled texts",
    "PairClassification": "Labelled pairs",
    "Reranking": "Queries, each with documents to be put in order",
    "STS": "Graded pairs",
}
_ENDING = re.compile(r"\.(csv|tsv|jsonl|ndjson|parquet|xml)(\.gz)?$")
_NLI = {"e": "entailment", "n": "neutral", "c": "contradiction"}


def sources(root: Path, covered_paths: Collection[Path]) -> list[DatasetSource]:
    """List the folders of tables, but for those that other readers have taken."""
    sets = []
    for place, (kind, type) in FOLDERS.items():
        for folder in sorted((root / place).glob("*/")):
            if folder not in covered_paths:
                prefix = "nli/" if place == "nli" else ""
                sets += _sources(folder, prefix + folder.name, kind, type)
    return sets


def _sources(folder: Path, name: str, kind: Kind, type: TaskType) -> list[DatasetSource]:
    groups: dict[str, dict[str, list[Path]]] = {}
    for path in sorted(folder.iterdir()):
        split, group = split_of(path.name)
        # Other JSON describes the data, such as dataset_infos.json.
        known = _ENDING.search(path.name) or (split and path.suffix == ".json")
        if path.is_file() and known:
            by_split = groups.setdefault(group, {})
            others = by_split.get(split, []) if PART.search(path.name) else []
            by_split[split] = [*others, path]
    sets = []
    for group, by_split in groups.items():
        files = dict(sorted(by_split.items(), key=lambda item: rank(item[0])))
        alone = len(groups) == 1 and not is_language(group)
        full = name if alone or not group else f"{name}/{group}"
        language = group if is_language(group) else ""
        what, licence = _KNOWN.get(name, (_KINDS[type], ""))
        part = f", in {language}" if language else f", {group}" if full != name else ""
        info = DatasetInfo(
            full,
            kind,
            "folder",
            f"{what}{part}.",
            licence,
            type=type,
            splits=tuple(filter(None, files)),
            task=f"{full}/classify" if kind == "labels" else full,
            problem=_problem(files, kind),
            languages=codes(language) or (ENGLISH if name in _KNOWN else ()),
        )
        sets.append(DatasetSource(info, partial(read, full, kind, type, files)))
    return sets


def _problem(files: dict[str, list[Path]], kind: Kind) -> str | None:
    try:
        for path in chain.from_iterable(files.values()):
            _mapping_of(path, kind, of_file(path))
    except UserError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename} cannot be opened ({error.strerror})."
    return None


@lru_cache(maxsize=1024)
def _mapping_of(path: Path, kind: Kind, stamp: Any) -> dict[str, str]:
    """Return role -> column from the first rows of a file; `stamp` invalidates the cache."""
    if _is_xml(path):
        return {}
    guesses = guesses_of(path, where(path))
    if "label" not in guesses and "score" in guesses:  # classes that are numbers
        guesses["label"] = guesses["score"]
    missing = [role for role in ROLES[kind] if role not in guesses]
    if kind == "retrieval" and "grade" not in guesses:
        missing.append("grade")
    if missing:
        raise UserError(
            f"No column of {where(path)} looks like the {' or the '.join(missing)}.",
            f"Give it columns named {', '.join(roles_of(kind))}.",
            code="missing",
        )
    return {role: guesses[role] for role in roles_of(kind) if role in guesses and role != "split"}


def read(name: str, kind: Kind, type: TaskType, files: dict[str, list[Path]]) -> Dataset:
    """Read the splits of a data set, each from one file or its numbered parts."""
    columns = join_splits(
        (
            split,
            _xml_columns(path)
            if _is_xml(path)
            else read_columns(
                path, where(path), _mapping_of(path, kind, of_file(path)), placed=True
            ),
        )
        for split, paths in files.items()
        for path in paths
    )
    if kind == "labelled-pairs" and set(columns["label"]) <= _NLI.keys():
        columns["label"] = [_NLI[label] for label in columns["label"]]
    return build(kind, columns, name, name, type=type)


def _is_xml(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(".xml")


def _xml_columns(path: Path) -> dict[str, list[Any]]:
    """Read left, right, label and place of the pairs of an RTE challenge.

    Source: PASCAL Recognizing Textual Entailment Challenge, 2005 to 2008.
    """
    file = where(path)
    text = unpacked(path, file, limits.MAX_BYTES + 1)
    if len(text) > limits.MAX_BYTES:
        raise limits.too_large(file)

    class Tree(TreeBuilder):
        def doctype(self, name: str, public: str | None, system: str | None) -> None:
            # A few lines of entities may expand without bound, or name other files.
            raise UserError(
                f"{file} has a document type of its own ({name}), which may define entities.",
                "Remove the <!DOCTYPE …> from it.",
                code="denied",
            )

    try:
        # XML is dangerous for its entities, and `doctype` refuses them.
        root = fromstring(text, XMLParser(target=Tree()))  # noqa: S314
    except ParseError as error:
        line, _ = error.position
        raise UserError(
            f"{file}, line {line} is not XML ({error}).",
            "Copy or download it again.",
            code="damaged",
        ) from error
    columns: dict[str, list[Any]] = {"left": [], "right": [], "label": [], "place": []}
    for count, pair in enumerate(root.iter("pair"), start=1):
        label = pair.get("entailment") or pair.get("value")
        texts = [[one.text or "" for one in pair.iter(tag)] for tag in ("t", "h")]
        if not label or [len(some) for some in texts] != [1, 1]:
            lack = "does not have exactly one <t> and one <h>" if label else "has no entailment"
            raise UserError(
                f"{file}, pair {count} {lack}.",
                'A pair is <pair entailment="YES"><t>Text.</t><h>Hypothesis.</h></pair>.',
                code="damaged",
            )
        values = (*(one.strip() for (one,) in texts), label.strip(), f"{file}, pair {count}")
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    if not columns["label"]:
        raise UserError(f"{file} contains no pair.", "Is it complete?", code="missing")
    return columns
