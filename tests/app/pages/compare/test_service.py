"""Verdicts over several tasks, ties, ranks and cautions; and whether they can be trusted."""

from itertools import product
from threading import Event

import numpy as np
import pytest
from scipy import stats

from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from tests.fakes.stores import evaluate_all, invent, invent_all, put
from theodolite.app import significance as tests_of
from theodolite.app.blocks import Table
from theodolite.app.pages.compare import null_check
from theodolite.app.pages.compare.answer import (
    MEAN,
    CompareSpec,
    Comparison,
    compare as compare_by,
    compared,
)
from theodolite.app.pages.compare.caveats import references
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import load
from theodolite.engine.encoders.noisy import Noisy
from theodolite.engine.stats import bootstrap
from theodolite.engine.stats.significance import Difference

A, B, C = "random:32", "random:96", "wordllama"
TASKS = ("MR", "CR", "SUBJ", "MPQA")


@pytest.fixture
def workspace(workspace: Workspace) -> Workspace:
    """A is good, B a little worse on every task, C much worse."""
    invent_all(workspace, {A: 0.86, B: 0.83, C: 0.60}, TASKS)
    return workspace


def compare(
    workspace: Workspace, encoders, tasks=(), protocol: str | None = None, **more
) -> Comparison:
    """The comparison of stored results."""
    return compare_by(workspace, CompareSpec(encoders, tasks, protocol, **more))


def difference(delta: float, p: float) -> Difference:
    """Its interval leaves out zero."""
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
    found = tests_of.verdicts(three | {(C, "x"): (difference(-1.0, 0.5), 0.03)})
    assert [found[B, task].adjusted for task in "xyz"] == pytest.approx([0.03, 0.04, 0.04])
    assert {found[B, task].verdict for task in "xyz"} == {"a"}
    assert found[C, "x"] == tests_of.Verdict(difference(-1.0, 0.5), 0.03, "McNemar", 0.03, 1, "b")
    four = tests_of.verdicts(three | {(B, "w"): (difference(1.0, 0.5), 0.9)})
    assert [four[B, task].verdict for task in "xyzw"] == ["a", "tie", "tie", "tie"]


@pytest.mark.parametrize(("p", "verdict"), [(0.06, "tie"), (0.04, "a")])
def test_one_bootstrap_alone_is_decided_by_its_p_value(p: float, verdict) -> None:
    """Of few examples that differ, percentiles leave out 0 too soon: 9 of 60 equal encoders."""
    found = tests_of.verdicts({(B, "x"): (difference(1.0, p), None)})
    assert found[B, "x"] == tests_of.Verdict(difference(1.0, p), p, "bootstrap", p, 1, verdict)


def test_right_and_wrong_answers_take_mcnemar_and_correlations_the_bootstrap(
    workspace: Workspace,
) -> None:
    """The mid-p of scipy's binomial test on the answers in the store."""
    evaluate_all(workspace, (A, B), "StarterSTS")
    report = compare(workspace, [A, B])
    for task in TASKS:
        ids = [report.cells[name, task]["id"] for name in (B, A)]
        right, other = (workspace.store.results.examples(i)["correct"] for i in ids)
        n, fewer = int(np.sum(right ^ other)), min(np.sum(right & ~other), np.sum(other & ~right))
        expected = stats.binomtest(int(fewer), n).pvalue - stats.binom.pmf(fewer, n, 0.5)
        verdict = report.verdicts[B, task]
        assert (verdict.test, verdict.p) == ("McNemar", pytest.approx(expected))
    verdict, p = report.verdicts[B, "StarterSTS"], report.verdicts[B, "StarterSTS"].difference.p
    assert (verdict.test, verdict.tasks, verdict.p) == ("bootstrap", len(TASKS) + 1, p)


