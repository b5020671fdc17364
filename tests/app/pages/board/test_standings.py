"""The board: the order of encoders on a suite, published folders, quality against cost."""

import json
import math
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from tests.errors import refused
from tests.fakes import folder as data_folder
from tests.fakes.command_line import objects, theodolite
from tests.fakes.stores import COST_ROW, evaluate_all, invent, invent_all, put, put_cost
from tests.fakes.workers import do_units
from theodolite.app import exchange, formats, suites
from theodolite.app.blocks import Chart, Finding, Grid
from theodolite.app.pages.board import cost, examples, standings
from theodolite.app.pages.board.answer import BOARD, BoardAnswer
from theodolite.app.pages.board.cost import COST, CostSpec
from theodolite.app.pages.board.cost_page import curves
from theodolite.app.pages.board.examples import disagreement, first_choice, quality
from theodolite.app.pages.board.standings import PUBLISHED, BoardSpec, Entry
from theodolite.app.pages.evaluate.results import evaluate_one
from theodolite.app.workspace import STARTER_ENCODERS, Workspace
from theodolite.engine import cost as footprint
from theodolite.engine.stats.bootstrap import Sample

A, B, C = "random:32", "random:96", "wordllama"


def answers(workspace: Workspace, **values) -> list[BoardAnswer]:
    """All that is shown of a board, one after the other."""
    return list(BOARD.answer(workspace, BoardSpec(**values), lambda job: True))


@pytest.fixture
def measured(workspace: Workspace) -> Workspace:
    """Two encoders with three tasks of two types, and one that was not measured on the third."""
    for name in (A, B):
        put(workspace.store, name, "STS12", 50.0, "simcse-2021")
    for name, mr, cr in ((A, 80.0, 70.0), (B, 82.0, 60.0), (C, 90.0, 90.0)):
        put(workspace.store, name, "MR", mr)
        put(workspace.store, name, "CR", cr)
    workspace.store.encoders.add(A, {"dim": 32, "parameters": 5_000_000, "licence": "mit"})
    workspace.store.encoders.add(B, {"dim": 96, "parameters": 50_000_000, "max_tokens": 512})
    return workspace


def test_means_and_points_by_hand(measured: Workspace) -> None:
    """All share MR and CR, so STS12 counts for nobody.

    Points, n = 3: on MR C 2, B 1; on CR C 2, A 1.
    """
    board = standings.board(measured)
    rows = {row["encoder"]: row for row in answers(measured)[-1].rows()}
    assert board.shared == ("MR", "CR") and list(rows) == [C, A, B]
    expected = {
        "mean": [90.0, 75.0, 71.0],
        "mean_over": [2, 2, 2],
        "tasks": [2, 3, 3],
        "of": [3, 3, 3],
        "borda": [4.0, 1.0, 1.0],
        "rank": [1, 2, 2],
        "mean_by_type": [90.0, 75.0, 71.0],
    }
    assert {key: [row[key] for row in rows.values()] for key in expected} == expected
    assert rows[A]["types"] == {"Transfer": {"mean": 75.0, "tasks": 2}}
    assert rows[C]["scores"]["STS12"] is None


def test_one_task_only_costs_the_others_nothing(measured: Workspace) -> None:
    """It is listed below, without mean, points and rank."""
    put(measured.store, "random:8", "MR", 99.0)
    board = answers(measured, suite="transfer")[-1]
    assert list(board.standings.quality) == [C, A, B]
    last = board.rows()[-1]
    assert [last[key] for key in ("encoder", "mean", "borda", "rank")] == ["random:8", *[None] * 3]


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ({"most_parameters": 10}, [A]),
        ({"most_dimensions": 96}, [A, B]),
        ({"least_tokens": 512}, [B]),
        ({"licences": ("mit",)}, [A]),
        ({"types": ("STS",)}, [A, B]),
    ],
)
def test_filters(measured: Workspace, asked: dict, names: list[str]) -> None:
    """By what is known of an encoder, and by type of task; what is not known does not fit."""
    found = standings.board(measured, BoardSpec(**asked))
    assert sorted(found.encoders) == names
    assert found.left_out == (0 if "types" in asked else 3 - len(names))


