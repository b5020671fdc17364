"""Verdicts over several tasks, tie groups, rank intervals and cautions, on invented results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.engine.samples import pairs as pairs_of
from tests.fakes.results import invent
from theodolite.app.pages.compare import board as compare_board
from theodolite.app.pages.compare import page as compare
from theodolite.app.pages.compare import published, tested, views
from theodolite.app.pages.compare import service as comparison
from theodolite.app.pages.compare import table as compare_table
from theodolite.app.pages.compare.verdicts import Verdict, verdicts
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.web.controls import Values
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.stats import significance
from theodolite.engine.stats.bootstrap import resample_all
from theodolite.engine.stats.significance import Difference

A, B, C = "random:32", "random:96", "wordllama"
TASKS = ("MR", "CR", "SUBJ", "MPQA")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A is good, B a little worse on every task, C much worse."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    made = Workspace(tmp_path / "store")
    for task in TASKS:
        for name, accuracy in ((A, 0.86), (B, 0.83), (C, 0.60)):
            invent(made, name, task, accuracy)
    return made


def difference(delta: float, p: float) -> Difference:
    """A difference whose interval leaves out zero."""
    low, high = sorted((delta / 2, delta * 2))
    return Difference(delta, low, high, p, 100, "a" if delta > 0 else "b")


def test_verdicts_are_corrected_over_the_tasks_of_a_column() -> None:
    """By hand: of 0.01, 0.02 and 0.04 Holm makes 0.03, 0.04 and 0.04, so all three hold.

    A fourth of 0.9 makes them 0.04, 0.06 and 0.08: only the first holds. Another column is apart.
    """
    three = {
        (B, task): (difference(1.0, 0.5), p)
        for task, p in zip("xyz", (0.01, 0.02, 0.04), strict=True)
    }
    alone = {(C, "x"): (difference(-1.0, 0.5), 0.03)}
    found = verdicts(three | alone)
    assert [found[B, task].adjusted for task in "xyz"] == pytest.approx([0.03, 0.04, 0.04])
    assert {found[B, task].verdict for task in "xyz"} == {"a"}
    assert found[C, "x"] == Verdict(0.03, "McNemar", 0.03, 1, "b")
    four = verdicts(three | {(B, "w"): (difference(1.0, 0.5), 0.9)})
    assert [four[B, task].verdict for task in "xyzw"] == ["a", "tie", "tie", "tie"]


def test_a_hundred_tasks_can_still_differ() -> None:
    """Clearly worse on each: no correction over the tasks turns that into a tie."""
    good, poor = resample_all([pairs_of(300, 1.0, 1), pairs_of(300, 20.0, 2)])
    found = significance.difference([poor], [good])
    made = verdicts({(B, f"task {i}"): (found, None) for i in range(100)})
    assert {verdict.verdict for verdict in made.values()} == {"b"}


def test_one_bootstrap_alone_is_decided_by_its_p_value() -> None:
    """Of few examples that differ, percentiles leave out 0 too soon: 9 of 60 equal encoders."""
    found = verdicts({(B, "x"): (difference(1.0, 0.06), None)})
    assert found[B, "x"] == Verdict(0.06, "bootstrap", 0.06, 1, "tie")
    found = verdicts({(B, "x"): (difference(1.0, 0.04), None)})
    assert found[B, "x"] == Verdict(0.04, "bootstrap", 0.04, 1, "a")


def test_right_and_wrong_answers_take_mcnemar(workspace: Workspace) -> None:
    """The mid-p of scipy's binomial test on the answers in the store."""
    report = comparison.compare(workspace, [A, B])
    for task in TASKS:
        right, other = (
            workspace.store.results.examples(report.cells[name, task]["id"])["correct"]
            for name in (B, A)
        )
        fewer, n = (
            sorted((np.sum(right & ~other), np.sum(other & ~right)))[0],
            np.sum(right ^ other),
        )
        expected = stats.binomtest(int(fewer), int(n)).pvalue - stats.binom.pmf(fewer, n, 0.5)
        assert report.verdicts[B, task].p == pytest.approx(expected)
        assert report.verdicts[B, task].test == "McNemar"