def test_examples_that_are_not_independent_are_drawn_together(workspace: Workspace) -> None:
    """Each answer was given eight times: verdict, interval and letters take it as one."""
    rng = np.random.default_rng(0)
    good, poor = rng.random(50) < 0.80, rng.random(50) < 0.60
    for task, clusters in (("SST2", None), ("TREC", np.repeat(np.arange(50), 8))):
        for name, right in ((A, good), (B, poor)):
            invent(workspace, name, task, 0.0, right=np.repeat(right, 8), clusters=clusters)
    report = compare(workspace, [A, B], ["SST2", "TREC"])
    once = stats.binomtest(int((good & ~poor).sum()), int((good != poor).sum())).pvalue
    apart, together = (report.verdicts[B, task].difference for task in ("SST2", "TREC"))
    assert report.verdicts[B, "TREC"].p == pytest.approx(once, rel=0.4)
    assert report.verdicts[B, "SST2"].p < once / 100
    wider = (together.high - together.low) / (apart.high - apart.low)
    assert wider == pytest.approx(np.sqrt(8), rel=0.1)


def test_ties_and_ranks(workspace: Workspace) -> None:
    """C is told apart from both others, whichever is the baseline; tasks drawn too only widen."""
    for base in (None, C):
        report = compare(workspace, [A, B, C], baseline=base)
        assert report.encoders == [*([base] if base else []), *(n for n in (A, B, C) if n != base)]
        for tests in report.tests.values():
            assert tests.groups[A] == "a" <= tests.groups[B] < tests.groups[C]
        assert report.groups[MEAN][A] == "a" and report.groups[MEAN][C] == "c"
        assert [row.name for row in report.ranking.ranks] == [A, B, C]
        assert (report.ranking.ranks[-1].low, report.ranking.ranks[-1].high) == (3, 3)
        assert sum(row.first for row in report.ranking.ranks_over_tasks) == pytest.approx(1.0)
    deltas = [report.verdicts[B, task].difference.delta for task in TASKS]
    mean = report.verdicts[B, MEAN].difference
    assert mean.delta == pytest.approx(np.mean(deltas)) and mean.low < mean.delta < mean.high
    one = compare(workspace, [A, B], ["MR"])
    assert one.ranking.ranks and not one.ranking.ranks_over_tasks and (B, MEAN) not in one.verdicts


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
    report = compare(workspace, [B, A, *others], ["TREC"])
    assert report.verdicts[A, "TREC"].verdict == "a"
    assert set(report.tests["TREC"].groups.values()) == {"a"}
    rows = [row for row in report.rows() if row.get("tie_group_note")]
    assert len(rows) == 7 and {row["tie_group_over"] for row in rows} == {28}


def test_a_tie_beside_letters_that_differ_says_so_too(workspace: Workspace) -> None:
    """By hand: 6 answers to none is a mid-p of 1/64, real on this task and not among four."""
    tasks = ["TREC", "SST2", "SST5", "MRPC"]
    for name, task in product((A, B), tasks):
        wrong_on(workspace, name, task, 6 if (name, task) == (B, "TREC") else 0)
    report = compare(workspace, [A, B], tasks)
    assert (report.verdicts[B, "TREC"].verdict, report.tests["TREC"].groups) == (
        "tie",
        {A: "a", B: "b"},
    )
    notes = {row["task"]: row["tie_group_note"] for row in report.rows() if row["against"]}
    assert "this pair" in notes["TREC"] and not any(notes[task] for task in tasks[1:])


def test_a_mean_is_judged_by_its_p_value_as_a_task_is(workspace: Workspace) -> None:
    """By hand: of 16 ways to swap two encoders on four examples, two differ as much as these do."""
    tasks = ["TREC", "SST2"]
    for (name, wrong), task in product(((A, 0), (B, 2)), tasks):
        invent(workspace, name, task, 0.0, n=2, right=np.arange(2) >= wrong)
    mean = compare(workspace, [A, B], tasks).verdicts[B, MEAN]
    assert (mean.difference.low, mean.difference.high) == (-100.0, -100.0)
    assert (mean.p, mean.verdict) == (2 / 16, "tie")


