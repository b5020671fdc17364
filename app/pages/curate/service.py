"""Looking a collection over: from a question to a kept table of sentences.

The page Curate and `theodolite curate` ask; a background run of the kind `curate` answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from app import formats
from app.finite import finite
from app.jobs.kinds import versioned
from engine.errors import UserError
from store.derived import DerivedRow, array
from store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import numpy as np

    from app.workspace import Workspace

Job = Literal["exact", "near", "outliers", "typical", "leaks"]
Progress = Callable[[int, int], None]

KIND = "curate"
FORMAT = 1
"""Raised when the same question would be answered otherwise."""
ALL = "all"
NAMES = {
    "exact": "Exact duplicates",
    "near": "Near duplicates",
    "outliers": "Outliers",
    "typical": "Most and least typical",
    "leaks": "Leaks",
}
MOST_KEPT = 10_000
"""Sentences of an answer; the farthest down are left out, and it is said."""


@dataclass(frozen=True)
class Wanted:
    """A question.

    Attributes:
        job: what is looked for.
        dataset, split: in which sentences.
        encoder: canonical spec; empty for `exact`, which compares words.
        threshold: the least cosine of near duplicates and leaks.
        neighbours: of each, for outliers.
        many: how many outliers, or typical sentences at either end, are kept.
        against, against_split: what leaks are looked for in: the data trained on.
    """

    job: Job
    dataset: str
    split: str = ALL
    encoder: str = ""
    threshold: float = 0.9
    neighbours: int = 10
    many: int = 100
    against: str = ""
    against_split: str = ALL


def wanted(job: str, dataset: str, **how: Any) -> Wanted:
    """Check a question and leave out what does not decide its answer.

    Raises:
        UserError: a job, encoder or number that cannot be used.
    """
    from engine.encoders import parse

    if job not in get_args(Job):
        raise UserError(f"There is no job {job!r}.", f"Choose one of {', '.join(get_args(Job))}.")
    asked = Wanted(job, dataset, **how)  # type: ignore[arg-type]
    if asked.encoder:
        asked = replace(asked, encoder=str(parse(asked.encoder)))
    elif job != "exact":
        raise UserError("No encoder was chosen.", "Only exact duplicates can do without one.")
    if not -1 <= asked.threshold <= 1:
        raise UserError(f"{asked.threshold} is no cosine.", "Choose from −1 to 1; 0.9 is usual.")
    if not 1 <= asked.neighbours <= 100 or not 1 <= asked.many <= MOST_KEPT // 2:
        raise UserError("Too few or too many sentences.", f"Choose from 1 to {MOST_KEPT // 2}.")
    if job == "leaks":
        asked = replace(asked, against=asked.against or dataset)
        if (asked.dataset, asked.split) == (asked.against, asked.against_split):
            raise UserError(
                "Leaks are looked for between two different parts.",
                "Choose another split, or another collection, to compare with.",
            )
    return _plain(asked)


def _plain(asked: Wanted) -> Wanted:
    usual = Wanted(asked.job, asked.dataset)
    matters = {
        "exact": (),
        "near": ("encoder", "threshold"),
        "outliers": ("encoder", "neighbours", "many"),
        "typical": ("encoder", "many"),
        "leaks": ("encoder", "threshold", "against", "against_split"),
    }[asked.job]
    kept = {name: getattr(asked, name) for name in ("split", *matters)}
    return replace(usual, **kept)


@dataclass(frozen=True, eq=False)
class Answer:
    """A kept table.

    Attributes:
        key: under which it is kept.
        asked: the question.
        info: `n` sentences looked at, `found` in all, `kept` of them, and what the job counts.
        sentences: the collection's, distinct; `ids` point at them.
        ids: int64 (m,), the rows.
        columns: name -> (m,), what is known of each row beside its text.
    """

    key: str
    asked: Wanted
    info: dict[str, Any]
    sentences: list[str]
    ids: np.ndarray
    columns: dict[str, Any]


def key(workspace: Workspace, asked: Wanted) -> str:
    """Under which an answer is kept.

    Raises:
        UserError: an encoder or data set that cannot be used.
    """
    facts: dict[str, Any] = asdict(asked) | {"format": FORMAT}
    for name in ("dataset", "against"):
        if facts[name]:
            # Labels and splits are part of the content: the hash of the whole, not of sentences.
            facts[name] = workspace.catalog.load(facts[name]).hash
    if asked.encoder:
        facts["encoder"] = workspace.bound(asked.encoder, asked.dataset).fingerprint
    return hash_of(KIND, to_json(facts))


def found(workspace: Workspace, asked: Wanted) -> Answer | None:
    """The answer if the question was asked before."""
    return stored(workspace, key(workspace, asked))


def stored(workspace: Workspace, place: str) -> Answer | None:
    """The answer under a key; None when there is none, or its collection is gone or has changed."""
    row = workspace.store.derived.get(place)
    if row is None or row["kind"] != KIND:
        return None
    asked = Wanted(**row["info"]["asked"])
    try:
        if key(workspace, asked) != place:
            return None
        return _read(workspace, row, asked)
    except UserError:
        return None


def _read(workspace: Workspace, row: DerivedRow, asked: Wanted) -> Answer:
    import numpy as np

    sentences, _ = workspace.catalog.sentences(asked.dataset)
    columns: dict[str, Any] = {
        name: np.asarray(array(row, name)) for name in row["files"] if name not in ("ids", "twins")
    }
    if "twins" in row["files"]:
        others, _ = workspace.catalog.sentences(asked.against)
        columns["twin"] = [others[i] for i in array(row, "twins")]
    ids = np.asarray(array(row, "ids"))
    return Answer(row["key"], asked, row["info"], sentences, ids, columns)


def answer(workspace: Workspace, asked: Wanted, progress: Progress | None = None) -> Answer:
    """The answer, from the store or worked out now and kept there.

    Raises:
        UserError: an encoder, data set or split that cannot be used.
    """
    before = found(workspace, asked)
    if before is not None:
        return before
    info, arrays = _WORK[asked.job](workspace, asked, progress)
    total = len(arrays["ids"])
    arrays = {name: values[:MOST_KEPT] for name, values in arrays.items()}
    info = {"found": total, "kept": len(arrays["ids"]), **info, "asked": asdict(asked)}
    place = key(workspace, asked)
    workspace.store.derived.put(place, KIND, info, arrays)
    kept = stored(workspace, place)
    if kept is None:
        raise UserError("The collection changed meanwhile.", "Ask once more.")
    return kept


def part(workspace: Workspace, dataset: str, split: str) -> tuple[list[str], np.ndarray]:
    """Distinct sentences of a split, and their positions in the collection's distinct ones.

    Raises:
        UserError: an unknown data set or split, or one with fewer than two sentences.
    """
    import numpy as np

    from app.pages.geometry.service import take

    whole, _ = workspace.catalog.sentences(dataset)
    if split == ALL:
        if len(whole) < 2:
            raise UserError(
                f"{dataset} has {formats.plural(len(whole), 'distinct sentence')}.",
                "There is nothing to compare.",
            )
        return whole, np.arange(len(whole))
    some = take(workspace.catalog.load(dataset), split, most=None).sentences
    place = {sentence: i for i, sentence in enumerate(whole)}
    return some, np.array([place[sentence] for sentence in some], np.int64)


Arrays = dict[str, Any]


def _exact(workspace: Workspace, asked: Wanted, progress: Progress | None) -> tuple[Arrays, Arrays]:
    """Every occurrence counts: a sentence twice word for word is one row that says so."""
    import numpy as np

    from app.pages.geometry.service import take
    from engine.search import curation

    taken = take(workspace.catalog.load(asked.dataset), asked.split, most=None)
    whole, _ = workspace.catalog.sentences(asked.dataset)
    place = {sentence: i for i, sentence in enumerate(whole)}
    often = np.bincount(taken.rows, minlength=len(taken.sentences))
    # Those that occur again are looked at twice, so that each forms a group by itself.
    again = np.flatnonzero(often > 1)
    doubled = curation.exact_duplicates(
        [*taken.sentences, *(taken.sentences[i] for i in again)]
    )  # fmt: skip
    rows = np.concatenate([np.arange(len(taken.sentences)), again])[doubled.ids]
    _, first = np.unique(rows, return_index=True)
    keep = np.sort(first)
    rows, group = rows[keep], doubled.group[keep]
    ids = np.array([place[taken.sentences[i]] for i in rows], np.int64)
    info = {"n": len(taken.rows), "groups": doubled.count,
            "spare": int(often[rows].sum()) - doubled.count}  # fmt: skip
    return info, {"ids": ids, "group": group + 1, "occurs": often[rows]}


def _near(workspace: Workspace, asked: Wanted, progress: Progress | None) -> tuple[Arrays, Arrays]:
    from engine.search import curation

    some, places, vectors = _vectors(workspace, asked, progress)
    groups = curation.near_duplicates(vectors, asked.threshold, _index(vectors), progress)
    info = {"n": len(some), "groups": groups.count, "spare": len(groups.ids) - groups.count}
    return info, {"ids": places[groups.ids], "group": groups.group + 1, "cosine": groups.closest}


def _outliers(
    workspace: Workspace, asked: Wanted, progress: Progress | None
) -> tuple[Arrays, Arrays]:
    from engine.search import curation

    some, places, vectors = _vectors(workspace, asked, progress)
    ranked = curation.outliers(vectors, asked.neighbours, _index(vectors), progress)
    rows = ranked.ids[: asked.many]
    info = {"n": len(some), "middle": float(ranked.scores[len(some) // 2])}
    return info, {"ids": places[rows], "cosine": ranked.scores[: asked.many]}


def _typical(
    workspace: Workspace, asked: Wanted, progress: Progress | None
) -> tuple[Arrays, Arrays]:
    import numpy as np

    from engine.search import curation

    some, places, vectors = _vectors(workspace, asked, progress)
    ranked = curation.typical(vectors)
    many = min(asked.many, len(some) // 2)
    chosen = np.concatenate([np.arange(many), np.arange(len(some) - 1, len(some) - 1 - many, -1)])
    end = np.repeat([1, 0], many)
    info = {"n": len(some), "middle": float(ranked.scores[len(some) // 2])}
    return info, {"ids": places[ranked.ids[chosen]], "most": end, "cosine": ranked.scores[chosen]}


def _leaks(workspace: Workspace, asked: Wanted, progress: Progress | None) -> tuple[Arrays, Arrays]:
    from engine.search import curation

    some, places, vectors = _vectors(workspace, asked, progress)
    seen, seen_places = part(workspace, asked.against, asked.against_split)
    encoder = workspace.bound(asked.encoder, asked.dataset)
    seen_vectors = finite(encoder.encode(seen, progress), seen)
    leaks = curation.leaks(
        seen, seen_vectors, some, vectors, asked.threshold, progress, use_index=_index
    )
    info = {"n": len(some), "seen": len(seen), "exact": int(leaks.exact.sum())}
    return info, {
        "ids": places[leaks.ids], "twins": seen_places[leaks.twins], "cosine": leaks.cosines,
        "exact": leaks.exact.astype("int8"),
    }  # fmt: skip


_WORK: dict[str, Callable[[Workspace, Wanted, Progress | None], tuple[Arrays, Arrays]]] = {
    "exact": _exact, "near": _near, "outliers": _outliers, "typical": _typical, "leaks": _leaks,
}  # fmt: skip


def _vectors(
    workspace: Workspace, asked: Wanted, progress: Progress | None
) -> tuple[list[str], np.ndarray, np.ndarray]:
    some, places = part(workspace, asked.dataset, asked.split)
    encoder = workspace.bound(asked.encoder, asked.dataset)
    return some, places, finite(encoder.encode(some, progress), some)


def _index(vectors: np.ndarray) -> Any:
    """Exact, or with lists where comparing all with all would take hours."""
    from app.pages.search import indexes

    return indexes.passing(vectors)


def queue(workspace: Workspace, asked: Wanted) -> str:
    """Queue a question and return the run's id.

    Raises:
        UserError: for visitors, or what cannot be used.
    """
    workspace.refuse_visitors()
    part(workspace, asked.dataset, asked.split)
    if asked.against:
        part(workspace, asked.against, asked.against_split)
    spec = versioned(KIND, asdict(asked))
    return workspace.jobs.enqueue(KIND, spec, title=f"{NAMES[asked.job]} in {asked.dataset}")


def units(spec: Mapping[str, Any]) -> list[str]:
    """The parts of a run, as its progress names them."""
    label = f"{NAMES[spec['job']]} in {spec['dataset']}"
    if not spec["encoder"]:
        return [label]
    return [f"Encoding {spec['dataset']} with {spec['encoder']}", label]


def work(workspace: Workspace, spec: Mapping[str, Any], position: int, progress: Progress) -> None:
    """Do one of `units`; each leaves the same however often it is begun."""
    asked = Wanted(**{name: spec[name] for name in Wanted.__dataclass_fields__})
    if asked.encoder and position == 0:
        _vectors(workspace, asked, progress)
    else:
        answer(workspace, asked, progress)