def test_examples_that_are_not_independent_are_drawn_together(workspace: Workspace) -> None:
    """Each answer was given eight times: verdict, interval and letters take it as one."""
    rng = np.random.default_rng(0)
    good, poor = rng.random(50) < 0.80, rng.random(50) < 0.60
    for task, clusters in (("SST2", None), ("TREC", np.repeat(np.arange(50), 8))):
        for name, right in ((A, good), (B, poor)):
            invent(workspace, name, task, 0.0, right=np.repeat(right, 8), clusters=clusters)
    report = comparison.compare(workspace, [A, B], ["SST2", "TREC"])
    once = stats.binomtest(int((good & ~poor).sum()), int((good != poor).sum())).pvalue
    apart, together = (report.differences[B, task] for task in ("SST2", "TREC"))
    assert report.verdicts[B, "TREC"].p == pytest.approx(once, rel=0.4)
    assert report.verdicts[B, "SST2"].p < once / 100
    assert (together.high - together.low) / (apart.high - apart.low) == pytest.approx(
        np.sqrt(8), rel=0.1
    )


def test_correlations_keep_the_bootstrap(workspace: Workspace) -> None:
    """A Spearman has no answers that are right or wrong."""
    for name in (A, B):
        evaluated(workspace, name, "StarterSTS")
    report = comparison.compare(workspace, [A, B])
    verdict = report.verdicts[B, "StarterSTS"]
    assert (verdict.test, verdict.tasks) == ("bootstrap", len(TASKS) + 1)
    assert verdict.p == report.differences[B, "StarterSTS"].p


def test_ties_are_among_all_encoders(workspace: Workspace) -> None:
    """C is told apart from both others on every task, whichever is the baseline."""
    for names in ([A, B, C], [C, B, A]):
        report = comparison.compare(workspace, names)
        for task in TASKS:
            groups = report.groups[task]
            assert groups[A] == "a"
            assert groups[C] > groups[B] >= "a"
        assert report.average_groups[A] == "a" and report.average_groups[C] == "c"


def wrong_on(workspace: Workspace, name: str, task: str, wrong: int) -> None:
    """A result that misses the first examples of a hundred."""
    invent(workspace, name, task, 0.0, n=100, right=np.arange(100) >= wrong)


def test_better_beside_a_letter_that_ties_says_what_each_was_tested_on(
    workspace: Workspace,
) -> None:
    """By hand: 7 answers to none is a mid-p of 1/128, real by itself and not among 28 pairs."""
    others = [f"random:{width}" for width in range(40, 46)]
    for name in (A, *others):
        wrong_on(workspace, name, "TREC", 0)
    wrong_on(workspace, B, "TREC", 7)
    report = comparison.compare(workspace, [B, A, *others], ["TREC"])
    assert report.verdicts[A, "TREC"].verdict == "a" and set(report.groups["TREC"].values()) == {
        "a"
    }
    expected = "tie letter: by a test of all 28 pairs of this row"
    row = next(row for row in report.rows() if row["encoder"] == A)
    assert (row["tie_group_over"], row["tie_group_note"]) == (28, expected)
    assert compare_table.table(report, [], {}).count(expected) == 7
    board = compare_board.table(report, [], {})
    assert board.count("all 28 pairs of this column") == 7
    assert "pairs of this row" not in board


def test_a_tie_beside_letters_that_differ_says_so_too(workspace: Workspace) -> None:
    """By hand: 6 answers to none is a mid-p of 1/64, real on this task and not among four."""
    tasks = ("TREC", "SST2", "SST5", "MRPC")
    for name in (A, B):
        for task in tasks:
            wrong_on(workspace, name, task, 6 if (name, task) == (B, "TREC") else 0)
    report = comparison.compare(workspace, [A, B], list(tasks))
    assert report.verdicts[B, "TREC"].verdict == "tie" and report.groups["TREC"] == {A: "a", B: "b"}
    notes = {row["task"]: row["tie_group_note"] for row in report.rows() if row["against"]}
    assert notes.pop("TREC") == "tie letter: by a test of this row alone"
    assert [notes[task] for task in tasks[1:]] == ["", "", ""]


def test_ranks_over_tasks_are_no_surer_than_within(workspace: Workspace) -> None:
    """C is last for sure; the draw of tasks can only widen."""
    report = comparison.compare(workspace, [C, A, B])
    assert [row.name for row in report.ranks] == [A, B, C]
    assert (report.ranks[-1].low, report.ranks[-1].high) == (3, 3)
    assert sum(row.first for row in report.ranks_over_tasks) == pytest.approx(1.0)
    one = comparison.compare(workspace, [A, B], ["MR"])
    assert one.ranks and not one.ranks_over_tasks


