"""The advice on fairness on a store of invented results: what it says, and what it asks for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.fakes.measured import put, put_trained
from theodolite.app import cli
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.encoders.service import STARTERS
from theodolite.app.pages.fair.points import Grid, Point, few
from theodolite.app.pages.fair.service import advise
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

BIG, SMALL, BAG = "minilm", "random:64", "wordllama"
SIX = ("minilm", "wordllama", "random:64", "random:128", "random:256", "random:512")


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    """Three encoders are listed, and not those that ship."""
    workspace.store.settings.set("shipped", True)
    for name, dim in ((BIG, 384), (SMALL, 64), (BAG, 256)):
        workspace.store.encoders.add(name, {"dim": dim})
    return workspace


def point(workspace: Workspace, key: str, *encoders: str, **choice: str) -> Point:
    """One point of the advice."""
    found = advise(workspace, encoders, **choice)
    return next(point for point in found.points if point.key == key)


def words(found: Point) -> str:
    """What it says."""
    return " ".join(found.words)


def test_an_empty_store_asks_for_what_it_lacks(workspace: Workspace) -> None:
    """Every listed encoder is judged, and every run it asks for could be queued."""
    found = advise(workspace)
    assert found.encoders == (BIG, SMALL, BAG)
    assert [p.key for p in found.points] == [
        *("size", "normalisation", "classifier", "similarity", "baselines"),
        *("transfer-probing", "seeds"),
    ]
    runs = [run for p in found.points for run in p.missing_runs]
    assert {task for run in runs for task in run.tasks} <= set(found.tasks)
    assert all(run.command.startswith("theodolite evaluate ") for run in runs)


def test_sizes_that_are_alike_are_fine(workspace: Workspace) -> None:
    """And said in numbers."""
    workspace.store.encoders.add("random:256", {"dim": 256})
    found = point(workspace, "size", BAG, "random:256")
    assert found.verdict == "fine"
    assert "All 2 encoders have 256 dimensions" in words(found)


def test_sizes_that_differ_ask_for_the_variants(workspace: Workspace) -> None:
    """At the smallest size, on the tasks that two of them have; variants are not listed."""
    for name, dim, score in ((BIG, 384, 80.0), (BAG, 256, 70.0), (SMALL, 64, 60.0)):
        put(workspace.store, name, "StarterSTS", score, "simcse-2021", dim=dim)
    found = point(workspace, "size")
    assert found.verdict == "missing"
    run = next(run for run in found.missing_runs if f"{BIG} | dims:64,pca,@task" in run.encoders)
    assert run.command.endswith(" --unlisted")
    assert (run.tasks, run.protocol, run.listed) == (("StarterSTS",), None, False)
    assert not any(spec.startswith(SMALL) for spec in run.encoders)


def measured_at_64(workspace: Workspace, big: float, bag: float, method: str = "pca,@task") -> None:
    """Full scores 80, 70, 60, and scores at 64 dimensions."""
    for name, dim, score in ((BIG, 384, 80.0), (BAG, 256, 70.0), (SMALL, 64, 60.0)):
        put(workspace.store, name, "StarterSTS", score, "simcse-2021", dim=dim)
    for name, score in ((BIG, big), (BAG, bag)):
        spec = f"{name} | dims:64,{method}"
        put(workspace.store, spec, "StarterSTS", score, "simcse-2021", dim=64)


def test_an_order_that_size_made_is_looked_at(workspace: Workspace) -> None:
    """At 64 dimensions the two large ones change places: by hand, Spearman 0.5."""
    measured_at_64(workspace, big=64.0, bag=65.0)
    found = point(workspace, "size")
    assert found.verdict == "look"
    assert f"{BAG} overtakes {BIG}" in words(found)
    assert "Spearman 0.50, Kendall 0.33" in words(found)
    (row,) = (row for row in found.exhibits[0].rows if row[1] == BIG)
    assert row == ("StarterSTS", BIG, 384, 80.0, 64, 64.0, -16.0)


def test_an_order_that_stays_is_fine(workspace: Workspace) -> None:
    """The smallest encoder stands as it is."""
    measured_at_64(workspace, big=75.0, bag=65.0)
    found = point(workspace, "size")
    assert found.verdict == "fine"
    assert "stays the same (Spearman 1.00, Kendall 1.00)" in words(found)


def test_projections_are_kept_apart(workspace: Workspace) -> None:
    """What PCA gave says nothing of the random projection."""
    measured_at_64(workspace, big=75.0, bag=65.0)
    assert point(workspace, "size", projection="random").verdict == "missing"
    measured_at_64(workspace, 64.0, 65.0, method="random,1111")
    assert point(workspace, "size", projection="random").verdict == "look"


def test_the_curve_has_a_line_for_each_encoder(workspace: Workspace) -> None:
    """Sizes double up to the full one; what was not measured is no point of the line."""
    measured_at_64(workspace, big=75.0, bag=65.0)
    put(workspace.store, f"{BIG} | dims:16,pca,@task", "StarterSTS", 30.0, "simcse-2021", dim=16)
    curve = point(workspace, "size").exhibits[-1]
    assert curve.picture.lines == {
        BIG: [(16, 30.0), (64, 75.0), (384, 80.0)],
        BAG: [(64, 65.0), (256, 70.0)],
    }


def test_normalisation_tells_how_far_and_for_whom(workspace: Workspace) -> None:
    """Plain 80, 75 and z-normalised 79, 82: tuning turns the order."""
    put_trained(workspace.store, BIG, "MR", 80.0, 79.0)
    put_trained(workspace.store, BAG, "MR", 75.0, 82.0)
    found = point(workspace, "normalisation", BIG, BAG)
    assert found.verdict == "look"
    assert f"by −1.00 ({BIG}) to +7.00 points ({BAG}) on MR" in words(found)
    assert f"chosen in 1 of 2 cases, always for {BAG}" in words(found)
    assert f"Tuning changes the order: 1 of 1 pair swaps ranks: {BAG} overtakes {BIG}" in words(
        found
    )
    assert found.exhibits[0].rows[1] == ("MR", BAG, 75.0, 82.0, 7.0, 82.0, "z-normalised")


def test_a_missing_task_is_no_zero(workspace: Workspace) -> None:
    """One encoder lacks SUBJ: means are over MR, and the gap is asked for."""
    put_trained(workspace.store, BIG, "MR", 80.0, 79.0)
    put_trained(workspace.store, BAG, "MR", 75.0, 76.0)
    put_trained(workspace.store, BIG, "SUBJ", 10.0, 10.0)
    found = point(workspace, "normalisation", BIG, BAG)
    assert "on MR" in words(found)
    assert [(run.encoders, run.tasks) for run in found.missing_runs] == [((BAG,), ("SUBJ",))]
    assert found.missing == 1


def test_classifiers_are_ranked_against_each_other(workspace: Workspace) -> None:
    """A pair that swaps on one task of two is named, with the correlations of that task."""
    scores = {"MR": ((80.0, 79.0), (70.0, 71.0)), "SUBJ": ((90.0, 91.0), (89.0, 92.0))}
    for task, pairs in scores.items():
        for name, (linear, hidden) in zip((BIG, BAG), pairs, strict=True):
            put_trained(workspace.store, name, task, linear, 0.0)
            put_trained(workspace.store, name, task, hidden, 0.0, protocol="pitfalls-mlp")
    found = point(workspace, "classifier", BIG, BAG)
    assert found.verdict == "look"
    assert "the order of 2 encoders stays the same" in words(found)
    assert "changes on 1 of 2: SUBJ" in words(found)
    orders = found.exhibits[1].rows
    assert orders == (
        ("MR", 2, 1.0, 1.0, ""),
        ("SUBJ", 2, -1.0, -1.0, f"{BAG} overtakes {BIG}"),
    )


def similar(workspace: Workspace, name: str, cosine: float, normed: float, learned: float) -> None:
    """STS-B under Pitfalls: the similarities in their own numbers."""
    put(
        workspace.store,
        name,
        "STSBenchmark",
        cosine,
        "pitfalls",
        metric="spearman",
        numbers=[
            ("pearson", None, cosine - 1),
            ("znorm_spearman", None, normed),
            ("znorm_pearson", None, normed - 1),
            ("learned_pearson", None, learned + 1),
            ("learned_spearman", None, learned),
            ("learned_mse", None, 0.9),
        ],
    )


def test_similarities_stand_in_columns_of_their_own(workspace: Workspace) -> None:
    """Cosine 80 and 50, z-normalised 78 and 70, learned 70 and 75: the gap narrows, then turns."""
    similar(workspace, BIG, 80.0, 78.0, 70.0)
    similar(workspace, BAG, 50.0, 70.0, 75.0)
    found = point(workspace, "similarity", BIG, BAG)
    assert found.verdict == "look"
    assert "lie 30.00 points of Spearman on STSBenchmark, with z-normalised vectors 8.00" in words(
        found
    )
    assert f"with a learned similarity 1 of 1 pair swaps ranks: {BAG} overtakes {BIG}" in words(
        found
    )
    exhibit = found.exhibits[0]
    assert len(set(exhibit.columns)) == 9
    row = ("STSBenchmark", BAG, 49.0, 50.0, 69.0, 70.0, 76.0, 75.0, 0.9)
    assert exhibit.rows[1] == row


def test_absent_baselines_are_offered(workspace: Workspace) -> None:
    """One of each kind."""
    found = point(workspace, "baselines", BIG)
    assert (found.verdict, found.add) == ("missing", ("random:256", "wordllama"))
    assert point(workspace, "baselines", BIG, SMALL).add == ("wordllama",)


@pytest.mark.parametrize(("best", "verdict"), [(80.0, "fine"), (65.0, "look")])
def test_an_encoder_has_to_beat_the_best_baseline(
    workspace: Workspace, best: float, verdict: str
) -> None:
    """Which has 70 here."""
    for name, score in ((BIG, best), (BAG, 70.0), (SMALL, 60.0)):
        put(workspace.store, name, "MR", score)
    found = point(workspace, "baselines")
    assert found.verdict == verdict
    assert f"{abs(best - 70):.2f}" in words(found)


def related(workspace: Workspace, encoders: tuple[str, ...]) -> None:
    """MR rises with the encoders; Length as in the worked example that f turns."""
    length = (5.0, 2.0, 3.0, 4.0, 1.0, 6.0)
    for place, name in enumerate(encoders):
        for protocol in ("pitfalls", "pitfalls-mlp"):
            put_trained(workspace.store, name, "MR", 50.0 + place, 0.0, protocol=protocol)
            put_trained(workspace.store, name, "Length", length[place], 0.0, protocol=protocol)


def test_five_encoders_have_no_correlation(workspace: Workspace) -> None:
    """The advice says so, and there is no number to be found in it."""
    related(workspace, SIX[:5])
    found = point(workspace, "transfer-probing", *SIX[:5])
    assert found.verdict == "missing"
    assert "over 5 encoders means nothing" in words(found)
    assert found.exhibits == ()


def test_six_chosen_of_which_five_are_measured_have_none_either(workspace: Workspace) -> None:
    """Choosing is not measuring; the sixth is asked for."""
    related(workspace, SIX[:5])
    found = point(workspace, "transfer-probing", *SIX)
    assert found.exhibits == ()
    assert "5 encoders of 6 have all" in words(found)
    assert {run.encoders for run in found.missing_runs} == {(SIX[5],)}


def test_a_correlation_that_one_encoder_turns_is_marked(workspace: Workspace) -> None:
    """The worked example of the engine's test: 0.09, from -0.60 to 0.40."""
    related(workspace, SIX)
    found = point(workspace, "transfer-probing", *SIX)
    assert found.verdict == "look"
    assert "2 of 2 correlations change sign" in words(found)
    assert "0.09 (−0.60 to 0.40 with one encoder left out)" in words(found)
    picture = found.exhibits[0].picture
    assert isinstance(picture, Grid)
    assert picture.cells["MR", "Length"].turns
    assert found.exhibits[0].rows[0][6] == SIX[5]


