"""Protocols: named, frozen sets of the settings that affect a score.

A protocol never changes: other settings get another name. Results store the name, and every score
on screen can show the card. Knows neither tasks' code nor pages.
"""

from collections.abc import Iterable

from theodolite.engine.errors import UserError, did_you_mean
from theodolite.engine.protocols import package
from theodolite.engine.protocols.mteb import MTEB_V1, MTEB_V2
from theodolite.engine.protocols.protocol import Protocol
from theodolite.engine.protocols.published import TABLE_B1
from theodolite.engine.protocols.senteval import (
    PITFALLS,
    PITFALLS_MLP,
    SENTEVAL,
    SENTEVAL_EXACT,
    SENTEVAL_FAST,
    SENTEVAL_MLP,
    SENTEVAL_SKLEARN,
)
from theodolite.engine.protocols.vec2sent import VEC2SENT

SIMCSE_2021 = Protocol(
    name="simcse-2021",
    description="Similarity as in SimCSE's tables: plain cosine, Spearman, `all` aggregation.",
    types=("sts",),
    seed=1111,
    choices=(
        ("similarity", "cosine in float64, rounded to 12 decimals; 0 for a zero vector"),
        ("regressor", "none, on no data set"),
        ("correlation", "Spearman (main), average ranks for ties; Pearson beside it"),
        (
            "STS12 to STS16",
            "`all`: one correlation over the concatenated subsets of a year (main); "
            "mean and mean weighted by pairs beside it; STS13 without SMT",
        ),
        ("STS-B, SICK-R", "test split (main); train, dev and all beside it"),
        ("other scored pairs", "test split, or everything without one"),
        ("text", "as in the file, not truncated by the protocol"),
        ("pairs without a gold score", "dropped"),
        ("alignment", "mean squared distance of unit vectors, pairs scored above 4, all splits"),
        (
            "uniformity",
            "log mean exp(-2 d^2) over all pairs of positions of all sentences, "
            "duplicates kept, float64, never by mini-batch",
        ),
        (
            "alignment, uniformity on",
            "STS-B and other pairs scored 0 to 5 in splits, up to 40,000 sentences",
        ),
        ("average of the seven", "plain mean; SimCSE's tables round each to 2 decimals first"),
        ("vectors with NaN", "an error (the original counts them as zeros)"),
        ("seed", "nothing is drawn"),
    ),
    sources=(
        "Gao, Yao, Chen 2021, SimCSE, section 6 and appendix B",
        "princeton-nlp/SimCSE, SentEval/senteval/sts.py and evaluation.py",
    ),
    context=tuple(
        (
            f"SimCSE table B.1: {row.paper}",
            f"{'regressor' if row.regressor else 'no regressor'}, {row.metric}, {row.aggregation}",
        )
        for row in TABLE_B1
    ),
)

STARTER_1 = Protocol(
    name="starter-1",
    description="Labelled sentences: cross-validated linear classifier, and precision at 10.",
    types=("classification", "search"),
    seed=1111,
    choices=(
        ("classification: folds", "5, stratified, shuffled by the seed; splits of the data unused"),
        ("classification: columns", "standardised by mean and deviation of the fitted folds"),
        (
            "classification: classifier",
            "scikit-learn logistic regression, lbfgs, C = 0.01, at most 500 iterations",
        ),
        (
            "classification: score",
            "accuracy over all sentences, each predicted once (main); macro F1 beside it",
        ),
        ("classification: labels", "those with at least 5 sentences; others left out and counted"),
        ("search: queries", "every sentence, against all others"),
        (
            "search: similarity",
            "cosine in float32, exact; itself left out by position; ties by position",
        ),
        ("search: score", "share of the 10 nearest with the query's label, mean of queries (main)"),
        ("vectors with NaN", "an error"),
    ),
    sources=("ours",),
)

STARTER_2 = Protocol(
    name="starter-2",
    description="Labelled sentences in their own splits: a linear classifier fitted on train.",
    types=("classification",),
    seed=1111,
    choices=(
        (
            "splits",
            "fitted on train, scored on test, dev unused; data without these two: 5 folds, "
            "stratified, shuffled by the seed, as starter-1",
        ),
        ("columns", "standardised by mean and deviation of what is fitted on"),
        ("classifier", "scikit-learn logistic regression, lbfgs, C = 0.01, at most 500 iterations"),
        ("score", "accuracy over what is predicted (main); macro F1 beside it"),
        (
            "labels",
            "those with at least 5 sentences in train (without splits: in all); others left "
            "out and counted",
        ),
        ("vectors with NaN", "an error"),
    ),
    sources=("ours",),
)

STARTER_3 = Protocol(
    name="starter-3",
    description="Labelled sentences: a linear classifier, five folds drawn ten times.",
    types=("classification",),
    seed=1111,
    choices=(
        ("splits", "as starter-2: fitted on train, scored on test, if the data has both"),
        (
            "folds",
            "else 5, stratified, shuffled by the seed, drawn 10 times; above 1,000 sentences "
            "10,000 divided by their number, at least once",
        ),
        (
            "columns",
            "standardised by mean and deviation of all sentences in folds, of train in splits",
        ),
        ("classifier", "L2-penalised logistic regression, C = 0.01, intercept not penalised"),
        (
            "score",
            "mean over sentences of the share of draws in which a sentence is predicted "
            "right (main); mean of the draws' macro F1 beside it",
        ),
        (
            "labels",
            "those with at least 5 sentences (in splits: in train); others left out and counted",
        ),
        ("vectors with NaN", "an error"),
    ),
    sources=("ours",),
)

MAX_SEEDS = 20

PROTOCOLS: dict[str, Protocol] = {
    p.name: p
    for p in (
        *(SIMCSE_2021, STARTER_1, STARTER_2, STARTER_3),
        *(SENTEVAL, SENTEVAL_EXACT, SENTEVAL_FAST, SENTEVAL_SKLEARN, SENTEVAL_MLP),
        *(PITFALLS, PITFALLS_MLP),
        *(MTEB_V2, MTEB_V1),
        VEC2SENT,
    )
}

OF_TASKS = (
    *(name for name, p in PROTOCOLS.items() if "decoding" not in p.types),
    *filter(None, [package.installed_protocol()]),
)
"""Protocols for evaluating tasks; diagnoses of decoders have their own."""


def in_order(names: Iterable[str]) -> list[str]:
    """Return distinct protocols in the registry's order, those of the package mteb last."""
    rank = {name: i for i, name in enumerate(PROTOCOLS)}
    return sorted(set(names), key=lambda name: (rank.get(name, len(rank)), name))


def get(name: str) -> Protocol:
    """Return a protocol by name, including `mteb-X.Y.Z` for any version of mteb."""
    protocol = PROTOCOLS.get(name) or package.of(name)
    if protocol:
        return protocol
    hint = did_you_mean(name, PROTOCOLS, f"Available: {', '.join(PROTOCOLS)}.")
    raise UserError(f"There is no protocol named {name!r}.", hint, code="unknown")


def check_seed(seed: int | None, seeds: int = 1) -> None:
    """Refuse seeds that numpy's and scikit-learn's generators do not take.

    Args:
        seed: the first seed; None for the protocol's default.
        seeds: number of consecutive seeds.
    """
    if not 1 <= seeds <= MAX_SEEDS:
        raise UserError(f"{seeds} seeds cannot be run.", f"Give a number from 1 to {MAX_SEEDS}.")
    if seed is not None and not 0 <= seed <= 2**32 - seeds:
        raise UserError(
            f"{seed} cannot be a seed.", f"Give a whole number from 0 to {2**32 - seeds}."
        )