def test_an_answer_is_remembered_until_there_are_other_results(workspace: Workspace) -> None:
    """A second look tests nothing again; one more result is another question."""
    first = comparison.compare(workspace, [A, B])
    assert comparison.compare(workspace, [A, B]) is first
    assert list(comparison.resampling(comparison.ask(workspace, [A, B]))) == []
    assert comparison.compare(workspace, [B, A]) is not first
    invent(workspace, B, "TREC", 0.83)
    invent(workspace, A, "TREC", 0.86)
    steps = list(comparison.resampling(comparison.ask(workspace, [A, B])))
    assert [(done, of) for _, done, of in steps] == [(done, 5) for done in range(5)]
    assert comparison.compare(workspace, [A, B]).tasks == (*first.tasks, "TREC")


def asked(chosen: list[str], base: str, tasks: Sequence[str] = ()) -> Values:
    """What the controls of the page say; the others as they are at first."""
    usual = {control.name: control.default for control in compare.CONTROLS}
    return Values(**usual | {"encoder": chosen, "baseline": base, "tasks": tasks})


def shown_of(workspace: Workspace, values: Values) -> dict[str, Any]:
    """Everything that the page shows in the end, by the name of its part."""
    steps = views.below(workspace, values)
    return {part: value for step in steps for part, value in step.items()}


def test_of_many_encoders_the_means_are_drawn(workspace: Workspace) -> None:
    """A row an encoder, the best first; the table and the numbers still hold every task."""
    names = [f"random:{width}" for width in range(40, 51)]
    for place, name in enumerate(names):
        for task in TASKS:
            invent(workspace, name, task, 0.55 + 0.03 * place)
    chosen = [A, *names]
    shown = shown_of(workspace, asked(chosen, A))
    headline, picture, table = shown["headline"], shown["forest"], json.loads(shown["board"])
    assert "By their mean over 4 tasks" in headline and "of 11 encoders" in headline
    assert [head for head, _ in table["heads"]] == ["Encoder", "Mean", *TASKS]
    assert sorted(name for name, _, _ in table["rows"]) == sorted(chosen)
    assert all(len(cells) == len(TASKS) + 1 for _, _, cells in table["rows"])
    means = [float(cells[0][0]) for _, _, cells in table["rows"]]
    assert means == sorted(means, reverse=True), "the best mean first"
    (trace,) = json.loads(picture["figure"])["data"]
    assert len(trace["x"]) == 11 and list(trace["x"]) == sorted(trace["x"], reverse=True)
    assert len(json.loads(picture["table"])["rows"]) == len(chosen)
    columns, *rows = json.loads(views.numbers(workspace, asked(chosen, A)))
    report = comparison.compare(workspace, chosen)
    assert [dict(zip(columns, row, strict=True))["score"] for row in rows] == [
        row["score"] for row in report.rows()
    ]
    few = shown_of(workspace, asked([A, *names[:8]], A))
    assert few["board"] is None and few["comparison"].count('<th scope="row">') == len(TASKS) + 1
    assert len(json.loads(few["forest"]["figure"])["data"]) == 8


def test_a_cell_among_many_says_what_its_mark_stands_on(workspace: Workspace) -> None:
    """Better and worse by a mark and not by colour alone; bold ties with the best of the task."""
    names = [f"random:{width}" for width in range(40, 50)]
    for place, name in enumerate(names):
        invent(workspace, name, "MR", 0.55 + 0.03 * place)
    shown = shown_of(workspace, asked([A, *names], A, ["MR"]))
    assert "On MR " in shown["headline"]
    cells = {name: cells[1] for name, _, cells in json.loads(shown["board"])["rows"]}
    _, css, note = cells["random:40"]
    report = comparison.compare(workspace, [A, *names], ["MR"])
    gap = report.differences["random:40", "MR"]
    assert css == "t-bad t-down" and f"−{-gap.delta:.2f}, −{-gap.low:.2f} to" in note
    best = max(report.averages, key=lambda name: report.averages[name].score or 0.0)
    assert cells[best][3] and len(cells["random:40"]) == 3, "bold"


def test_many_without_a_task_they_share_have_a_table_and_no_mean(workspace: Workspace) -> None:
    """Nothing is drawn of a mean that cannot be taken, and the page says so."""
    names = [f"random:{width}" for width in range(40, 50)]
    for place, name in enumerate(names):
        invent(workspace, name, ("MR", "CR")[place % 2], 0.6)
    shown = shown_of(workspace, asked(names, names[0]))
    assert "No task is shared" in shown["headline"] and shown["forest"] is None
    assert "not evaluated" in shown["board"]


def test_a_baseline_without_results_is_named(workspace: Workspace) -> None:
    """What the others scored stands there all the same, with the way to evaluate it."""
    shown = shown_of(workspace, asked([A, B, "random:512"], "random:512"))
    assert "random:512, the baseline, is not evaluated yet" in shown["headline"]
    assert "evaluate?encoder=random%3A512" in shown["headline"]
    assert A in shown["comparison"] and shown["forest"] is None


