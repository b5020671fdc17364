"""Which cosine to use for what: cut-offs of an encoder with a guarantee, and those of another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from theodolite.app import formats
from theodolite.app.blocks import Block, Caveat, Caveats, Cell, Finding, Table
from theodolite.app.formats import percent
from theodolite.app.question import Answer, Do, Question, Working
from theodolite.app.spec import Field, Spec
from theodolite.app.workspace import Workspace

DEFAULT = "starter-pairs"
PURPOSES = (
    ("Semantic cache", "precision", 0.99),
    ("Duplicates", "precision", 0.95),
    ("Suggestions", "precision", 0.8),
    ("Retrieval", "recall", 0.95),
    ("Candidates to rerank", "recall", 0.99),
)
"""What a cut-off is for, and what has to be guaranteed."""
CUTS = (0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5)


@dataclass(frozen=True)
class ThresholdsSpec(Spec):
    """Say which cosine to use for what, with a guarantee, from labelled pairs.

    Recall: a new pair that means the same reaches the cut-off with at least that probability.
    Precision: with 95 % confidence, at least that share of the pairs above it mean the same. Both
    hold for pairs like those given, of which as many mean the same.
    """

    encoder: Annotated[str, Field("Encoder", "A spec string.", names="encoder")]
    pairs: Annotated[
        str,
        Field(
            "Pairs",
            "Labelled pairs; scored ones, of which those from 4/5 of the scale mean the same; or "
            "queries with judged documents.",
            names="dataset",
            flags=("--on",),
        ),
    ] = DEFAULT
    like: Annotated[
        str | None,
        Field("Translate to", "Another encoder, whose cut-offs are given too.", names="encoder"),
    ] = None


class Cut(NamedTuple):
    """A cut-off, and what holds of the pairs at or above it.

    Attributes:
        purpose, kind, level: as in `PURPOSES`; of a translation empty.
        cosine: None if nothing can be guaranteed.
        precision, recall: on the pairs themselves.
        like: the other encoder's cosine with the same precision.
    """

    purpose: str
    kind: str
    level: float | None
    cosine: float | None
    precision: float | None
    recall: float | None
    like: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Thresholds(Answer):
    """The cut-offs of an encoder.

    Attributes:
        spec: what was asked.
        cuts: by purpose, then round cosines.
        n: number of pairs.
        same: of those that mean the same.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "purpose": str,
        "kind": str,
        "level": float | None,
        "cosine": float | None,
        "precision": float | None,
        "recall": float | None,
        "like": float | None,
    }
    decimals = 4

    spec: ThresholdsSpec
    cuts: Sequence[Cut]
    n: int
    same: int

    def rows(self) -> list[dict[str, Any]]:
        """A row for each purpose, and for round cosines if they are translated."""
        return [cut._asdict() for cut in self.cuts]

    @property
    def finding(self) -> str:
        """The cut-offs, or how a cosine is translated, in a sentence."""
        encoder, like = self.spec.encoder, self.spec.like
        if like:
            pairs = [(c.cosine, c.like) for c in self.cuts if c.like is not None]
            if pairs:
                own, other = min(pairs, key=lambda pair: abs((pair[0] or 0.0) - 0.85))
                return f"A cosine of {own:.2f} in {encoder} is {other:.2f} in {like}."
            return f"These pairs are too few to translate a cosine of {encoder} to {like}."
        recommendations = [
            f"{c.purpose.lower()} {c.cosine:.4f}" for c in self.cuts if c.cosine is not None
        ]
        if not recommendations:
            return f"{self.n:,} pairs are too few to guarantee a cut-off of {encoder}."
        return f"Cut-offs of {encoder}: {formats.listed(recommendations)}."

    def blocks(self) -> list[Block]:
        """The finding, the cut-offs, and what they depend on."""
        from theodolite.engine.stats.cutoffs import pairs_needed

        spec = self.spec
        about = (
            f"From {self.n:,} pairs of {spec.pairs}, of which {percent(self.same / self.n)} mean "
            "the same. Precision and recall are those of these pairs."
        )
        heads = ["Purpose", "Guaranteed", "Cosine", "Precision", "Recall"]
        heads += [spec.like] if spec.like else []
        cells = [
            [
                cut.purpose or "(translation)",
                f"{cut.kind} {percent(cut.level)}" if cut.level else "",
                *(
                    Cell(value, formats.MISSING if value is None else cell(value))
                    for value, cell in (
                        (cut.cosine, "{:.4f}".format),
                        (cut.precision, percent),
                        (cut.recall, percent),
                    )
                ),
                *(
                    [Cell(cut.like, formats.cosine(cut.like) if cut.like else "–")]
                    * bool(spec.like)
                ),
            ]
            for cut in self.cuts
        ]
        missing = [
            f"{cut.purpose}: no cut-off can be guaranteed. {percent(cut.level)} takes at least "
            f"{pairs_needed(cut.level, self.n):,} pairs above it, all of which mean the same."
            for cut in self.cuts
            if cut.cosine is None and cut.kind == "precision" and cut.level
        ]
        if spec.like and any(cut.like is None for cut in self.cuts if cut.cosine is not None):
            missing.append(
                f"Where the column of {spec.like} is empty, too few pairs lie above the cosine. "
                "About 200 would do if half of them mean the same, and 50 if nearly all do."
            )
        own = " Use labelled pairs of your own: theodolite encoders thresholds SPEC --on DATA."
        share = (
            f"Precision depends on how many pairs mean the same: {percent(self.same / self.n)} do "
            "here. Where you compare everything with everything, far fewer do, and precision is "
            f"lower.{own * (spec.pairs == DEFAULT)}"
        )
        return [
            Finding(self.finding, about),
            Table("theodolite-thresholds", heads, cells),
            Caveats([Caveat(text) for text in (share, *missing)]),
        ]


