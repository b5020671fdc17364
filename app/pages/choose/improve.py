"""Training on the data of a sheet: on one part of them, and the sheet is repeated on the other.

The part that is held out is a third of the examples, see `engine.datasets.held_out`. What is
learned from depends on the data: labels become pairs, alike or not, as in SetFit (Tunstall et al.
2022), and on both encoders, as they are and trained, a linear classifier learns from the same part.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from theodolite.app import formats
from theodolite.app.pages.choose import data
from theodolite.app.pages.choose.candidates import Candidate, ChooseSpec
from theodolite.app.pages.train.job import TrainJob, slug
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.held_out import SHARE, join
from theodolite.engine.datasets.types import (
    Dataset,
    LabelledPairs,
    LabelledSentences,
    Retrieval,
    ScoredPairs,
)
from theodolite.engine.encoders import describe
from theodolite.engine.encoders.spec import MODELS, PROMPTS, parse
from theodolite.engine.errors import UserError
from theodolite.engine.stats.bootstrap import Sample
from theodolite.engine.stats.choice import behind
from theodolite.engine.tasks.pair_classification import scored_part
from theodolite.engine.tasks.retrieval import judged_queries
from theodolite.engine.tasks.sts import main_rows
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.record import encoder_of
from theodolite.engine.training.spec import BASE
from theodolite.store.hashing import hash_of

SEED = 0
MAX_TOKENS = 128
"""Tokens of a text that a training reads at most."""
SETTINGS: dict[str, Any] = {
    "batch_size": 16,
    "learning_rate": 2e-5,
    "warmup": 0.1,
    "dev": None,
}
LOSSES = {
    "labels": ("CosineSimilarityLoss", "pairs made from labels"),
    "labelled-pairs": ("OnlineContrastiveLoss", "marked pairs"),
    "pairs": ("CoSENTLoss", "scored pairs"),
    "retrieval": ("MultipleNegativesRankingLoss", "queries with their documents"),
}
"""Kind of data -> the loss, and what it learns from."""
MIN_ROWS = round(data.MIN_EXAMPLES / SHARE)
"""Fewest examples of which a part is held out."""


def is_trainable(encoder: str) -> bool:
    """Whether an encoder is a transformer as it is."""
    spec = parse(encoder)
    (source, *others), steps = spec.sources, spec.steps
    return source.kind in MODELS and not (others or steps or source.option("dtype"))


def encoder_to_train(sheet: Mapping[str, Any]) -> str:
    """The encoder that could be trained on the data of a sheet: the best that can; else empty."""
    rows = sorted(sheet["encoders"], key=lambda row: -(row["score"] or -1e9))
    able = [row["encoder"] for row in rows if row["low"] is not None]
    fits = sheet["task"] and sheet["kind"] in LOSSES and sheet["n"] >= MIN_ROWS
    if not fits or sheet.get("rankers") or sheet.get("improvement"):
        return ""
    return next(filter(is_trainable, able), "")


def training(workspace: Workspace, name: str, encoder: str) -> TrainJob:
    """The training of an encoder on the part of a data set that is not held out.

    Args:
        workspace: where the trained encoder is kept.
        name: of the data, with a part held out.
        encoder: what is trained.
    """
    if not is_trainable(encoder):
        raise UserError(
            f"{encoder} cannot be trained: it is not a plain transformer.",
            "Train minilm, or another model from the hub or a folder.",
            code="wrong-kind",
        )
    dataset = workspace.catalog.load(name)
    loss, _ = LOSSES[dataset.kind]
    length = min(MAX_TOKENS, describe(encoder)["max_tokens"] or MAX_TOKENS)
    prompts = BASE if any(_prompts(encoder).values()) else None  # as the sheet asks for them
    more = SETTINGS | {"max_length": length, "prompts": prompts}
    spec = TrainSpec("st", encoder, name, "", loss=loss, **more)
    stem = slug(formats.last_part(encoder))
    out = f"{stem}-trained-{hash_of(spec.hash, dataset.hash)[:14]}"
    whole = {**spec.to_dict(), "out": str(workspace.store.folder / "encoders" / out)}
    return TrainJob.of(workspace, TrainSpec.from_dict(whole))


def trained_encoder(workspace: Workspace, name: str, encoder: str) -> str:
    """The encoder that comes of a training, with the prompts that its base has in the sheet."""
    encoder_spec = parse(encoder_of(training(workspace, name, encoder).spec.out_folder))
    return str(
        replace(encoder_spec, sources=(encoder_spec.sources[0].with_options(**_prompts(encoder)),))
    )


def _prompts(encoder: str) -> dict[str, str | None]:
    source = parse(encoder).sources[0]
    return {name: source.option(name) for name in PROMPTS}


def sizes(dataset: Dataset) -> tuple[int, int]:
    """How many examples are learned from, and on how many is tested."""
    match dataset:
        case LabelledSentences():
            return dataset.splits.count("train"), dataset.splits.count("test")
        case LabelledPairs():
            return dataset.splits.count("train"), len(scored_part(dataset)[1])
        case ScoredPairs():
            return len(dataset.parts["train"].gold), len(main_rows(dataset)[1])
        case Retrieval():
            return len(dataset.judgements["train"]), len(judged_queries(dataset)[1])
    return 0, 0


def check(workspace: Workspace, name: str, encoder: str) -> None:
    """Refuse data that are too few to learn from one part and test on the other."""
    dataset = workspace.catalog.load(name)
    _, tested = sizes(dataset)
    if tested < data.MIN_EXAMPLES:
        raise UserError(
            f"Only {data.in_words(tested, dataset.kind)} of {dataset.name} could be held out for "
            f"the test; {data.MIN_EXAMPLES} are needed.",
            f"Bring at least {MIN_ROWS} examples whose texts differ.",
            code="too-few",
        )
    if (data.task_of(workspace, name) or "").endswith("/search"):
        raise UserError(
            f"Most labels of {dataset.name} have too few examples to learn from some and be tested "
            "on others.",
            "Bring eight examples of each label or more.",
            code="too-few",
        )
    training(workspace, name, encoder).validate(workspace)


def compare(
    workspace: Workspace, spec: ChooseSpec, scored: Mapping[str, Candidate], refit: float
) -> dict[str, Any] | None:
    """What training has changed, by a paired test; None if one of both has no score."""
    trained = spec.encoders[-1] if spec.train else ""
    before, after = scored.get(spec.train), scored.get(trained)
    if not (before and after and before.sample and after.sample):
        return None
    dataset = workspace.catalog.load(spec.data)
    return {
        "base": spec.train,
        "trained": trained,
        "learned": sizes(dataset)[0],
        "loss": LOSSES[dataset.kind][0],
        "before": before.sample.statistic,
        "after": after.sample.statistic,
        **change_of(before.sample, after.sample, refit),
    }


def change_of(before: Sample, after: Sample, refit: float = 0.0) -> dict[str, Any]:
    """What is scored more after training on the same examples, with the verdict."""
    more = behind(before, {"after": after}, refit)["after"]
    verdict = "better" if more.low > 0 else "worse" if more.high < 0 else "tie"
    return {"delta": more.delta, "low": more.low, "high": more.high, "verdict": verdict}


def held_out(name: str) -> str:
    """The name of a data set with a part held out."""
    return join(name, SEED)


def plan(workspace: Workspace, name: str, encoder: str) -> list[str]:
    """What will be learned, from what, and how long it takes, in sentences."""
    dataset = workspace.catalog.load(name)
    train_size, tested = sizes(dataset)
    loss, what = LOSSES[dataset.kind]
    return [
        f"{encoder} is trained on {formats.count(train_size)} of these, on {what} ({loss}); the "
        f"other {data.in_words(tested, dataset.kind)}, which it never sees, are for the sheet.",
        f"How long training takes: {training(workspace, name, encoder).takes(workspace)}",
    ]


def headline(change: Mapping[str, Any]) -> str:
    """Whether training helped, in a line."""
    points = formats.score(abs(change["delta"]))
    return {
        "better": f"Better by {points}: training on these helps",
        "worse": f"Worse by {points}: training on these does harm",
        "tie": "No better: training on these is not shown to help",
    }[change["verdict"]]


def sentence(change: Mapping[str, Any], kind: str) -> str:
    """The numbers of the test."""
    low, high, delta = (formats.signed(change[key]) for key in ("low", "high", "delta"))
    head = " Both have a linear classifier on their vectors." * (kind == "labels")
    return (
        f"{change['base']} scores {formats.score(change['before'])} as it is and "
        f"{formats.score(change['after'])} after training on {formats.count(change['learned'])} "
        f"other examples ({change['loss']}): {delta}, 95 % interval {low} to {high} by the paired "
        f"bootstrap.{head}"
    )