def test_what_was_resampled_ahead_is_not_read_again(workspace: Workspace) -> None:
    """The first to compare waits for nothing but the tests."""
    tested.resample_ahead(workspace, Event())
    for file in (workspace.store.folder / "examples").iterdir():
        file.unlink()
    report = comparison.compare(workspace, [A, B])
    assert report.differences.keys() == {(B, task) for task in TASKS}


def test_there_is_a_letter_for_every_group() -> None:
    """After z come two letters, as columns are named in a spreadsheet."""
    places = (0, 25, 26, 27, 51, 52, 701, 702)
    assert [tested.letter(n) for n in places] == ["a", "z", "aa", "ab", "az", "ba", "zz", "aaa"]


def test_rows_carry_what_the_page_shows(workspace: Workspace) -> None:
    """Adjusted and plain p, the tie group, and the rank interval beside the mean."""
    rows = comparison.compare(workspace, [A, C]).rows()
    task = next(row for row in rows if row["task"] == "MR" and row["encoder"] == C)
    assert task["p_mcnemar"] <= task["p_holm"] < 0.05
    assert (task["tie_group"], task["holm_over"], task["verdict"]) == ("b", 4, f"{A} is better")
    best = next(row for row in rows if row["task"] == "mean of 4 tasks" and row["encoder"] == A)
    assert (best["rank"], best["rank_low"], best["rank_high"], best["first"]) == (1, 1, 1, 1.0)
    assert best["tasks_drawn_rank_high"] == 1


def test_a_protocol_is_one_for_all_tasks(workspace: Workspace) -> None:
    """Only what was measured under it counts; an unknown one is refused."""
    for name in (A, B):
        invent(workspace, name, "MR", 0.7, protocol="senteval-fast")
    report = comparison.compare(workspace, [A, B], protocol="senteval-fast")
    assert report.tasks == ("MR",)
    assert {row["protocol"] for row in report.cells.values()} == {"senteval-fast"}
    own = comparison.compare(workspace, [A, B])
    assert {row["protocol"] for row in own.cells.values()} == {"senteval"}
    with pytest.raises(UserError, match="senteval-quick"):
        comparison.compare(workspace, [A, B], protocol="senteval-quick")
    with pytest.raises(UserError, match="under senteval-sklearn"):
        comparison.compare(workspace, [A, B], protocol="senteval-sklearn")


@pytest.mark.parametrize(
    ("task", "own", "other"),
    [("SST2", "senteval", "senteval-fast"), ("reviews/cluster", "mteb-v2", "mteb-v1")],
)
def test_a_task_s_own_protocol_comes_first(
    workspace: Workspace, task: str, own: str, other: str
) -> None:
    """Three answered under another protocol, two under the task's own: these two are compared.

    It is their own, too, for tasks that a data set's labels make.
    """
    for name in (A, B):
        invent(workspace, name, task, 0.7, protocol=own)
    for name in (A, B, C):
        invent(workspace, name, task, 0.7, protocol=other)
    report = comparison.compare(workspace, [A, B, C], None)
    assert report.cells[A, task]["protocol"] == own
    assert set(report.differences) >= {(B, task)}
    assert (C, task) not in report.differences


def test_what_is_unfair_is_said(workspace: Workspace) -> None:
    """Each with a way to mend it; what is there is not asked for."""
    warnings = comparison.compare(workspace, [A, B]).cautions
    texts = " ".join(caution.text for caution in warnings)
    assert "single seed" in texts and "One protocol" in texts and "word vectors" in texts
    assert all(caution.path in ("evaluate", "fair-play") for caution in warnings if caution.label)
    for name in (A, B, C):
        invent(workspace, name, "MR", 0.8, seed=7)
        invent(workspace, name, "MR", 0.8, protocol="senteval-fast")
    texts = " ".join(comparison.compare(workspace, [A, B, C]).warnings)
    assert not any(word in texts for word in ("single seed", "One protocol", "baseline", "word v"))