@pytest.mark.parametrize(
    ("code", "named", "asked"),
    [
        ("no-result", 3, {"licences": ("gpl",)}),
        ("unknown", "mine", {"suite": "mine"}),
        ("unknown", "MTEB(xyz, v2)", {"suite": "MTEB(xyz, v2)"}),
        ("no-result", "", {"types": ("Clustering",)}),
    ],
)
def test_what_nothing_fits_is_refused(
    measured: Workspace, code, named: object, asked: dict
) -> None:
    with refused(code, named):
        standings.board(measured, BoardSpec(**asked))


def test_what_mteb_measured_is_never_mixed_with_ours(measured: Workspace) -> None:
    """Its tasks and scores stay out until its protocol is asked for, or where nothing else is."""
    for task, score in (("STS12", 99.0), ("Banking77", 77.0)):
        put(measured.store, A, task, score, "mteb-2.26.24")
    assert {(column.task, column.protocol) for column in standings.board(measured).columns} == {
        ("MR", "senteval"),
        ("CR", "senteval"),
        ("STS12", "simcse-2021"),
    }
    theirs = standings.board(measured, BoardSpec(protocol="mteb-2.26.24"))
    assert {c.task for c in theirs.columns} == {"STS12", "Banking77"}
    assert theirs.quality == {A: 88.0}


def test_ranks_with_their_intervals(workspace: Workspace) -> None:
    """One far behind is always third; two close together tie."""
    invent_all(workspace, {A: 0.80, B: 0.795, C: 0.50}, ("MR", "CR", "SUBJ"))
    first, last = answers(workspace)
    assert {row["rank_low"] for row in first.rows()} == {None}
    rows = {row["encoder"]: row for row in last.rows()}
    assert len(answers(workspace)) == 1, "they are remembered"
    assert (rows[C]["rank_low"], rows[C]["rank_high"]) == (3, 3)
    assert rows[A]["tie_group"] == rows[B]["tie_group"] == "a" != rows[C]["tie_group"]
    assert (rows[A]["rank_low"], rows[A]["rank_high"]) == (1, 2)


def test_bold_is_the_best_of_all_that_a_column_shows(workspace: Workspace) -> None:
    """Where one that has no rank is better, nothing is bold."""
    invent_all(workspace, {A: 0.80, B: 0.50}, ("MR", "CR"))
    put(workspace.store, C, "CR", 99.0)
    (grid,) = (one for one in answers(workspace)[-1].blocks() if isinstance(one, Grid))
    heads = [head.title for head in grid.heads[1:]]
    bold = {
        name: {h for h, one in zip(heads, row, strict=True) if one.is_best}
        for name, _, row in grid.rows
    }
    assert "MR" in bold[A] and not any("CR" in some for some in bold.values())


def test_filters_are_taken_away_one_by_one(measured: Workspace) -> None:
    """Each leads to the board with the others."""
    spec = BoardSpec(suite="transfer", types=("Transfer", "STS"), most_dimensions=96)
    links = {link.label: link.query for link in spec.filters()}
    suite, most = {"suite": "transfer"}, {"most_dimensions": "96"}
    assert links == {
        "Types of tasks: Transfer": suite | most | {"type": ("STS",)},
        "Types of tasks: STS": suite | most | {"type": ("Transfer",)},
        "Most dimensions: 96": suite | {"type": ("Transfer", "STS")},
    }


def test_what_a_model_was_trained_on(measured: Workspace) -> None:
    """By the names on its card; where it names none, nothing is claimed."""
    measured.store.encoders.add(A, {"trained_on": ["embedding-data/sts-12", "s2orc"]})
    measured.store.encoders.add(B, {"trained_on": ["s2orc"]})
    board = answers(measured)[-1]
    assert board.trained_on == {A: {"STS12": "its files"}, B: {}, C: None}
    rows = {row["encoder"]: row["trained_on"] for row in board.rows()}
    assert rows == {A: ["STS12"], B: [], C: None}


