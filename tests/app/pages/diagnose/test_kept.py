"""A diagnosis is a result like every other: in the overview, on its card, in comparisons."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.diagnoses import diagnosis
from theodolite.app.pages.compare.service import compare
from theodolite.app.pages.overview import service, views
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.decoding.diagnosis import to_result
from theodolite.engine.errors import UserError

SEEN = (("wordllama", 30.0), ("random:32", 10.0), ("minilm", 50.0))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Three encoders, diagnosed on the same sentences."""
    made = Workspace(tmp_path)
    rng = np.random.default_rng(0)
    for name, level in SEEN:
        values = np.clip(rng.normal(level / 100, 0.1, 1000), 0, 1)
        found = replace(diagnosis(name, level), examples={"token_f1": values})
        made.keep_result(to_result(found, "abc"))
        made.store.encoders.add(name)
    return made


@pytest.mark.parametrize("tasks", [None, "Vec2Sent-abc", ["Vec2Sent-abc"]])
def test_encoders_are_ranked_by_it(workspace: Workspace, tasks: str | list[str] | None) -> None:
    """With or without naming it: differences, ranks and averages as of any task."""
    found = compare(workspace, [name for name, _ in SEEN], tasks)
    assert found.tasks == ("Vec2Sent-abc",)
    assert found.differences["minilm", "Vec2Sent-abc"].verdict == "a"
    assert found.differences["random:32", "Vec2Sent-abc"].verdict == "b"
    assert [row.name for row in found.ranks] == ["minilm", "wordllama", "random:32"]


def test_what_was_never_measured_is_still_unknown(workspace: Workspace) -> None:
    """Said with its name."""
    with pytest.raises(UserError, match="'Vec2Sent-else'"):
        compare(workspace, ["minilm", "wordllama"], "Vec2Sent-abc,Vec2Sent-else")


def test_it_has_a_column_and_a_card(workspace: Workspace) -> None:
    """The main score in the overview; every figure and the protocol on the card."""
    columns, rows = views.table(workspace)
    assert [column.key for column in columns] == ["Vec2Sent-abc"]
    cells = {row.name: row.cells["Vec2Sent-abc"] for row in rows}
    assert {name: cells[name].score for name, _ in SEEN} == dict(SEEN)
    assert ("metric", "Token F1, test split") in cells["minilm"].facts
    card = views.card(workspace, int(cells["minilm"].result or 0))
    for words in (
        "Id/PERM, test split",
        "nearest training sentence",
        "Not above the baseline",
        protocols.get("vec2sent").hash,
    ):
        assert words in card
    low, high = service.interval(workspace, int(cells["minilm"].result or 0)) or (0, 0)
    assert low < 50 < high


def test_tasks_are_not_evaluated_under_it() -> None:
    """It is offered where decoders are diagnosed, not where encoders are evaluated."""
    assert set(protocols.PROTOCOLS) - set(protocols.OF_TASKS) == {"vec2sent"}
