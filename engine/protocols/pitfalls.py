"""Protocols for a fair comparison: settings are tuned for each encoder separately.

The numbers on a card are those of `engine.tasks.transfer.SETTINGS`; a test compares them.
"""

from __future__ import annotations

from theodolite.engine.protocols.protocol import Protocol
from theodolite.engine.protocols.senteval import LOGISTIC, MLP, SOURCES, WHAT, Choices, trained

_SOURCE = (
    "Eger, Rücklé, Gurevych 2019, Pitfalls in the Evaluation of Sentence Embeddings; its grid and "
    "folds are not printed, those here are ours"
)

_NORMALISED: Choices = (
    (
        "z-normalisation",
        "off or on, one choice for each encoder and task, by dev accuracy; off in "
        "doubt; both are reported (plain, z-normalised)",
    ),
    (
        "z-normalisation: how",
        "each feature (of pairs: of the pair features) minus its mean, over "
        "its standard deviation (ddof 0), both of the rows that a fit learns from alone",
    ),
)
_FOLDS: Choices = (
    (
        "MR, CR, SUBJ, MPQA",
        "5 stratified outer folds, always seed 1111; in each, the first of 5 "
        "stratified parts (seed 1111) of the rows to learn from chooses a weight decay, and all of "
        "them are fitted; the mean over outer folds of the scored fold (main) and of the best "
        "accuracy of the part (dev)",
    ),
    (
        "TREC, MRPC",
        "the first of 5 stratified parts of train (seed 1111) chooses; all of train is "
        "fitted, the test split scored (main)",
    ),
    ("SST, SICK-E, SNLI, probing", "train is fitted, dev chooses, test is scored (main)"),
)
_DRAWS: Choices = (
    (
        "random draws",
        "one shuffle a pass, shared by all fits of a task, whose batches are as large "
        "as lets a fit see 64 rows on average; all fits of a task start from the same weights, "
        "drawn as by torch.nn.Linear",
    ),
    ("vectors with NaN", "an error"),
)
_SIMILARITY: Choices = (
    (
        "STS",
        "Spearman of the plain cosine (main), Pearson beside it; the test split or all pairs "
        "(STS12 to STS16: over the concatenated subsets)",
    ),
    (
        "STS: z-normalised",
        "the cosine after z-normalisation over all sentences of the pairs that "
        "are scored, each as often as it occurs (ddof 0, float64): nothing is trained, so nothing "
        "is held out",
    ),
    (
        "STS: learned",
        "with train, dev and test splits and scores up to 5: softmax over the scores "
        "1 to 5 of |u-v|, u*v against the two-point distribution, mean squared error, Adam, batch "
        "64, stopped by dev Pearson as in SentEval; test Pearson, Spearman and mean squared error",
    ),
)


_STOPPING_ROWS = (
    "those that choose; or, where there is no dev, a random 5 % of the rows to learn from for the "
    "final fit"
)


def _classified(classifier: str) -> Choices:
    how = trained("Adam, lr 0.001", 64, 5, 4, classifier, _STOPPING_ROWS)
    return (*_NORMALISED, *_FOLDS, *how, *WHAT, *_DRAWS)


PITFALLS = Protocol(
    name="pitfalls",
    description="A fair comparison: z-normalisation tuned for every encoder; logistic regression; "
    "three similarities.",
    types=("sts", "transfer", "probing"),
    seed=1111,
    choices=(*_classified(LOGISTIC), *_SIMILARITY),
    sources=(_SOURCE, *SOURCES[:2]),
)

PITFALLS_MLP = Protocol(
    name="pitfalls-mlp",
    description="A fair comparison: z-normalisation tuned for every encoder; 50 hidden units.",
    types=("transfer", "probing"),
    seed=1111,
    choices=_classified(MLP),
    sources=(_SOURCE, *SOURCES[:2]),
)