def test_the_baseline_is_one_of_them() -> None:
    with refused("unknown", "minilm"):
        CompareSpec([A, B], baseline="minilm")


def test_an_answer_is_remembered_until_there_are_other_results(workspace: Workspace) -> None:
    first = compare(workspace, [A, B])
    assert list(compared(workspace, CompareSpec([A, B]))) == [first]
    assert compare(workspace, [B, A]) is not first
    invent_all(workspace, {A: 0.83, B: 0.83}, ["TREC"])
    assert [*compare(workspace, [A, B]).tests] == [*first.tests, "TREC"]


def test_what_was_resampled_ahead_is_not_read_again(workspace: Workspace) -> None:
    tests_of.resample_ahead(workspace, Event())
    for file in (workspace.store.folder / "examples").iterdir():
        file.unlink()
    assert compare(workspace, [A, B]).verdicts.keys() == {(B, task) for task in (*TASKS, MEAN)}


def test_there_is_a_letter_for_every_group() -> None:
    """After z come two letters, as columns are named in a spreadsheet."""
    places = (0, 25, 26, 27, 51, 52, 701, 702)
    assert [tests_of.letter(n) for n in places] == ["a", "z", "aa", "ab", "az", "ba", "zz", "aaa"]


def test_rows_carry_what_the_page_shows(workspace: Workspace) -> None:
    """Adjusted and plain p, the tie group, and the rank interval beside the mean."""
    rows = {(r["task"], r["encoder"]): r for r in compare(workspace, [A, C]).rows()}
    task, best = rows["MR", C], rows["mean of 4 tasks", A]
    assert task["p_mcnemar"] <= task["p_holm"] < 0.05
    assert (task["tie_group"], task["holm_over"], task["verdict"]) == ("b", 4, f"{A} is better")
    ranks = ("rank", "rank_low", "rank_high", "first", "tasks_drawn_rank_high")
    assert {best[name] for name in ranks} == {1}


def test_a_protocol_is_one_for_all_tasks(workspace: Workspace) -> None:
    invent_all(workspace, {A: 0.7, B: 0.7}, protocol="senteval-fast")
    for protocol, under, tasks in (
        ("senteval-fast", "senteval-fast", ("MR",)),
        (None, "senteval", TASKS),
    ):
        report = compare(workspace, [A, B], protocol=protocol)
        assert {row["protocol"] for row in report.cells.values()} == {under}
        assert tuple(report.tests) == tasks
    for protocol, code in (("senteval-quick", "unknown"), ("senteval-sklearn", "no-result")):
        with refused(code, protocol):
            compare(workspace, [A, B], protocol=protocol)


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
    invent_all(workspace, {A: 0.7, B: 0.7}, [task], protocol=own)
    invent_all(workspace, {A: 0.7, B: 0.7, C: 0.7}, [task], protocol=other)
    report = compare(workspace, [A, B, C])
    assert report.cells[A, task]["protocol"] == own
    assert (B, task) in report.verdicts and (C, task) not in report.verdicts


def test_what_is_unfair_is_said(workspace: Workspace) -> None:
    """Each with a way to mend it; what is there is not asked for."""
    unfair = ("single seed", "One protocol", "bag-of-words")
    found = compare(workspace, [A, B])
    assert [words for words in unfair if words in " ".join(found.warnings())] == [*unfair]
    links = [caveat.link for caveat in found.caveats if caveat.link]
    assert links and {link.page for link in links} <= {"evaluate", "fair-play"}
    for how in ({"seed": 7}, {"protocol": "senteval-fast"}):
        invent_all(workspace, {A: 0.8, B: 0.8, C: 0.8}, **how)
    texts = " ".join(compare(workspace, [A, B, C]).warnings())
    assert [words for words in (*unfair, "baseline") if words in texts] == []