def thresholds(
    workspace: Workspace, spec: ThresholdsSpec, do: Do
) -> Iterator[Thresholds | Working]:
    """Yield which encoder is at work, and finally the cut-offs."""
    from theodolite.engine.stats import cutoffs
    from theodolite.engine.stats.thresholds import judge
    from theodolite.engine.tasks.pair_classification import labelled_texts

    workspace.refuse_visitors()
    data = workspace.catalog.load(spec.pairs)
    left, right, same = labelled_texts(data)
    asks = data.kind == "retrieval"
    names = [spec.encoder, *([spec.like] if spec.like else [])]
    cosines = []
    for place, name in enumerate(names):
        yield Working(f"Encoding {spec.pairs} with {name}", place / len(names))
        cosines.append(cosines_of(workspace, name, spec.pairs, left, right, asks))
    own, *others = cosines

    def cut(purpose: str, kind: str, level: float | None, cosine: float | None) -> Cut:
        if cosine is None:
            return Cut(purpose, kind, level, None, None, None, None)
        rates = judge(own, same, cosine)
        like = cutoffs.translate(cosine, own, others[0], same) if others else None
        return Cut(purpose, kind, level, cosine, rates.precision, rates.recall, like)

    by = {"precision": cutoffs.for_precision, "recall": cutoffs.for_recall}
    # Where every pair belongs together, nothing is known of those that do not.
    kinds = ["recall"] if same.all() else list(by)
    cuts = [
        cut(name, kind, level, by[kind](own, same, level))
        for name, kind, level in PURPOSES
        if kind in kinds
    ]
    cuts += [cut("", "", None, cosine) for cosine in CUTS if others]
    yield Thresholds(spec, cuts, len(same), int(np.sum(same)))


def cosines_of(
    workspace: Workspace,
    encoder: str,
    data: str,
    left: Sequence[str],
    right: Sequence[str],
    asks: bool,
) -> np.ndarray:
    """The cosine of each pair: float64 (n,).

    Args:
        workspace: with the vectors that are encoded already.
        encoder: a spec.
        data: what the texts are of.
        left: texts.
        right: of each, the text it is compared with.
        asks: whether those on the left are queries.
    """
    from theodolite.engine.encoders import query_side
    from theodolite.engine.encoders.finite import check_vectors
    from theodolite.engine.space.geometry import cosine

    bound, sides = workspace.bound(encoder, data), []
    for texts, side in ((left, query_side(bound) if asks else bound), (right, bound)):
        place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        sides.append(
            check_vectors(side.encode([*place]), [*place])[[place[text] for text in texts]]
        )
    return cosine(*sides)


THRESHOLDS = Question(
    "thresholds",
    ThresholdsSpec,
    thresholds,
    Thresholds,
    (
        "encoders thresholds minilm",
        "encoders thresholds minilm --on QQP --like wordllama --json",
    ),
    group="encoders",
)
