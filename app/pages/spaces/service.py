"""Two encoders over one collection: what was asked, the stored pair of maps, and the run for it.

A pair is two maps of the same points, the second begun from the first and turned onto it, with what
was measured of the full spaces. It is kept as two projections, so that the browser reads it as it
reads any map. The making is `app.pages.spaces.making`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, get_args

from app import formats
from app.jobs.kinds import versioned
from app.pages.map import service as maps
from app.pages.map.service import StoredMap
from engine.encoders.spec import as_before
from engine.errors import UserError
from store.hashing import hash_of, to_json

if TYPE_CHECKING:
    from app.workspace import Workspace

KIND = "spaces"
FORMAT = 1
"""Raised when the same question would be answered otherwise."""
MOST_NEIGHBOURS = 100
CLUSTERINGS = ("k-means", "hdbscan")
Method = Literal["umap", "pca", "quick"]
MOST_GROUPS = 500


@dataclass(frozen=True)
class Asked:
    """A comparison of two spaces.

    Attributes:
        first, second: canonical specs.
        dataset: name in the catalog.
        k: neighbours compared of each sentence.
        clustering: one of `CLUSTERINGS`.
        size: groups for k-means, points of the smallest group for HDBSCAN; None is the usual one.
        method: of the two maps: `umap`, `pca`, or `quick`, which is `pca` with nothing measured.
    """

    first: str
    second: str
    dataset: str
    k: int = 10
    clustering: str = "k-means"
    size: int | None = None
    method: Method = "umap"


def asked(first: str, second: str, dataset: str, **how: Any) -> Asked:
    """Check what is asked and put it into one form, so that equal questions are equal.

    Raises:
        UserError: a spec or parameter that cannot be used, or the same encoder twice.
    """
    from engine import encoders

    question = Asked(str(encoders.parse(first)), str(encoders.parse(second)), dataset, **how)
    if question.first == question.second:
        raise UserError(
            "Both spaces are of the same encoder.", "Choose two; each is also held against itself."
        )
    if not 1 <= question.k <= MOST_NEIGHBOURS:
        raise UserError(
            f"{question.k} neighbours cannot be compared.",
            f"Choose from 1 to {MOST_NEIGHBOURS}; 10 is usual.",
        )
    if question.clustering not in CLUSTERINGS:
        raise UserError(
            f"There is no clustering {question.clustering!r}.",
            f"Choose {' or '.join(CLUSTERINGS)}.",
        )
    if question.size is not None and not 2 <= question.size <= MOST_GROUPS:
        raise UserError(
            f"{question.size} is no size for {question.clustering}.",
            f"Choose from 2 to {MOST_GROUPS}, or leave it empty for the usual one.",
        )
    if question.method not in get_args(Method):
        raise UserError(f"There is no method {question.method!r}.", "Choose umap or pca.")
    if question.method == "quick":  # nothing else decides it
        return Asked(question.first, question.second, dataset, method="quick")
    return question


def planes(workspace: Workspace, question: Asked) -> tuple[maps.Wanted, maps.Wanted]:
    """The two maps that the pair is made from; a second UMAP begins where the first ended."""
    first = maps.wanted(question.first, question.dataset, method=question.method)
    how: dict[str, str] = {"method": question.method}
    if question.method == "umap":
        how["initial"] = maps.key(workspace, question.first, question.dataset)
    return first, maps.wanted(question.second, question.dataset, **how)


def keys(workspace: Workspace, question: Asked) -> tuple[str, str]:
    """The content keys of the pair's two sides.

    Raises:
        UserError: an encoder or data set that cannot be used.
    """
    of = [maps.key_of(workspace, plane) for plane in planes(workspace, question)]
    facts = {
        "format": FORMAT, "maps": of, "k": question.k, "clustering": question.clustering,
        "size": question.size, "library": f"scikit-learn {version('scikit-learn')}",
        # Names stand in what is kept: other names for the same vectors are another pair.
        "names": [as_before(question.first), as_before(question.second)],
    }  # fmt: skip
    return hash_of(to_json(facts | {"side": 0})), hash_of(to_json(facts | {"side": 1}))


@dataclass(frozen=True, eq=False)
class Pair:
    """Two maps of one collection, aligned.

    Attributes:
        first, second: the maps; the second is turned and scaled onto the first.
        report: what was measured, see `app.pages.spaces.making.measured`; empty for a quick pair.
    """

    first: StoredMap
    second: StoredMap
    report: dict[str, Any]


def stored(workspace: Workspace, question: Asked) -> Pair | None:
    """The pair that was made for a question; None when there is none."""
    first, second = (maps.stored(workspace, key) for key in keys(workspace, question))
    if first is None or second is None:
        return None
    return Pair(first, second, first.info["spaces"])


def queue(workspace: Workspace, question: Asked) -> str:
    """Queue the making of a pair and return the run's id.

    Raises:
        UserError: before anything is queued, for a collection that is too small, or not there.
    """
    workspace.refuse_visitors()
    need(workspace, question)
    title = f"Two spaces: {question.first} and {question.second} on {question.dataset}"
    return workspace.jobs.enqueue(KIND, versioned(KIND, asdict(question)), title=title)


def need(workspace: Workspace, question: Asked) -> list[str]:
    """The sentences compared.

    Raises:
        UserError: fewer than three, which have no neighbourhoods to compare.
    """
    sentences, _ = workspace.catalog.sentences(question.dataset)
    if len(sentences) < 3:
        count = formats.plural(len(sentences), "distinct sentence")
        raise UserError(
            f"{question.dataset} has {count}: too few for neighbourhoods to differ.",
            "Choose a collection of at least three.",
        )
    return sentences


def of_spec(spec: Any) -> Asked:
    """The question in the spec of a run."""
    return Asked(**{name: spec[name] for name in Asked.__dataclass_fields__})
