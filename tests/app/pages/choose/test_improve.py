"""From a decision to an improvement: trained on one part of the data, judged on the other."""

import csv
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import ttest_rel

import theodolite as th
from tests.engine.encoders.models import WORDS, save_sentence_transformer
from tests.errors import refused
from tests.fakes.costs import keep
from theodolite.app.blocks import Links
from theodolite.app.pages.choose import improve
from theodolite.app.pages.choose.answer import CHOOSE, job_of, plan, prepare
from theodolite.app.pages.choose.candidates import ChooseSpec
from theodolite.app.pages.choose.sheet import Sheet
from theodolite.app.workspace import Workspace
from theodolite.engine.stats.bootstrap import Sample


@pytest.fixture
def base(workspace: Workspace, tmp_path: Path) -> str:
    """A tiny transformer with random weights, whose costs are known."""
    encoder = f"dir:{save_sentence_transformer(tmp_path / 'tiny', 'mean')}"
    for name in (encoder, "random:256"):
        keep(workspace, name, latency_ms=[1.0], dim=8)
    return encoder


def sentences(count: int, label: str = "") -> list[tuple[str, str]]:
    """Different sentences on a cat, or on a dog."""
    rng, found = random.Random(0), dict[str, str]()
    while len(found) < count:
        animal = ("cat", "dog")[len(found) % 2]
        words = rng.choices([word for word in WORDS if word not in ("cat", "dog")], k=6)
        found[" ".join([*words[:3], animal, *words[3:]])] = label or animal
    return list(found.items())


def written(file: Path, rows: list[tuple[str, str]]) -> Path:
    """A CSV."""
    with file.open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([("text", "label"), *rows])
    return file


def test_a_newcomers_walk(workspace: Workspace, base: str, tmp_path: Path) -> None:
    """300 labelled rows, a sheet, train on these, a second sheet on what was held out, verdict."""
    file = written(tmp_path / "animals.csv", sentences(300))
    first = th.choose(file, [base], workspace=workspace)
    (link,) = [one for block in first.blocks() if isinstance(block, Links) for one in block.links]
    assert link.page == "choose" and link.label == f"Train {base} on these"
    assert link.query == {"data": "upload:animals", "encoder": (base,), "learns": base}
    assert f"--train {base}" in " ".join(CHOOSE.command(ChooseSpec("x", [base], train=base)))
    assert not any(isinstance(block, Links) for block in replace(first, is_closed=True).blocks())

    spec = prepare(workspace, ChooseSpec("upload:animals", [base], train=base))
    job = job_of(workspace, spec)
    trained = job.encoders[-1]
    keep(workspace, trained, latency_ms=[1.0], dim=8)
    assert "is trained on 200 of these" in " ".join(plan(workspace, job))
    second = th.choose("upload:animals", [base], train=base, workspace=workspace)
    sheet, change = second.sheet, second.sheet["improvement"]
    assert sheet["n"] == 100 and change["learned"] == 200
    assert [row["encoder"] for row in sheet["encoders"]] == [base, trained, "random:256"]
    scores = {row["encoder"]: row["score"] for row in sheet["encoders"]}
    assert (change["before"], change["after"]) == (scores[base], scores[trained])
    assert change["after"] - change["before"] == pytest.approx(change["delta"])
    assert change["low"] <= change["delta"] <= change["high"]
    told = [block.text for block in second.blocks() if hasattr(block, "text")]
    assert told[0].startswith(f"{improve.headline(change)}. ") and change["verdict"] == "better"
    assert trained in {row["name"] for row in workspace.store.encoders.list()}
    runs = workspace.store.runs.list()
    assert [run["state"] for run in runs] == ["done"] * len(runs)
    again = th.choose("upload:animals", [base], train=base, workspace=workspace)
    assert again.sheet == sheet and workspace.store.runs.list() == runs
    asks, name = f"{base}?prompt=A%20", improve.held_out("upload:animals")
    assert improve.trained(workspace, name, asks).endswith("?prompt=A%20")
    used = [improve.training(workspace, name, one).spec.prompts for one in (base, asks)]
    assert used == [None, "base"]


@pytest.mark.parametrize(
    ("won", "lost", "verdict", "first"),
    [
        (20, 0, "better", "Better by 20.00: training on these helps"),
        (12, 8, "tie", "No better: training on these is not shown to help"),
        (1, 21, "worse", "Worse by 20.00: training on these does harm"),
    ],
)
def test_the_verdict_comes_first(won: int, lost: int, verdict: str, first: str) -> None:
    """Of 100 examples some are won and some lost; it agrees with a paired t-test."""
    before = np.array([0.0] * 50 + [1.0] * 50)
    after = before.copy()
    after[:won], after[50 : 50 + lost] = 1.0, 0.0
    found = improve.tested(Sample(before), Sample(after))
    theirs = ttest_rel(after, before)
    interval = theirs.confidence_interval(0.95)
    assert found["delta"] == pytest.approx(won - lost)
    assert (found["low"], found["high"]) == pytest.approx(
        (100 * interval.low, 100 * interval.high), abs=1.0
    )
    assert (found["verdict"] == "tie") == (theirs.pvalue > 0.05)
    assert found["verdict"] == verdict
    assert improve.headline(found) == first


@pytest.mark.parametrize(
    ("rows", "encoder", "code", "named"),
    [
        (sentences(50), "", "too-few", "16 examples"),
        (
            [(text, f"l{i // 3}") for i, (text, _) in enumerate(sentences(90))],
            "",
            "too-few",
            "label",
        ),
        (sentences(90, "cat"), "", "too-few", "'cat'"),
        (sentences(90), "wordllama", "wrong-kind", "wordllama"),
    ],
    ids=["few rows", "few a label", "one label", "no transformer"],
)
def test_what_cannot_be_trained_on_is_refused_before_it_starts(
    workspace: Workspace, base: str, tmp_path: Path, rows: Any, encoder: str, code: str, named: str
) -> None:
    file = written(tmp_path / "bad.csv", rows)
    with refused(code, named):
        th.choose(file, [base], train=encoder or base, workspace=workspace)
    assert workspace.store.runs.list() == []


@pytest.mark.parametrize(
    "changes",
    [{"task": None}, {"n": 59}, {"kind": "sentences"}, {"improvement": {}}, {"rankers": True}, {}],
)
def test_training_is_offered_where_it_is_possible(changes: dict[str, Any]) -> None:
    """Of the encoders that can be trained the best; not without labels, and not a second time."""
    rows = [("wordllama", 90), ("minilm", 80), ("minilm?dtype=int8", 85), ("dir:/tmp/x", 70)]
    encoders = [{"encoder": name, "score": score, "low": 1.0} for name, score in rows]
    sheet: Sheet = {"task": "x", "n": 60, "kind": "labels", "encoders": encoders}
    sheet = sheet | {"improvement": None} | changes
    assert improve.offered(sheet) == (
        "" if changes and changes != {"improvement": {}} else "minilm"
    )
