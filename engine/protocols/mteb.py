"""Protocols that score tasks as MTEB does, by our own code, following mteb 2.26.24.

`mteb-v1` differs where the first benchmark did: the older clustering, average precision by cosine,
and a bug in summarization. Under `mteb-X.Y.Z` mteb's own code runs; these two do not need mteb.
"""

from theodolite.engine.protocols.protocol import Choices, Protocol

_TYPES = (
    "sts",
    "few-shot",
    "clustering",
    "pair-classification",
    "document-retrieval",
    "reranking",
    "bitext",
    "summarization",
)
_SOURCES = (
    "embeddings-benchmark/mteb 2.26.24, mteb/abstasks and mteb/_evaluators",
    "Muennighoff, Tazi, Magne, Reimers 2023, MTEB: Massive Text Embedding Benchmark",
)

_COMMON: Choices = (
    (
        "what is scored",
        "the split test, or the first that begins so; without one dev or "
        "validation; without any, everything",
    ),
    ("similarity", "cosine in float32"),
    (
        "sts",
        "Spearman of the cosine (main), Pearson beside it, and both of Manhattan and Euclidean "
        "distance; STS12 to STS16: over all pairs of a year",
    ),
    (
        "few-shot: what is learnt from",
        "ten draws of 8 sentences a label (or all that it has) from "
        "train: the first ones in train's order, shuffled by the seed once more for every draw",
    ),
    (
        "few-shot: MTEB's own tasks",
        "data sets of their names, such as emotion, take their numbers "
        "of sentences in place of 8: 16, 20, 32 or 128",
    ),
    (
        "few-shot: classifier",
        "scikit-learn's logistic regression, lbfgs, C = 1, at most 100 "
        "iterations; columns as they are",
    ),
    (
        "few-shot: score",
        "accuracy on the whole split, mean of the draws (main); F1, precision and "
        "recall, macro and weighted, beside it; of two labels average precision of the later in "
        "alphabetical order",
    ),
    (
        "few-shot: without train",
        "each of five folds, shuffled by the seed, is predicted from as "
        "many sentences a label of the others; mean of the folds",
    ),
    (
        "retrieval",
        "every document is compared with every query, the first 1,000 count; nDCG at 10 "
        "(main), nDCG, MAP, MRR, precision, recall and hit rate at 1, 3, 5, 10, 20, 100 and 1,000; "
        "as trec_eval: gain is the grade, grades from 1 answer",
    ),
    (
        "reranking",
        "the candidates of a query alone are ordered; MAP at 1,000 (main), the others beside it",
    ),
    (
        "retrieval, reranking: queries that are documents",
        "the document with a query's id is left "
        "out of its ranking where it holds the query's text and is not judged to answer it, and in "
        "data sets named as those of MTEB's tasks that ignore equal ids, such as fiqa",
    ),
    (
        "retrieval, reranking: similarity",
        "the one that the files of a sentence-transformers model "
        "name, dot product, Euclidean or Manhattan distance; else the cosine",
    ),
    ("retrieval, reranking: ties", "the id that comes later in alphabetical order goes first"),
    (
        "retrieval, reranking: queries",
        "those with a judgement; one whose judgements are all 0 "
        "scores 0; means rounded to 5 decimals as mteb rounds them, MRR not",
    ),
    (
        "bitext",
        "the nearest of all right sentences, of each left one with a translation; F1 over "
        "right sentences, weighted by how often each is the answer (main); precision, recall and "
        "accuracy beside it",
    ),
    ("vectors with NaN", "an error"),
)
_PAIRS = (
    "pairs labelled to mean the same (1, yes, entailment, …) or not (0, no, contradiction, …), "
    "neutral ones left out; average precision of cosine, dot product, Euclidean and Manhattan "
    "distance; best accuracy and F1 of any threshold that splits no tie"
)
_SUMMARIES = (
    "of each machine summary the highest cosine to a human one; Spearman with the rating of "
    "relevance within each document, mean of documents (main); Pearson beside it, and the same by "
    "dot product; documents where ratings or similarities are all the same are left out"
)

MTEB_V2 = Protocol(
    name="mteb-v2",
    description="As MTEB's second benchmark scores each type of task, by our own code.",
    types=_TYPES,
    seed=42,
    choices=(
        *_COMMON,
        ("clustering: sentences", "2,048 drawn at random, or all; without labels: left out"),
        (
            "clustering",
            "ten draws of 16,384 of them with replacement, minibatch k-means with as "
            "many clusters as labels (batch 512, k-means++, one start, always the same seed); "
            "V-measure, mean of the draws (main); adjusted mutual information beside it",
        ),
        ("pair classification", f"{_PAIRS}; main: the highest average precision"),
        ("summarization", _SUMMARIES),
    ),
    sources=_SOURCES,
)

MTEB_V1 = Protocol(
    name="mteb-v1",
    description="As MTEB's first benchmark scores each type of task, by our own code.",
    types=_TYPES,
    seed=42,
    choices=(
        *_COMMON,
        (
            "clustering",
            "all sentences at once, minibatch k-means with as many clusters as labels "
            "(batch 500, k-means++, scikit-learn's number of starts); V-measure (main)",
        ),
        ("pair classification", f"{_PAIRS}; main: average precision of the cosine"),
        (
            "summarization",
            f"{_SUMMARIES}. mteb's mistake (its issue 1156) is kept: each "
            "correlation is averaged with its own p-value",
        ),
    ),
    sources=_SOURCES,
    context=(
        (
            "paper",
            "Muennighoff et al. name a batch of 32 for clustering; released code never had it",
        ),
    ),
)
