"""Protocols whose scores come from classifiers trained on the vectors: SentEval's, and `pitfalls`.

In the latter, for a fair comparison, settings are tuned for each encoder separately. The numbers on
a card are those of `engine.tasks.transfer.SETTINGS`; a test compares them.
"""

from theodolite.engine.protocols.protocol import Choices, Protocol

_TYPES = ("transfer", "probing", "relatedness", "retrieval")
_SOURCES = (
    "Conneau, Kiela 2018, SentEval",
    "facebookresearch/SentEval, senteval/tools/{validation,classifier,relatedness}.py",
    "princeton-nlp/SimCSE, evaluation.py",
)
_WHAT: Choices = (
    (
        "order of samples",
        "by number of tokens, then label; pairs by tokens of the first, of the "
        "second, label (SNLI: the second first)",
    ),
    ("pair features", "|u-v|, u*v; SNLI u, v, u*v, |u-v|"),
    (
        "text",
        "as in the file, tokens joined by one space; MR, CR, SUBJ, MPQA, TREC and SNLI "
        "decoded as latin-1",
    ),
    ("rounding", "each regulariser's mean, each outer fold and each average to 2 decimals"),
    ("choice", "the best accuracy by regulariser, the first of equals"),
)
_RELATEDNESS: Choices = (
    (
        "SICK-R, STS-B: regressor",
        "softmax over the scores 1 to 5 of |u-v|, u*v against the "
        "two-point distribution, mean squared error, Adam, batch 64",
    ),
    (
        "SICK-R, STS-B: stopping",
        "dev Pearson (…-finetune: Spearman) after every 50 passes, stopped "
        "at the 4th round without a better one, at most 1,050 passes; the best round is kept",
    ),
    (
        "SICK-R, STS-B: score",
        "test Pearson (…-finetune: Spearman) (main); the other and the mean "
        "squared error beside it; never in one column with a cosine",
    ),
    ("vectors with NaN", "an error"),
)
_RETRIEVAL: Choices = (
    ("COCO: projections", "captions and image features linearly to 1,000 dimensions, unit length"),
    (
        "COCO: loss",
        "pairwise ranking, margin 0.2, against 30 captions and 30 images drawn outside "
        "of the batch, summed; Adam, lr 0.001, batch 128; the same under every setting above",
    ),
    (
        "COCO: stopping",
        "sum of the six dev recalls after every pass; stopped at the 4th pass in "
        "all without a better one, at most 21 passes; the best is kept",
    ),
    (
        "COCO: score",
        "mean of recall at 1, 5 and 10 in both directions (main) over five folds of "
        "1,000 images with five captions each; median rank beside it; ties in the order of a "
        "stable sort, reversed",
    ),
)
_TRAINED = (*_RELATEDNESS, *_RETRIEVAL)


def _folds(k: int) -> Choices:
    return (
        (
            "MR, CR, SUBJ, MPQA",
            f"nested: {k} stratified outer and inner folds, always seed 1111; "
            "the mean over outer folds (main), of the best inner means (dev)",
        ),
        (
            "TREC, MRPC",
            f"{k} stratified folds of train choose, by the run's seed; all of train is "
            "fitted, the test split scored (main)",
        ),
        ("SST, SICK-E, SNLI, probing", "train is fitted, dev chooses, test is scored (main)"),
    )


_LOGISTIC = "softmax regression, cross-entropy (mean over the batch)"
_MLP = (
    "one hidden layer: linear to 50 units, sigmoid, linear; no dropout; cross-entropy (mean over "
    "the batch)"
)


_STOPPING_ROWS = (
    "the fold that is scored; dev; or a random 5 % of train for the final fit of nested folds, "
    "TREC and MRPC"
)