def test_what_is_missing_is_said_once_for_all_its_tasks(workspace: Workspace) -> None:
    """With a link to evaluate them, which names only what can be scored on tasks with vectors."""
    invent_all(workspace, {"bm25": 0.7, "random:8": 0.5}, ["CR"])
    found = compare(workspace, [A, "bm25", "random:8"], ["MR", "CR", "SUBJ"])
    lacking = {c.text: c.link for c in found.caveats if "score" in c.text and "MR" in c.text}
    (able, link), (unable, none) = lacking.items()
    assert able == "No score for random:8 on 2 tasks: MR and SUBJ."
    assert link is not None and link.label == "Evaluate random:8 on 2 tasks"
    assert link.query == {"encoder": ("random:8",), "task": ["MR", "SUBJ"]}
    assert "bm25 can only order" in unable and none is None


def test_a_result_without_examples_is_not_tested(workspace: Workspace) -> None:
    """Its score is shown, without a difference; the other tasks are unharmed."""
    trained = {"predicted": np.arange(9.0), "gold": np.arange(9.0)}  # whose luck is not known
    for name in (A, B):
        put(workspace.store, name, "MRPC", 70.0, examples={})
        learned = {"examples": trained, "details": {"selected_by": "pearson"}}
        put(workspace.store, name, "SICKRelatedness", 70.0, **learned)
        recall = {"recall": np.arange(9.0)}
        put(workspace.store, name, "ImageCaptionRetrieval", 70.0, examples=recall)
    report = compare(workspace, [A, B])
    assert report.common == TASKS
    for task in ("MRPC", "SICKRelatedness", "ImageCaptionRetrieval"):
        assert (B, task) in report.cells and (B, task) not in report.verdicts
        (note,) = [caveat for caveat in report.caveats if f"on {task}" in caveat.text]
        assert f"{A}, {B}" in note.text and tests_of.UNTESTABLE in note.text and not note.link


def test_published_rows_have_names_for_lists() -> None:
    """Without commas, which stand between several."""
    first, other = "SimCSE-BERT-base / unsupervised / all", "SBERT-base / supervised / transfer"
    assert not [key for key in references() if "," in key]
    for given in ([f"{first},{other}"], [f"{first}, {other}"], [first, other]):
        assert CompareSpec([A, B], published=given).published == (first, other)
    with refused("unknown", "'SBERT'", " / unsupervised / all"):
        CompareSpec([A, B], published=["SBERT"])


def test_a_trained_regressor_is_never_taken_for_a_cosine(workspace: Workspace) -> None:
    """Each protocol's own row says which it is; a printed cosine is not set beside the other."""
    gold = np.random.default_rng(0).uniform(0, 5, 50)
    cosine = {"cosine": gold[::-1], "gold": gold, "part": np.zeros(50, np.int16)}
    trained = {"predicted": gold[::-1], "gold": gold}
    printed = ["SimCSE-BERT-base / unsupervised / all"]
    for protocol, metric, examples, details in (
        ("simcse-2021", "spearman", cosine, {"main_parts": [0]}),
        ("senteval", "pearson", trained, {"selected_by": "pearson"}),
    ):
        more = {"metric": metric, "examples": examples, "details": details}
        for name in (A, B):
            put(workspace.store, name, "STSBenchmark", 60.0, protocol, **more)
        report = compare(workspace, [A, B], ["STSBenchmark"], protocol, published=printed)
        (table,) = (str(one) for one in report.blocks() if isinstance(one, Table))
        learned = examples is trained
        assert ("learned, Pearson" in table, "76.85" in table) == (learned, not learned)


def test_shares_of_draws_are_not_right_or_wrong() -> None:
    """McNemar's test is for what is right or wrong; of ten draws, an example may be both."""
    values = {1: np.array([0.1, 1.0, 0.7]), 2: np.array([False, True, True])}
    rows = {number: ({}, {"correct": value}) for number, value in values.items()}
    found = tests_of.of_results("x/classify", rows)
    assert found[1].right is None and found[2].right is not None


