"""Scripts written for SentEval run unchanged and get its dictionaries."""

import json
import runpy
import sys
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, spearmanr

import theodolite.engine.senteval as senteval
from tests.errors import refused
from theodolite.engine.classifiers import exact
from theodolite.engine.classifiers.features import Features
from theodolite.engine.classifiers.setting import Fit, SolverSetting
from theodolite.engine.errors import UserError
from theodolite.engine.progress import nobody

from .scripts import BAG_OF_WORDS, small_data


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A small data folder."""
    return small_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def results(data, tmp_path_factory):
    """What the bag of words gets on it."""
    tasks = ["STS12", "STSBenchmark", "STSBenchmark-finetune", "MR", "MRPC"]
    script = tmp_path_factory.mktemp("script") / "script.py"
    script.write_text(BAG_OF_WORDS)
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(StringIO()) as printed:
        patched.setattr("sys.argv", [str(script), str(data), *tasks])
        patched.setattr("sys.path", [*sys.path])
        runpy.run_path(str(script), run_name="__main__")
    return json.loads(printed.getvalue())


def vector(sentence):
    """The bag of words of the script."""
    seeds = [int.from_bytes(word.encode(), "little") % 2**32 for word in sentence.split()]
    return np.mean([np.random.RandomState(seed).randn(24) for seed in seeds], 0)


def bag_of_words(params, batch):
    """Its batcher, as a list."""
    return [vector(" ".join(tokens)) for tokens in batch]


def cosines(pairs):
    """By the definition."""
    vectors = [(vector(a), vector(b)) for a, b in pairs]
    return [u @ v / np.sqrt(u @ u * (v @ v)) for u, v in vectors]


def test_a_year_has_the_aggregations_of_both_versions(results, data):
    """Read from the files again and correlated by scipy; an unscored pair does not count."""
    year, parts = dict(results["STS12"]), {}
    for path in sorted((data / "downstream/STS/STS12-en-test").glob("STS.input.*.txt")):
        golds = path.with_name(path.name.replace("input", "gs")).read_text().splitlines()
        pairs = [line.split("\t") for line in path.read_text().splitlines()]
        kept = [(p, float(y)) for p, y in zip(pairs, golds, strict=True) if y]
        name = path.name.removeprefix("STS.input.").removesuffix(".txt")
        parts[name] = (cosines([p for p, _ in kept]), [y for _, y in kept])
    by_part = [spearmanr(*part)[0] for part in parts.values()]
    concatenated = [np.concatenate([part[i] for part in parts.values()]) for i in (0, 1)]
    whole, sizes = year.pop("all")["spearman"], [len(gold) for _, gold in parts.values()]
    assert year == {
        name: {
            "nsamples": len(gold),
            "pearson": pytest.approx(pearsonr(ours, gold), abs=1e-9),
            "spearman": pytest.approx(spearmanr(ours, gold), abs=1e-9),
        }
        for name, (ours, gold) in parts.items()
    }
    assert whole == {
        "mean": pytest.approx(np.mean(by_part)),
        "wmean": pytest.approx(np.average(by_part, weights=sizes)),
        "all": pytest.approx(spearmanr(*concatenated)[0]),
    }


def test_the_benchmark_is_a_cosine_and_a_regressor(results, data):
    """The keys of SimCSE's copy and of the original, in one dictionary."""
    rows = (data / "downstream/STS/STSBenchmark/sts-test.csv").read_text().splitlines()
    tested = [row.split("\t") for row in rows]
    benchmark = results["STSBenchmark"]
    expected = spearmanr(cosines([c[5:] for c in tested]), [float(c[4]) for c in tested])[0]
    assert benchmark["test"]["spearman"][0] == pytest.approx(expected)
    trained = {"devpearson", "pearson", "spearman", "mse", "yhat", "ndev", "ntest"}
    assert {"train", "dev", "test", "all", *trained} <= set(benchmark)
    assert (benchmark["ndev"], benchmark["ntest"]) == (40, 40)

    # Predictions are sorted by tokens of the first, of the second, and score: the scores tell.
    order = sorted((len(c[5].split()), len(c[6].split()), float(c[4])) for c in tested)
    gold = np.array([score for _, _, score in order])
    assert pearsonr(benchmark["yhat"], gold)[0] == pytest.approx(benchmark["pearson"])
    assert np.mean((np.array(benchmark["yhat"]) - gold) ** 2) == pytest.approx(benchmark["mse"])


