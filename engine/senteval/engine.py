"""`SE`: evaluate `batcher` and `prepare` on tasks by name, returning SentEval's dictionaries.

Data are read from `params["task_path"]` and scored by `engine.tasks`. Classifiers follow the
reference's order of random draws and reproduce its accuracies; `params["solver"] = "columns"`
trains them all at once instead, many times faster (see the cards of the protocols `senteval-exact`
and `senteval`). Differences from the original:

- STS12 to STS16 have SimCSE's aggregation `all` beside `mean` and `wmean`.
- STSBenchmark and SICKRelatedness have both the original's keys (a trained regressor: `pearson`,
  `spearman`, `mse`, `yhat`, …) and those of SimCSE's copy (a cosine: `train`, `dev`, `test`,
  `all`). `…-finetune` has the regressor that is selected by dev Spearman.
- Bad input raises a `UserError` that says what to do, not an assertion.
"""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from theodolite.engine.classifiers.optimisers import BY_TORCH, OPTIMISERS
from theodolite.engine.classifiers.setting import SolverSetting
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.types import (
    Captions,
    Dataset,
    LabelledPairs,
    LabelledSentences,
    ScoredPairs,
)
from theodolite.engine.encoders.finite import finite
from theodolite.engine.encoders.functions import BATCH, Batcher, FunctionEncoder, Prepare, dotdict
from theodolite.engine.errors import UserError
from theodolite.engine.progress import nobody
from theodolite.engine.senteval.utils import cosine
from theodolite.engine.tasks import TASKS, Measurement, captions, relatedness, transfer

_FINETUNE = "-finetune"
_SOLVERS = ("exact", "columns")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)")
"""Without an exponent, as in the reference."""
Similarity = Callable[[np.ndarray, np.ndarray], Any]


class SE:
    """The evaluation of one encoder.

    Args:
        params: `task_path` (the data folder); `usepytorch` (True), `kfold` (5), `seed` (1111),
            `batch_size` (128), `classifier` ({"nhid": 0}, with `optim`, `batch_size`, `tenacity`,
            `epoch_size`, `max_epoch`, `dropout`), `similarity` (the cosine), `solver` ("exact"),
            and whatever the functions need. The functions receive a copy.
        batcher: called as batcher(params, batch) with lists of tokens; returns (n, dim).
        prepare: called as prepare(params, samples) before each task.
    """

    def __init__(
        self, params: dict[str, Any], batcher: Batcher, prepare: Prepare | None = None
    ) -> None:
        self.params = dotdict(params)
        for name, default in (
            ("usepytorch", True),
            ("seed", 1111),
            ("batch_size", BATCH),
            ("nhid", 0),
            ("kfold", 5),
        ):
            self.params.setdefault(name, default)
        if not self.params.classifier:
            self.params.classifier = {"nhid": 0}
        if not self.params.task_path:
            raise UserError(
                "params has no task_path.",
                "Name the folder that holds SentEval's downstream/.",
                code="missing",
            )
        setting(self.params)
        self.batcher = batcher
        self.prepare = prepare
        self.results: dict[str, Any] = {}

    def eval(self, name: str | list[str]) -> dict[str, Any]:
        """Evaluate a task, or several.

        Args:
            name: a task as SentEval names it, or a list; the result of a list is task -> result.
        """
        if isinstance(name, (list, tuple)):
            self.results = {each: self.eval(each) for each in name}
            return self.results
        self.params.current_task = name
        dataset = self._load(name)
        encoder = FunctionEncoder(self.prepare, self.batcher, name, self.params)
        encoder.prepare(_samples(dataset))
        vectors = encoder.vectors(dataset.sentences)
        self.results = self._measure(name, dataset, vectors)
        return self.results

    def _load(self, name: str) -> Dataset:
        task = TASKS.get(name)
        if task is None or task.name.startswith("Starter"):
            known = [t for t in TASKS if not t.startswith("Starter")]
            raise UserError(
                f"There is no task named {name!r}.",
                f"Available: {', '.join(known)}.",
                code="unknown",
            )
        return Catalog(Path(self.params.task_path)).load(task.dataset)

    def _measure(self, name: str, dataset: Dataset, vectors: np.ndarray) -> dict[str, Any]:
        if isinstance(dataset, ScoredPairs):
            if name.endswith(_FINETUNE):
                return self._relatedness(dataset, vectors, "spearman")
            scores = correlations(dataset, vectors, self.params.similarity)
            if dataset.parts_are == "splits":
                scores |= self._relatedness(dataset, vectors, "pearson")
            return scores
        if isinstance(dataset, (LabelledSentences, LabelledPairs)):
            return self._transfer(dataset, vectors)
        if isinstance(dataset, Captions):
            return self._retrieval(dataset, vectors)
        raise UserError(f"{name} cannot be evaluated here.", code="unsupported")

    def _retrieval(self, dataset: Captions, vectors: np.ndarray) -> dict[str, Any]:
        _check_finite(dataset, vectors)
        measured = captions.measure(dataset, vectors, int(self.params.seed), nobody)
        dev = _score(measured, "mean_recall", "dev")
        metrics = (*(f"recall_at_{k}" for k in (1, 5, 10)), "median_rank")
        return {
            "devacc": 6 * dev.score,  # the original sums the recalls; ours is the mean
            "acc": [
                tuple(_score(measured, f"{direction}_{m}", "test").score for m in metrics)
                for direction in ("image_to_text", "text_to_image")
            ],
            "ndev": len(dataset.parts["dev"].captions),
            "ntest": len(dataset.parts["test"].captions),
        }

    def _transfer(
        self, dataset: LabelledSentences | LabelledPairs, vectors: np.ndarray
    ) -> dict[str, Any]:
        _check_finite(dataset, vectors)
        seed = int(self.params.seed)
        measured = transfer.measure(dataset, vectors, setting(self.params), seed, nobody)
        dev, test = _score(measured, "accuracy", "dev"), measured.scores[0]
        result: dict[str, Any] = {"devacc": dev.score, "acc": test.score}
        if dataset.name == "MRPC":
            result["f1"] = _score(measured, "f1", test.split).score
        return {**result, "ndev": dev.n, "ntest": test.n}

    def _relatedness(
        self, dataset: ScoredPairs, vectors: np.ndarray, select: Any
    ) -> dict[str, Any]:
        _check_finite(dataset, vectors)
        measured = relatedness.measure(dataset, vectors, select, int(self.params.seed), nobody)
        dev, tested = _score(measured, select, "dev"), dataset.parts["test"]
        return {
            f"dev{select}": dev.score / 100,
            "pearson": _score(measured, "pearson", "test").score / 100,
            "spearman": _score(measured, "spearman", "test").score / 100,
            "mse": _score(measured, "mse", "test").score,
            "yhat": measured.examples["predicted"][
                relatedness.reference_order(dataset.parts["test"])
            ],
            "ndev": dev.n,
            "ntest": len(tested.gold),
        }