def test_a_result_without_examples_is_not_tested(workspace: Workspace) -> None:
    """Its score is shown, without a difference; the other tasks are unharmed."""
    for name in (A, B):
        row = dict(workspace.store.results.by_id(invent(workspace, name, "TREC", 0.8)["id"]))
        workspace.store.results.put(
            row
            | {
                "task": "MRPC",
                "examples": {},
                "scores": [
                    {
                        "split": "test",
                        "aggregation": None,
                        "metric": "accuracy",
                        "score": 70.0,
                        "n": 5,
                        "main": True,
                        "unit": "",
                    }
                ],
            }
        )
    report = comparison.compare(workspace, [A, B])
    assert (B, "MRPC") in report.cells and (B, "MRPC") not in report.differences
    assert "MRPC" not in report.common and "TREC" in report.common
    (note,) = [caution for caution in report.cautions if "MRPC" in caution.text]
    assert note.text == (
        f"No difference of {A}, {B} on MRPC is tested: no values per example are kept of this task."
    )
    assert not note.label, "evaluating it again would not help"


def test_an_earlier_result_that_kept_too_little_is_not_tested(workspace: Workspace) -> None:
    """A sentence says so; evaluated again, it keeps its score and gets a verdict."""
    for name in (A, B):
        row = evaluated(workspace, name, "StarterSearch")
        kept = workspace.store.results.examples(row["id"])
        full = row | workspace.store.results.in_full([row["id"]])[row["id"]]
        workspace.store.results.remove([row["id"]])
        workspace.store.results.put(full, {"precision": kept["precision"]})
    report = comparison.compare(workspace, [A, B], ["StarterSearch"])
    assert not report.verdicts
    (note,) = [caution for caution in report.cautions if "is tested" in caution.text]
    assert "kept too little for a test" in note.text
    assert (note.label, note.state) == ("Evaluate", {"encoder": [A, B], "task": "StarterSearch"})
    scores = [evaluated(workspace, name, "StarterSearch")["score"] for name in (A, B)]
    report = comparison.compare(workspace, [A, B], ["StarterSearch"])
    assert scores == [report.cells[name, "StarterSearch"]["score"] for name in (A, B)]
    assert report.verdicts.keys() == {(B, "StarterSearch")}


def pairs(workspace: Workspace, name: str, protocol: str, **how: object) -> None:
    """STS-B as a cosine or as a trained regressor measures it: invented, of 50 pairs."""
    gold = np.random.default_rng(0).uniform(0, 5, 50)
    seen = gold + np.random.default_rng(len(name)).normal(0, 1, 50)
    workspace.store.results.put(
        {
            "encoder": name,
            "fingerprint": name,
            "dim": 8,
            "task": "STSBenchmark",
            "protocol": protocol,
            "seed": 1111,
            "data_hash": "invented",
            "details": {},
            "scores": [
                {
                    "split": "test",
                    "aggregation": None,
                    "metric": "spearman",
                    "score": 60.0,
                    "n": 50,
                    "main": True,
                    "unit": "",
                }
            ],
            "examples": {"cosine": seen, "gold": gold, "part": np.zeros(50, np.int16)},
            "seconds": 1.0,
            "error": None,
            "hint": "",
        }
        | {"details": {"main_parts": [0]}}
        | how
    )


def test_a_trained_regressor_is_never_taken_for_a_cosine(workspace: Workspace) -> None:
    """Each protocol's own row says which it is; a printed cosine is not set beside the other."""
    for name in (A, B):
        pairs(workspace, name, "simcse-2021")
        gold = np.random.default_rng(0).uniform(0, 5, 50)
        learned = {
            "scores": [
                {
                    "split": "test",
                    "aggregation": None,
                    "metric": "pearson",
                    "score": 70.0,
                    "n": 50,
                    "main": True,
                    "unit": "",
                }
            ],
            "examples": {"predicted": gold + len(name), "gold": gold},
            "details": {"selected_by": "pearson"},
        }
        pairs(workspace, name, "senteval", **learned)
    printed = [published.references()["SimCSE-BERT-base, unsupervised, all"]]
    shown = {}
    for protocol in (None, "senteval"):
        report = comparison.compare(workspace, [A, B], ["STSBenchmark"], protocol)
        shown[protocol] = compare_table.table(report, printed, {})
    assert "learned" not in shown[None] and "76.85" in shown[None]
    assert "learned, Pearson" in shown["senteval"] and "76.85" not in shown["senteval"]


def test_shares_of_draws_are_not_right_or_wrong() -> None:
    """McNemar's test is for what is right or wrong; of ten draws, an example may be both."""
    from theodolite.app.pages.compare.tested import Measured, of_results

    shares = {"correct": np.array([0.1, 1.0, 0.7])}
    right = {"correct": np.array([False, True, True])}
    found = of_results("x/classify", {1: ({}, shares), 2: ({}, right)})
    assert isinstance(found[1], Measured) and found[1].right is None
    assert isinstance(found[2], Measured) and found[2].right is not None