def test_right_and_wrong_by_hand(workspace: Workspace) -> None:
    """A is right where B is wrong twice, B once; without the data there are numbers, no texts."""
    for name, right in ((A, [1, 1, 0, 1]), (B, [1, 0, 1, 0])):
        invent(workspace, name, "MR", 0.5, n=4, right=np.array(right, bool))
    board = standings.board(workspace)
    found = disagreement(workspace, board, "MR", A, B)
    assert (found.ahead, found.behind, found.of, found.graded) == (2, 1, 4, False)
    assert [one.place for one in found.examples] == [2, 4] and found.examples[0].texts == ()
    assert first_choice(board, "", "", "") == ("MR", A, B) == first_choice(board, "MR", "gone", B)
    assert first_choice(board, "MR", B, B) == ("MR", B, A)
    invent(workspace, A, "StarterTopics", 0.5, n=4)  # first on the board, and of one encoder alone
    assert first_choice(standings.board(workspace), "", "", "") == ("MR", A, B)
    with refused("invalid", "MR"):
        disagreement(workspace, board, "MR", A, A)


def test_how_right_a_graded_pair_is() -> None:
    """By ranks 1, 2, 3 against 1, 3, 2: the last two are a place of three off."""
    sample = Sample(np.array([0.1, 0.5, 0.9]), np.array([0.0, 5.0, 4.0]))
    assert quality(sample).tolist() == pytest.approx([1.0, 2 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("task", "data"),
    [
        ("StarterSTS", "starter-pairs"),
        ("StarterTopics", "starter-topics"),
        ("StarterSearch", "starter-topics"),
    ],
)
def test_examples_have_their_texts(workspace: Workspace, task: str, data: str) -> None:
    """In the order of the values: what the classifier got right is where its label says so."""
    evaluate_all(workspace, (A, B), task)
    found = disagreement(workspace, standings.board(workspace), task, A, B).examples
    texts = set(workspace.catalog.load(data).sentences)
    assert 0 < len(found) <= examples.MAX_EXAMPLES
    assert all(one.texts and one.label and set(one.texts) <= texts for one in found)


# A published folder of results, opened on the board: beside one's own, never among them.

OWN = "random:32"


def publish(
    folder: Path, model: str, revision: str, task: str, data: str, **subsets: float
) -> None:
    """A file as mteb writes it."""
    parts = [
        {
            "hf_subset": name.replace("_", "-"),
            "languages": ["eng-Latn"],
            "main_score": score,
            "accuracy": score,
        }
        for name, score in subsets.items()
    ]
    fields = {
        "dataset_revision": data,
        "task_name": task,
        "mteb_version": "2.9.1",
        "scores": {"test": parts},
    }
    data_folder.files(
        folder, {f"{model.replace('/', '__')}/{revision}/{task}.json": json.dumps(fields)}
    )


@pytest.fixture
def opened(workspace: Workspace, tmp_path: Path) -> Workspace:
    """Two tasks measured here; a model published in two revisions, another one on other data."""
    for task, score, kind, part in (
        ("mteb:Banking77Classification", 70.0, "Classification", "default"),
        ("mteb:STS17/en-en", 80.0, "STS", "en-en"),
    ):
        scores = {"test": [{"hf_subset": part, "main_score": score / 100}]}
        own = {"dataset_revision": "d1", "task_name": task, "scores": scores}
        put(workspace.store, OWN, task, score, "mteb-2.26.24", details={"mteb": own, "type": kind})
    for model, revision, task, data, subsets in (
        ("org/model", "aaaaaaaabb", "Banking77Classification", "d1", {"default": 0.9}),
        ("org/model", "aaaaaaaabb", "STS17", "d1", {"en_en": 0.6, "de_de": 0.1}),
        ("org/model", "cccccccc", "Banking77Classification", "d1", {"default": 0.8}),
        ("org/other", "r1", "Banking77Classification", "d2", {"default": 0.5}),
        ("org/other", "r1", "STS17", "d1", {"de_de": 0.4}),
        ("org/none", "r1", "Imdb", "d1", {"default": 0.4}),
    ):
        publish(tmp_path / "results", model, revision, task, data, **subsets)
    exchange.bring(workspace, tmp_path / "results")
    return workspace


def drawn(workspace: Workspace) -> dict:
    """What the page shows: label -> cells."""
    answer = BOARD.last(workspace, BoardSpec(published=True), lambda job: True)
    (grid,) = (block for block in answer.blocks() if isinstance(block, Grid))
    return {f"{name}, {small}" if small else name: cells for name, small, cells in grid.rows}


def rows(workspace: Workspace) -> list[dict]:
    """Those of a board without published ones."""
    return BOARD.last(workspace, BoardSpec(), lambda job: True).rows()


def references(workspace: Workspace, spec: BoardSpec = standings.EVERYTHING) -> list[Entry]:
    """The imported ones beside a board."""
    found = standings.published_entries(workspace, standings.board(workspace, spec))
    return [entry for entry in found if "revision" in entry.facts]


def test_a_published_folder_on_the_board(opened: Workspace) -> None:
    """Each revision is a row of its own; a column takes just the subsets that it is of.

    They change no number of one's own, and can be taken away again.
    """
    shown = {name: [cell.text for cell in cells] for name, cells in drawn(opened).items()}
    none = formats.MISSING
    assert next(iter(shown)) == OWN and len(shown) == 4, "one encoder has no rank"
    first, second = (f"org/model, published, revision {of}" for of in ("aaaaaaaa", "cccccccc"))
    assert shown[first] == [*["75.00"] * 2, "", "90.00", "60.00"]
    assert shown[second] == [none, none, "", "80.00", none]
    (with_them,) = rows(opened)
    assert (with_them["encoder"], with_them["mean"]) == (OWN, 75.0)
    opened.store.published.remove([row["id"] for row in opened.store.published.table()])
    assert list(drawn(opened)) == [OWN] and rows(opened) == [with_them]


def test_other_data_are_marked(opened: Workspace) -> None:
    """In the cell, with both revisions; the same data has the last word."""
    other = "org/other, published, revision r1"
    cell = drawn(opened)[other][3]
    assert (cell[0], cell[4]) == ("50.00", "other data") and "d2" in cell[2] and "d1" in cell[2]
    row = opened.store.published.table(
        models=["org/other"], tasks=["mteb:Banking77Classification"]
    )[0]
    again = {"data_revision": "d1", "score": 51.0, "facts": {"parts": [["test", "default", 51.0]]}}
    opened.store.published.put([row | again | {"scores": []}])
    cell = drawn(opened)[other][3]
    assert cell[0] == "51.00" and not any(cell[4:])


def test_beside_tasks_of_other_protocols_they_do_not_stand(opened: Workspace) -> None:
    """STS by SimCSE's choices is another measurement than mteb's."""
    put(opened.store, OWN, "STS12", 60.0, "simcse-2021")
    assert [column.task for column in standings.board(opened).columns] == ["STS12"]
    answer = BOARD.last(opened, BoardSpec(), lambda job: True)
    assert references(opened) == [] and answer.elsewhere == 4
    theirs = standings.board(opened, BoardSpec(protocol=PUBLISHED))
    assert "STS12" not in {column.task for column in theirs.columns}
    assert theirs.encoders == [OWN] and len(references(opened, BoardSpec(protocol=PUBLISHED))) == 4


@pytest.fixture
def only(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Nothing measured; a folder as it is downloaded, with what is known of its model."""
    monkeypatch.setattr(suites, "_HELD", {})
    folder, revision = tmp_path / "results", "aaaaaaaabb"
    publish(folder, "org/model", revision, "Banking77Classification", "d1", default=0.9)
    publish(folder, "org/model", revision, "STS17", "d1", en_en=0.6, de_de=0.1)
    publish(folder, "org/other", "r1", "Banking77Classification", "d1", default=0.7)
    about = {
        "name": "org/model",
        "revision": revision,
        "n_parameters": 22_700_000,
        "embed_dim": 384,
        "max_tokens": 512,
        "license": "mit",
    }
    (folder / "org__model" / revision / "model_meta.json").write_text(json.dumps(about))
    exchange.bring(workspace, folder)
    return workspace


def test_a_published_folder_on_an_empty_board(only: Workspace) -> None:
    """Its tasks are the columns; nobody has a rank, and means are over the task that both have."""
    assert [*standings.protocols_here(only)] == ["", PUBLISHED]
    board, shown = standings.board(only), drawn(only)
    tasks = ["mteb:Banking77Classification", "mteb:STS17"]
    assert [column.task for column in board.columns] == tasks
    first = shown["org/model, published, 22.7M, 384 d, revision aaaaaaaa"]
    assert [cell[0] for cell in first] == ["90.00", "90.00", "90.00", "35.00"]
    other = shown["org/other, published, revision r1"]
    assert (other[0][0], other[3][0]) == ("70.00", formats.MISSING)
    with refused("no-result", "starter"):
        standings.board(only, BoardSpec("starter"))
    listed = objects(theodolite("board", "--json", "--store", str(only.store.folder)))
    found = [(row["encoder"], row["published"], row["tasks"]) for row in listed]
    assert found == [("org/model", True, 2), ("org/other", True, 1)]


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        (BoardSpec(most_parameters=30), ["org/model"]),
        (BoardSpec(most_parameters=10), []),
        (BoardSpec(licences=("mit",)), ["org/model"]),
        (BoardSpec(languages=("eng",)), ["org/model", "org/other"]),
    ],
)
def test_published_models_are_filtered_by_what_their_folder_says(
    only: Workspace, spec: BoardSpec, shown: list[str]
) -> None:
    """As encoders of one's own are: what is not known does not fit."""
    assert [one.name for one in references(only, spec)] == shown


def test_a_suite_of_mtebs_on_the_board(only: Workspace) -> None:
    """It takes of a task the subset that it names; with mteb asked once, types are known."""
    board = standings.board(only)
    assert set(board.types) == {"MTEB"} and standings.look_up(only, board)
    board = standings.board(only)
    assert board.types == ["Classification", "STS"] and not standings.look_up(only, board)
    suite = standings.board(only, BoardSpec("MTEB(eng, v2)"))
    assert [c.task for c in suite.columns] == ["mteb:Banking77Classification", "mteb:STS17/en-en"]
    (first, _) = references(only, BoardSpec("MTEB(eng, v2)"))
    assert first.scores["mteb:STS17/en-en"] == pytest.approx(60.0)


def test_the_hubs_list_names_the_data_of_the_hub(workspace: Workspace, tmp_path: Path) -> None:
    """Where a task of mteb's own says where its data lie; else the task stands for itself."""
    own = {"hub_dataset": "mteb/banking77"}
    put(workspace.store, OWN, "mteb:Banking77Classification", 70.0, "mteb-2.26.24", details=own)
    put(workspace.store, OWN, "MR", 60.0)
    (file,) = exchange.export(workspace, tmp_path, "yaml", workspace.store.results.table())
    assert "id: mteb/banking77" in file.read_text() and "id: MR" in file.read_text()


# What encoders cost: measured in a process of its own, kept, and set against quality.


def test_medians_spread_and_percentiles_by_hand() -> None:
    """Of 10 to 50 the median is 30; of 1 to 100 ms half do not exceed 50, and 95 not 95."""
    row = cost.row(COST_ROW | {"machine": "here"})
    assert row == row | {
        "per_second_16": 30,
        "per_second_16_low": 10,
        "per_second_16_high": 50,
        "latency_p50": 50.0,
        "latency_p95": 95.0,
        "memory": 3.0,
        "disk": 1.0,
        "embedding_parameters": 10.0,
        "other_parameters": 20.0,
    }
    quick = cost.row(COST_ROW | {"machine": "here", "load_seconds": [0.000541, 0.0005, 0.012]})
    assert cost.value_with_unit(quick, "load_seconds") == "541 µs (500 µs to 12 ms)"


def test_the_pareto_front_by_hand() -> None:
    """B is slower and worse than A; C is slower and better; D is as fast as A and worse."""
    points = {"A": (100.0, 60.0), "B": (90.0, 55.0), "C": (10.0, 70.0), "D": (100.0, 50.0)}
    assert cost.front(points, more_is_better=True) == ["A", "C"]
    assert cost.front(points, more_is_better=False) == ["C"]


def test_what_another_machine_measured_is_not_shown(workspace: Workspace) -> None:
    put_cost(workspace, "random:32")
    put_cost(workspace, "random:64", machine="elsewhere")
    assert list(cost.rows_by_encoder(workspace)) == ["random:32"]


def timed(ms: float, load: float, **more) -> dict:
    """A measurement as its process prints it, with single sentences of so many milliseconds."""
    even = {length: [1000 / ms] * 5 for length in ("16", "64", "256")}
    return COST_ROW | {"latency_ms": [ms] * 60, "per_second": even, "load": load, "cores": 2} | more


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """What the next processes that measure an encoder will print."""
    next_ones = []
    monkeypatch.setattr(footprint, "in_own_process", lambda *_: next_ones.pop(0))
    monkeypatch.setattr(footprint, "_LOOK", 0.0)
    monkeypatch.setattr(footprint, "others", lambda: lambda: 0.0)
    return next_ones


def test_what_was_disturbed_is_measured_again(workspace: Workspace, process: list[dict]) -> None:
    """Until it is quiet, three times at most; then the least disturbed is kept, and said so."""
    process += [timed(70, 1.9), timed(10, 0.1), timed(70, 1.9), timed(30, 0.5), timed(50, 1.0)]
    cost.measure(workspace, "random:32")
    row = cost.rows_by_encoder(workspace)["random:32"]
    assert (row["latency_p50"], row["load"], row["disturbed"], len(process)) == (10, 0.1, False, 3)
    cost.ensure(workspace, "random:32")
    assert len(process) == 3 and cost.disturbance([row]) == ""
    cost.measure(workspace, "random:64")
    row = cost.rows_by_encoder(workspace)["random:64"]
    assert (row["latency_p50"], process) == (30, [])
    assert "random:64" in cost.disturbance([row]) and cost.load(row) == "0.5 of 2 cores"


def test_a_disturbed_measurement_is_not_kept_for_good(
    workspace: Workspace, process: list[dict]
) -> None:
    """It is measured once more whenever it is needed; a worse one does not replace it."""
    process += [timed(ms, 1.9) for ms in (70, 60, 65, 90, 40)] + [timed(10, 0.0)]
    cost.measure(workspace, "random:32")
    for kept in (60, 40, 10, 10):
        cost.ensure(workspace, "random:32")
        assert cost.rows_by_encoder(workspace)["random:32"]["latency_p50"] == kept
        left = cost.unmeasured(workspace, ["random:32", "random:64"])
        assert left == ["random:32", "random:64"][kept == 10 :]
    assert cost.CostJob(("random:32",)).is_stored(workspace)


def test_nothing_is_repeated_while_other_programs_are_busy(
    workspace: Workspace, process: list[dict], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be no better: what is there is kept as disturbed, and repeated once it is quiet."""
    process += [timed(70, 1.9), timed(10, 0.1)]
    fifth = (psutil.cpu_count() or 1) / 5
    for load, kept in ((1.1 * fifth, 70), (1.1 * fifth, 70), (0.9 * fifth, 10)):
        monkeypatch.setattr(footprint, "others", lambda load=load: lambda: load)
        cost.ensure(workspace, "random:32")
        assert cost.rows_by_encoder(workspace)["random:32"]["latency_p50"] == kept


UNEVEN = {"16": [100.0, 60.0], "64": [9.0, 9.0]}


@pytest.mark.parametrize(
    ("changes", "disturbed"),
    [
        ({"per_second": UNEVEN}, True),
        ({"per_second": {"16": [100.0, 70.0]}}, False),
        ({"per_second": UNEVEN, "device": footprint.AN_ENDPOINT}, False),
        ({"per_second": UNEVEN, "load": None}, False),
    ],
)
def test_repeats_that_differ_disturb_too(changes: dict, disturbed: bool) -> None:
    """By more than half; not where nothing is said of the load, nor at an endpoint's server."""
    found = {key: value for key, value in (timed(10, 0.0) | changes).items() if value is not None}
    assert footprint.is_disturbed(found) is disturbed


def test_the_load_of_others_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten core-seconds two were idle and three our own; the time of guests counts once."""
    times = namedtuple("Times", "user system idle iowait guest")
    own = SimpleNamespace(user=2.0, system=1.0)
    monkeypatch.setattr(psutil, "cpu_times", lambda: times(6.0, 2.0, 1.5, 0.5, 4.0))
    monkeypatch.setattr(psutil, "Process", lambda: SimpleNamespace(cpu_times=lambda: own))
    assert footprint._seconds_of_others() == 5.0


def test_quality_against_cost(workspace: Workspace) -> None:
    """An example of what ships where nothing was measured."""
    put(workspace.store, "random:32", "MR", 50.0)
    answer = COST.last(workspace, CostSpec(["random:32"]), lambda job: False)
    assert answer.shipped and set(answer.measurements) == set(answer.quality)
    assert set(answer.quality) == set(STARTER_ENCODERS) and answer.tasks == 3
    put_cost(workspace, "random:32")
    finding, chart, grid = COST.last(workspace, CostSpec(["random:32"]), lambda job: True).blocks()
    assert isinstance(finding, Finding) and "random:32" in finding.text
    assert isinstance(chart, Chart) and isinstance(grid, Grid) and grid.rows[0][0] == "random:32"


def test_a_job_measures_in_a_process_of_its_own(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every number is there and above zero; asked again, nothing is left to do."""
    monkeypatch.setattr(footprint, "BUSY", math.inf)
    monkeypatch.setattr(footprint, "APART", math.inf)
    job = cost.CostJob(("random:32", "dir:/nowhere"))
    good, bad = do_units(workspace, job)
    assert good.failure is None and "/nowhere" in str(bad.failure) and not job.is_stored(workspace)
    assert cost.CostJob(("random:32",)).is_stored(workspace)
    row = cost.rows_by_encoder(workspace)["random:32"]
    keys = ("per_second_16", "per_second_256", "latency_p50", "load_seconds", "vector_bytes")
    assert min(row[key] for key in keys) > 0
    assert row["per_second_16_low"] <= row["per_second_16"] <= row["per_second_16_high"]
    assert row["load"] >= 0 and row["cores"] >= 1
    assert row["device"] == "CPU"  # what needs no torch does not wait for it, nor use its devices


def test_smaller_vectors_are_scored_without_encoding(workspace: Workspace) -> None:
    """All dimensions score as the evaluation did; what was never encoded is refused."""
    with refused("no-result", "random:32", "StarterSTS"):
        curves(workspace, "random:32", "StarterSTS")
    score = evaluate_one(workspace, "random:32", "StarterSTS")["score"]
    found = curves(workspace, "random:32", "StarterSTS")
    by = {(one.how.method, one.how.dim): one for one in found}
    assert by["first", 32].score == pytest.approx(score, abs=1e-9)
    assert by["first", 16].how.bytes == 64 and by["binary", 32].how.bytes == 4
    assert abs(by["int8", 32].score - score) < 1
    assert ("pca", 32) not in by and ("pca", 16) in by