def _training_rows(
    optimiser: str,
    batch: int,
    tenacity: int,
    passes: int,
    classifier: str = _LOGISTIC,
    stopping_rows: str = _STOPPING_ROWS,
) -> Choices:
    """Return the card rows on how a classifier is trained."""
    return (
        ("classifier", classifier),
        ("optimiser", f"{optimiser}, batch {batch}"),
        ("regulariser", "weight decay 1e-5, 1e-4, 1e-3, 1e-2; SNLI 1e-9 alone"),
        (
            "stopping",
            f"accuracy on the stopping rows after every {passes} passes; stopped at the "
            f"{tenacity + 1}th round in all without a better one, no round begun beyond pass 200; "
            "the best round is kept",
        ),
        ("stopping rows", stopping_rows),
        ("SNLI", "rounds of 1 pass, at most 16"),
        ("WordContent", "never a hidden layer"),
    )


_FULL = _training_rows("Adam, lr 0.001", 64, 5, 4)
_SAME_DRAWS = (
    "random draws",
    "the reference's, in its order: NumPy and torch reseeded for every fit",
)

_SHARED_DRAWS = (
    "random draws",
    "the reference's order where a task has its own splits; with folds, one "
    "shuffle shared by all fits, whose batches are as large as lets a fit see 64 rows on "
    "average; every fit starts from the same weights, as in the reference",
)


def _protocol(
    name: str,
    description: str,
    folds: int,
    how: Choices,
    draws: tuple[str, str] = _SHARED_DRAWS,
) -> Protocol:
    """Build a protocol from its classifier settings; regressors and retrieval are shared by all."""
    return Protocol(
        name=name,
        description=description,
        types=_TYPES,
        seed=1111,
        choices=(*_folds(folds), *how, *_WHAT, draws, *_TRAINED),
        sources=_SOURCES,
    )


SENTEVAL = _protocol(
    "senteval", "SentEval in the full setting of the papers, by the fast solver.", 10, _FULL
)

SENTEVAL_MLP = _protocol(
    "senteval-mlp",
    "SentEval in the full setting of the papers, with 50 hidden units.",
    10,
    _training_rows("Adam, lr 0.001", 64, 5, 4, _MLP),
)

SENTEVAL_EXACT = _protocol(
    "senteval-exact",
    "SentEval in the full setting of the papers, one fit after the other.",
    10,
    _FULL,
    _SAME_DRAWS,
)

SENTEVAL_FAST = _protocol(
    "senteval-fast",
    "SentEval's setting for prototyping: fewer folds, larger steps.",
    5,
    _training_rows("RMSprop, lr 0.01", 128, 3, 2),
    _SAME_DRAWS,
)

SENTEVAL_SKLEARN = _protocol(
    "senteval-sklearn",
    "SentEval with scikit-learn's logistic regression.",
    10,
    (
        (
            "classifier",
            "logistic regression with the defaults of the scikit-learn installed "
            "(lbfgs, multinomial, at most 100 iterations)",
        ),
        ("regulariser", "C = 2^-2 to 2^3; TREC and MRPC 2^-1 to 2^5; SNLI 1e9 alone"),
    ),
    ("random draws", "none but the folds"),
)

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
_PARTS: Choices = (
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


_ROWS_OF_A_FAIR_FIT = (
    "those that choose; or, where there is no dev, a random 5 % of the rows to learn from for the "
    "final fit"
)


def _classifier_rows(classifier: str) -> Choices:
    how = _training_rows("Adam, lr 0.001", 64, 5, 4, classifier, _ROWS_OF_A_FAIR_FIT)
    return (*_NORMALISED, *_PARTS, *how, *_WHAT, *_DRAWS)


PITFALLS = Protocol(
    name="pitfalls",
    description="A fair comparison: z-normalisation tuned for every encoder; logistic regression; "
    "three similarities.",
    types=("sts", "transfer", "probing"),
    seed=1111,
    choices=(*_classifier_rows(_LOGISTIC), *_SIMILARITY),
    sources=(_SOURCE, *_SOURCES[:2]),
)

PITFALLS_MLP = Protocol(
    name="pitfalls-mlp",
    description="A fair comparison: z-normalisation tuned for every encoder; 50 hidden units.",
    types=("transfer", "probing"),
    seed=1111,
    choices=_classifier_rows(_MLP),
    sources=(_SOURCE, *_SOURCES[:2]),
)