def setting(params: dotdict) -> SolverSetting:
    """Read the classifiers' settings from `params`."""
    name = params.classifier
    if "nhid" not in name:
        raise UserError(
            "params['classifier'] has no nhid.",
            "Set the number of hidden units; 0 is linear.",
            code="missing",
        )
    hidden, folds = int(name["nhid"]), int(params.kfold)
    solver: Any = params.solver or "exact"
    if not params.usepytorch:
        if hidden:
            raise UserError(
                "scikit-learn's logistic regression has no hidden units.",
                "Set usepytorch to True, or nhid to 0.",
                code="conflict",
            )
        return SolverSetting("logistic", folds)
    if solver not in _SOLVERS:
        raise UserError(
            f"The solver {solver!r} is not known.",
            f"Available: {', '.join(_SOLVERS)}.",
            code="unknown",
        )
    optimiser, options = parse_optimiser(name.get("optim", "adam"))
    if solver == "columns" and (options or optimiser not in OPTIMISERS):
        raise UserError(
            f"The solver 'columns' does not have the optimiser {name['optim']!r}.",
            f"Leave solver out, or take {' or '.join(OPTIMISERS)} without options.",
            code="conflict",
        )
    return SolverSetting(
        solver=solver,
        folds=folds,
        hidden=hidden,
        dropout=float(name.get("dropout", 0.0)),
        optimiser=optimiser,
        options=options,
        batch=int(name.get("batch_size", 64)),
        tenacity=int(name.get("tenacity", 5)),
        passes=int(name.get("epoch_size", 4)),
        max_passes=int(name.get("max_epoch", 200)),
    )


def _samples(dataset: Dataset) -> list[str]:
    """Return all sentences for `prepare`, with the data's repetitions."""
    if isinstance(dataset, LabelledPairs):
        places = [*dataset.left.tolist(), *dataset.right.tolist()]
        return [dataset.sentences[i] for i in places]
    return list(dataset.sentences)