def test_other_data_is_not_put_beside_these(workspace: Workspace) -> None:
    """Two share one version of MR; the third measured another, and a sentence says so."""
    for name, data in ((BIG, "old"), (BAG, "old"), (SMALL, "new")):
        put_trained(workspace.store, name, "MR", 70.0, 71.0, data_hash=data)
    found = advise(workspace)
    rows = next(p for p in found.points if p.key == "normalisation").exhibits[0].rows
    assert {row[1] for row in rows} == {BIG, BAG}
    assert any(SMALL in caution and "another version" in caution for caution in found.cautions)


def test_one_seed_says_nothing_of_the_spread(workspace: Workspace) -> None:
    """A run with five seeds is asked for, on tasks that draw."""
    put(workspace.store, BIG, "MR", 80.0)
    put(workspace.store, BIG, "StarterSTS", 80.0, "simcse-2021")
    found = point(workspace, "seeds", BIG, BAG)
    assert found.verdict == "missing"
    (run,) = found.missing_runs
    assert run.seeds == 5 and "MR" in run.tasks and "StarterSTS" not in run.tasks
    assert "--seeds 5" in run.command


@pytest.mark.parametrize(("other", "verdict"), [(80.4, "look"), (90.0, "fine")])
def test_spreads_over_seeds_that_meet_are_looked_at(
    workspace: Workspace, other: float, verdict: str
) -> None:
    """One moves from 80 to 80.5; the other starts at 80.4, or far above."""
    for seed in range(3):
        put(workspace.store, BIG, "MR", 80.0 + seed / 4, seed=seed)
        put(workspace.store, BAG, "MR", other + seed / 4, seed=seed)
    found = point(workspace, "seeds", BIG, BAG)
    assert found.verdict == verdict
    assert "With 3 seeds a score varies by up to 0.50 points" in words(found)