def test_a_trained_task_has_accuracies_and_counts(results):
    """One word of each sentence tells the classes of MR apart; MRPC is noise and has F1."""
    for task, keys, counts in (
        ("STSBenchmark-finetune", {"devspearman", "pearson", "spearman", "mse", "yhat"}, (40, 40)),
        ("MR", {"devacc", "acc"}, (80, 80)),
        ("MRPC", {"devacc", "acc", "f1"}, (60, 20)),
    ):
        found = results[task]
        assert set(found) == {*keys, "ndev", "ntest"}
        assert (found["ndev"], found["ntest"]) == counts
    assert results["MR"]["acc"] > 80


def evaluator(data, batcher, **params):
    """An evaluator of a batcher alone."""
    return senteval.engine.SE({"task_path": str(data), **params}, batcher)


def test_prepare_sees_every_sentence_and_the_name_of_the_task(data):
    """Before the first batch; what it leaves in params reaches the batcher."""
    seen = []

    def prepare(params, samples):
        seen.append((params.current_task, len(samples), type(samples[0])))
        params.state = 7

    def batcher(params, batch):
        assert (params.state, params.unknown) == (7, None)
        assert len(batch) <= params.batch_size == 16
        return bag_of_words(params, batch)

    given = {"task_path": str(data), "batch_size": 16}
    senteval.engine.SE(given, batcher, prepare).eval("STS12")
    assert (seen[0][0], seen[0][2]) == ("STS12", list)
    assert "state" not in given


def test_a_similarity_of_ones_own(data):
    """In place of the cosine: its negative turns every correlation around.

    Of a zero vector the cosine is zero, as the reference's nan_to_num makes it.
    """

    def without_cats(params, batch):
        return [vector(" ".join(tokens)) * ("cat" not in tokens) for tokens in batch]

    plain, zeros, turned = (
        evaluator(data, batcher, **similarity).eval("STS12")["all"]["spearman"]["all"]
        for batcher, similarity in (
            (bag_of_words, {}),
            (without_cats, {}),
            (bag_of_words, {"similarity": lambda u, v: -senteval.utils.cosine(u, v)}),
        )
    )
    assert turned == pytest.approx(-plain) and np.isfinite(zeros)


def ones(params, batch):
    """A batcher that knows nothing."""
    return np.ones((len(batch), 4))


@pytest.mark.parametrize(
    ("params", "code", "named"),
    [
        ({"classifier": {"optim": "adam"}}, "missing", "nhid"),
        ({"classifier": {"nhid": 0, "optim": "lion"}}, "unknown", "'lion'"),
        ({"classifier": {"nhid": 0, "optim": "sgd"}}, "missing", "sgd"),
        ({"classifier": {"nhid": 0, "optim": "sgd,momentum=0.9"}}, "missing", "sgd"),
        ({"classifier": {"nhid": 0, "optim": "adam,lr=fast"}}, "invalid", "'lr=fast'"),
        ({"classifier": {"nhid": 0, "optim": "adam,lr"}}, "invalid", "'lr'"),
        ({"classifier": {"nhid": 0, "optim": "adam,lr=1e-3"}}, "invalid", "'lr=1e-3'"),
        ({"classifier": {"nhid": 0, "optim": "adam,momentum=0.9"}}, "unknown", "'momentum'"),
        ({"classifier": {"nhid": 0, "optim": "adam,lr=-1"}}, "invalid", "adam"),
        ({"classifier": {"nhid": 0, "optim": "adam,betas=0.9"}}, "invalid", "adam"),
        (
            {"classifier": {"nhid": 0, "optim": "sgd,lr=0.1"}, "solver": "columns"},
            "conflict",
            "'columns'",
        ),
        ({"classifier": {"nhid": 50}, "usepytorch": False}, "conflict", "nhid"),
        ({"solver": "quick"}, "unknown", "'quick'"),
        ({"task_path": ""}, "missing", "task_path"),
    ],
)
def test_bad_parameters_are_said_at_once(params, code, named, data):
    """Before anything is encoded."""
    with refused(code, named):
        senteval.engine.SE({"task_path": str(data), **params}, ones)