def _check_finite(dataset: Dataset, vectors: np.ndarray) -> None:
    """Refuse to train on NaN or infinity; a cosine takes NaN as zero, as in the reference."""
    hint = "No classifier can be trained on such vectors."
    finite(vectors, dataset.sentences, f"On {dataset.name}, the batcher", hint)


def _score(measured: Measurement, metric: str, split: str) -> Any:
    return next(s for s in measured.scores if s.metric == metric and s.split == split)


def correlations(
    data: ScoredPairs, vectors: np.ndarray, similarity: Similarity | None = None
) -> dict[str, Any]:
    """Correlate similarities with gold scores, for each part and overall.

    `engine.tasks.sts` does it in one pass; here the similarity may be the script's own, and cosines
    are computed pair by pair in the batcher's precision, as in the reference.

    Args:
        data: pairs with gold scores.
        vectors: float (len(data.sentences), dim).
        similarity: called with two vectors; None for the cosine, with NaN taken as 0.

    Returns:
        part -> `pearson` and `spearman` (scipy's results: correlation and p-value) and `nsamples`;
        `all` -> `pearson` and `spearman`, each with `all` (one correlation over the concatenation),
        `mean` and `wmean` (over parts, plain and weighted by size).
    """
    from scipy.stats import pearsonr, spearmanr

    results: dict[str, Any] = {}
    every_score: list[float] = []
    every_gold: list[float] = []
    start = 0
    for name, part in data.parts.items():
        n = len(part.gold)
        left, right = vectors[start : start + n], vectors[start + n : start + 2 * n]
        start += 2 * n
        scores = _scores(left, right, similarity or _cosine)
        results[name] = {
            "pearson": pearsonr(scores, part.gold),
            "spearman": spearmanr(scores, part.gold),
            "nsamples": n,
        }
        every_score += scores
        every_gold += part.gold.tolist()
    sizes = [part["nsamples"] for part in results.values()]
    whole = {}
    for metric, correlate in (("pearson", pearsonr), ("spearman", spearmanr)):
        by_part = [part[metric][0] for part in results.values()]
        whole[metric] = {
            "all": correlate(every_score, every_gold)[0],
            "mean": np.average(by_part),
            "wmean": np.average(by_part, weights=sizes),
        }
    return {**results, "all": whole}


def _scores(left: np.ndarray, right: np.ndarray, similarity: Similarity) -> list[float]:
    with np.errstate(invalid="ignore", divide="ignore"):  # a zero vector has no cosine
        return [float(similarity(u, v)) for u, v in zip(left, right, strict=True)]


def _cosine(u: np.ndarray, v: np.ndarray) -> Any:
    return np.nan_to_num(cosine(np.nan_to_num(u), np.nan_to_num(v)))


def parse_optimiser(text: str) -> tuple[str, tuple[tuple[str, float], ...]]:
    """Read the name of an optimiser and its options.

    A `weight_decay` is accepted and ignored: each classifier has its own.
    """
    name, *given = str(text).split(",")
    if name not in BY_TORCH:
        raise UserError(
            f"The optimiser {name!r} is not available.",
            f"Available: {', '.join(BY_TORCH)}.",
            code="unknown",
        )
    options: dict[str, float] = {}
    for option in given:
        key, _, value = option.partition("=")
        if not _NUMBER.fullmatch(value):
            raise UserError(
                f"optim has {option!r} where an option and a number are expected.",
                "Write it as in 'sgd,lr=0.1', without spaces or exponents.",
            )
        options[key] = float(value)
    _check_options(name, options)
    return name, tuple(options.items())


def _check_options(name: str, options: dict[str, float]) -> None:
    """Check options now that the optimiser would only reject in the middle of an evaluation."""
    kind = getattr(torch.optim, BY_TORCH[name])
    parameters = inspect.signature(kind).parameters.values()
    known = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
    unknown = [key for key in options if key not in known]
    if unknown:
        raise UserError(
            f"The optimiser {name} has no option {unknown[0]!r}.",
            f"Available: {', '.join(known)}.",
            code="unknown",
        )
    if name == "sgd" and "lr" not in options:
        raise UserError(
            "The optimiser sgd has no learning rate.",
            "Write it as in 'sgd,lr=0.1'.",
            code="missing",
        )
    weight = torch.zeros(1, requires_grad=True)
    weight.grad = torch.ones(1)
    try:
        kind([weight], **options).step()
    except (TypeError, ValueError, RuntimeError) as error:
        raise UserError(
            f"The optimiser {name} does not take these options: {error}.",
            "Leave out the one that is named to have torch's default.",
        ) from None