def test_chosen_tasks_are_all_the_advice_is_about(workspace: Workspace) -> None:
    """A suite counts as its tasks; a name that does not exist is said calmly."""
    put_trained(workspace.store, BIG, "MR", 80.0, 79.0)
    put_trained(workspace.store, BIG, "SUBJ", 90.0, 95.0)
    found = point(workspace, "normalisation", BIG, BAG, tasks="SUBJ")
    assert {row[0] for row in found.exhibits[0].rows} == {"SUBJ"}
    with pytest.raises(UserError, match="no task named"):
        advise(workspace, tasks="SUBJEKT")


def test_the_command_prints_a_point_a_line(workspace: Workspace) -> None:
    """As JSON, with the numbers; a projection that does not exist is said calmly."""
    measured_at_64(workspace, big=64.0, bag=65.0)
    folder = str(workspace.store.folder)
    result = CliRunner().invoke(cli.app, ["fair", "--store", folder, "--json"])
    points = [json.loads(line) for line in result.stdout.splitlines()]
    assert [point["verdict"] for point in points][:1] == ["look"]
    assert len(points) == 7
    table = points[0]["evidence"]["theodolite-size-matched-pca"]
    assert {"encoder": BIG, "score": 80.0}.items() <= table[0].items()
    wrong = CliRunner().invoke(cli.app, ["fair", "--store", folder, "--projection", "svd"])
    assert wrong.exit_code == 2 and "no projection named" in wrong.stderr


def test_no_encoder_is_said_calmly(tmp_path: Path) -> None:
    """With what to do."""
    workspace = Workspace(tmp_path / "empty")
    for name in STARTERS:
        encoders.remove(workspace, name)
    with pytest.raises(UserError, match="No encoder"):
        advise(workspace)


def test_a_long_list_stays_short() -> None:
    """Three names, and how many more."""
    assert few("abcdefg") == "a, b, c and 4 more"
    assert few("abc") == "a, b and c"
    assert (few("a"), few("")) == ("a", "")