def test_settings_reach_the_classifiers():
    """Every parameter of the reference under its name here."""
    given = {"nhid": 50, "optim": "rmsprop", "tenacity": 3, "epoch_size": 2, "max_epoch": 9}
    params = senteval.utils.dotdict(
        classifier={**given, "dropout": 0.1, "batch_size": 128}, usepytorch=True, kfold=5
    )
    assert senteval.engine.setting(params) == SolverSetting(
        "exact",
        folds=5,
        hidden=50,
        dropout=0.1,
        optimiser="rmsprop",
        batch=128,
        tenacity=3,
        passes=2,
        max_passes=9,
    )
    params.usepytorch, params.classifier = False, {"nhid": 0}
    assert senteval.engine.setting(params).solver == "logistic"


@pytest.mark.parametrize(
    ("optim", "made"),
    [
        ("sgd,lr=0.1", lambda p, decay: torch.optim.SGD(p, 0.1, weight_decay=decay)),
        (
            "sgd,lr=.1,momentum=0.9,nesterov=1",
            lambda p, decay: torch.optim.SGD(p, 0.1, 0.9, weight_decay=decay, nesterov=True),
        ),
        ("adam,lr=0.01", lambda p, decay: torch.optim.Adam(p, 0.01, weight_decay=decay)),
        ("adam,weight_decay=9", lambda p, decay: torch.optim.Adam(p, weight_decay=decay)),
        ("adadelta", lambda p, decay: torch.optim.Adadelta(p, weight_decay=decay)),
        (
            "adagrad,lr_decay=0.05",
            lambda p, decay: torch.optim.Adagrad(p, lr_decay=0.05, weight_decay=decay),
        ),
        ("adamax", lambda p, decay: torch.optim.Adamax(p, weight_decay=decay)),
        ("asgd", lambda p, decay: torch.optim.ASGD(p, weight_decay=decay)),
        ("rmsprop,lr=0.005", lambda p, decay: torch.optim.RMSprop(p, 0.005, weight_decay=decay)),
        ("rprop", lambda p, decay: torch.optim.Rprop(p)),  # which knows no decay
    ],
)
def test_an_optimiser_is_that_of_the_reference(optim, made, tmp_path):
    """One classifier trained by torch itself, step by step, tells every row the same."""
    random = np.random.RandomState(3)
    points, labels = random.randn(200, 6).astype(np.float32), random.randint(0, 3, 200)
    params = {"classifier": {"nhid": 0, "optim": optim, "epoch_size": 1, "max_epoch": 2}}
    setting = senteval.engine.setting(senteval.utils.dotdict(params, usepytorch=True, kfold=5))
    every = np.arange(200)
    fit = Fit(every, every, 0.3, every)
    (ours,) = exact.solve(Features(points, every), labels, [fit], setting, 7, nobody)

    draws = np.random.RandomState(7)
    torch.manual_seed(7)
    layer = torch.nn.Linear(6, 3)
    optimiser, x, y = made(layer.parameters(), 0.3), torch.from_numpy(points), torch.tensor(labels)
    best, predictions = -1.0, None
    for _ in range(3):
        for rows in torch.from_numpy(draws.permutation(200)).split(64):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(layer(x[rows]), y[rows]).backward()
            optimiser.step()
        predicted = layer(x).argmax(1)
        if (right := (predicted == y).double().mean().item()) > best:
            best, predictions = right, predicted
    assert ours.accuracy == pytest.approx(best)
    assert ours.predicted.tolist() == predictions.tolist()


@pytest.mark.parametrize(
    ("batcher", "says"),
    [
        (lambda params, batch: np.ones(len(batch)), "Expected numbers of shape"),
        (lambda params, batch: np.ones((1, 3)), "Expected numbers of shape"),
        (lambda params, batch: np.ones((len(batch), len(batch[-1]))), "dimensions after"),
        (lambda params, batch: np.full((len(batch), 3), np.nan), "NaN or infinity"),
    ],
)
def test_a_batcher_that_misbehaves_is_told_so(batcher, says, data):
    """Shape, dimension, numbers."""
    with pytest.raises(UserError, match=says):
        evaluator(data, batcher, batch_size=8).eval("MR")


@pytest.mark.parametrize("task", ["STS17", "STS13"])
def test_unknown_tasks_and_missing_data_are_said_so(data, task):
    with refused("unknown", f"'{task}'"):
        evaluator(data, ones).eval(task)