# Whether the verdicts of a comparison can be trusted: the null check.


def checked(workspace: Workspace, pairs: int) -> null_check.NullRate:
    """The rate of one k-means, which a little noise leads to other clusters."""
    *_, last = null_check.null_check(
        workspace, "random:32", [("upload:own/cluster", "mteb-v1", 42)], pairs
    )
    (rate,) = last.rates
    return rate


def test_equal_encoders_are_not_told_apart(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the luck of k-means in the test; without it the check fails.

    Sentences of made-up words, of four labels that share half of them; with more noise than
    usual, so that few pairs tell.
    """
    rng, rows = np.random.default_rng(0), ["text,label"]
    for place in range(400):
        own = [f"w{place % 4}{word}" for word in rng.integers(0, 3, 3)]
        common = [f"c{word}" for word in rng.integers(0, 30, 3)]
        rows.append(f"{' '.join([*own, *common, str(place)])},topic {place % 4}")
    mapping = {"kind": "labels", "format": "csv", "columns": {"text": "text", "label": "label"}}
    content = "\n".join(rows).encode()
    workspace.store.uploads.add("own", "labels", content, mapping=mapping, filename="own.csv")
    monkeypatch.setattr(null_check, "NOISE", 0.1)
    rate = checked(workspace, 8)
    assert (rate.pairs, rate.test, rate.error, rate.holds) == (8, "bootstrap", None, True)
    monkeypatch.setattr(bootstrap, "_luck_of", lambda _: None)
    assert not checked(workspace, 8).holds


def test_the_bound_is_binomial() -> None:
    """Of 100 verdicts at 5 %, at most 11 are wrong in 99 of 100 cases (tables of the binomial)."""
    for wrong in (11, 12):
        rate = null_check.NullRate("Emotions", "p", "bootstrap", 100, wrong)
        assert (rate.most, rate.holds) == (11, wrong == 11)


def test_copies_have_noise_of_one_percent() -> None:
    """Equal sentences stay equal, every copy and call has noise of its own."""
    encoder, kept = load("random:64"), {}
    texts = ["one two", "three", "one two"]
    copies = [Noisy(encoder, 0.01, seed, kept) for seed in (0, 1)]
    first, again, second = (copy.encode(texts) for copy in (copies[0], *copies))
    np.testing.assert_array_equal(first[0], first[2])
    assert not np.array_equal(first, again) and not np.array_equal(first, second)
    plain = encoder.encode(texts)
    off = np.linalg.norm(first - plain, axis=1) / np.linalg.norm(plain, axis=1)
    assert np.all((off > 0.005) & (off < 0.015))


def test_what_cannot_be_checked_says_why(workspace: Workspace) -> None:
    """No difference to check, an error of the task, or a pair that takes too long."""
    with refused("no-result"):
        list(null_check.null_check(workspace, "random:32", []))
    for seconds, task, protocol in (
        (None, "upload:gone/cluster", "mteb-v1"),
        (-1, "StarterSTS", "simcse-2021"),
    ):
        measured = [(task, protocol, 0)]
        *_, last = null_check.null_check(workspace, "random:32", measured, seconds=seconds)
        (rate,) = last.rates
        assert rate.error and not rate.pairs


def test_the_command_shows_the_rates(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the baseline, on the tasks that are compared."""
    monkeypatch.setattr(null_check, "PAIRS", 2)
    evaluate_all(workspace, ("random:32", "random:64"), "StarterSearch")
    store = str(workspace.store.folder)
    command = ("compare", "random:32", "random:64", "--null-check", "--json", "--store", store)
    (row,) = objects(theodolite(*command))
    assert (row["task"], row["pairs"], row["holds"]) == ("StarterSearch", 2, True)
