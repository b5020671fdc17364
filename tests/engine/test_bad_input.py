"""What people give by mistake: each is one clear sentence, and the other tasks go on.

Every case is a real folder with one good task, measured by `evaluate` from its files to its
results. Where a file is at fault, the sentence names it, and the line where there is one.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.engine.datasets.test_catalog import Uploads
from tests.fakes import folder as folders
from tests.fakes.encoders import BrokenEncoder, HashEncoder, NaNEncoder, ShrinkingEncoder
from theodolite.engine import evaluate
from theodolite.engine.datasets import Catalog, Upload
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.encoders.functions import Batcher, FunctionEncoder, dotdict
from theodolite.engine.progress import Progress
from theodolite.engine.results import Result

GOOD = "SubjNumber"
Files = dict[str, list[str] | bytes]
"""File -> its lines."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder whose probing task SubjNumber is as it should be."""
    marks = ["tr"] * 20 + ["va"] * 6 + ["te"] * 6
    rows = [f"{mark}\t{('NN', 'NNS')[i % 2]}\tsentence {i}" for i, mark in enumerate(marks)]
    return put(tmp_path, {"probing/subj_number.txt": rows})


def put(root: Path, files: Files) -> Path:
    texts = {k: v if isinstance(v, bytes) else "\n".join([*v, ""]) for k, v in files.items()}
    return folders.files(root, texts)


def mrpc(**splits: Sequence[str]) -> Files:
    """Splits of MRPC with these labels."""
    return {
        f"downstream/MRPC/msr_paraphrase_{split}.txt": [
            "Quality\ta\tb\tc\td",
            *(f"{y}\t1\t2\tleft {i}\tright {i}" for i, y in enumerate(labels)),
        ]
        for split, labels in splits.items()
    }


def binary(positive: int, negative: int) -> Files:
    """MR with so many sentences."""
    return {
        "downstream/MR/rt-polarity.pos": [f"good {i}" for i in range(positive)],
        "downstream/MR/rt-polarity.neg": [f"bad {i}" for i in range(negative)],
    }


def marked(*marks: str) -> list[str]:
    """Lines of probing with these splits, of two classes."""
    return [f"{mark}\t{'ab'[i % 2]}\ts {i}" for i, mark in enumerate(marks)]


def assert_told(result: Result, *says: str) -> None:
    """One sentence with all of it, something to do about it, and no word of a programmer."""
    assert result.error is not None and result.hint
    assert [piece for piece in says if piece not in result.error] == []
    assert not any(word in result.error for word in ("Error", "Traceback", "None", "array("))


TENSE, DEPTH = "probing/past_present.txt", "probing/tree_depth.txt"
VOICE = "probing_multilingual/ru/voice.txt"
TRAIN, TEST = "MRPC/msr_paraphrase_train.txt", "MRPC/msr_paraphrase_test.txt"
UNKNOWN_MARK = ["tr\tx\ta", "va\tx\tb", "dev\ty\tc"]


@pytest.mark.parametrize(
    ("files", "task", "says"),
    [
        ({TENSE: ["tr\tPAST\ta b", "va\tPAST\tc", "te\tPAST\td"]}, "Tense", (TENSE, "'PAST'")),
        (binary(30, 0), "MR", ("MR/rt-polarity.neg contains no row",)),
        # Fewer examples than folds: which label, how many, where it begins.
        (
            binary(30, 4),
            "MR",
            ("4 training examples of 'negative'", "the 10 folds", "MR/rt-polarity.neg, line 1"),
        ),
        (
            mrpc(train=["1"] * 20 + ["0"] * 3, test=["1", "0"]),
            "MRPC",
            ("3 training examples of '0'", f"{TRAIN}, line 22"),
        ),
        # A label that training lacks: the first line that has it.
        (
            {DEPTH: ["tr\t5\ta b", "tr\t6\tb", "va\t5\tc", "te\t5\td", "te\t9\te"]},
            "Depth",
            (f"{DEPTH}, line 5 has the label '9'",),
        ),
        (
            mrpc(train=["1", "0"] * 12, test=["1", "0", "2"]),
            "MRPC",
            (f"{TEST}, line 4 has the label '2'",),
        ),
        # An empty cell is no class of its own.
        ({DEPTH: ["tr\t5\ta b", "tr\t6\tb", "va\t\tno label"]}, "Depth", (f"{DEPTH}, line 3",)),
        ({DEPTH: ["tr\t5\ta b", "tr\t6\tb", "va\t \tno label"]}, "Depth", (f"{DEPTH}, line 3",)),
        # A split that is not there: which there are.
        ({TENSE: marked("tr", "tr", "va", "va")}, "Tense", (TENSE, "train, dev.")),
        ({TENSE: marked("va", "va", "te", "te")}, "Tense", (TENSE, "dev, test.")),
        ({TENSE: marked("tr", "tr", "tr", "tr")}, "Tense", (TENSE, "splits train.")),
        ({TENSE: UNKNOWN_MARK}, "Tense", (f"{TENSE}, line 3",)),
        (
            {VOICE: UNKNOWN_MARK},
            "probing_multilingual/ru/voice/probe",
            ("ru/voice.txt, line 3",),
        ),
        ({TENSE: ["tr\tx\ta", "va x b"]}, "Tense", (f"{TENSE}, line 2",)),
        (
            {f"downstream/{TRAIN}": ["Quality\ta\tb\tc\td", "1\tonly"], f"downstream/{TEST}": []},
            "MRPC",
            (f"{TRAIN}, line 2",),
        ),
        (mrpc(train=["1", "0"] * 12), "MRPC", (f"{TEST} is missing",)),
        (
            {TENSE: b"tr\tx\ta\nva\ty\tcaf\xe9\n"},
            "Tense",
            (f"{TENSE} is not UTF-8: line 2, byte 9",),
        ),
    ],
)
def test_files(folder: Path, files: Files, task: str, says: tuple[str, ...]) -> None:
    """The bad task stands between two good ones."""
    tasks = [GOOD, task, "StarterSTS"]
    found = list(evaluate(HashEncoder(), tasks, data=Catalog(put(folder, files))))
    assert [r.task for r in found] == tasks
    assert [r.error for r in (found[0], found[2])] == [None, None], "the others are unharmed"
    assert found[1].scores == ()
    assert_told(found[1], *says)
    assert not str(found[1].error).startswith("MR/rt-polarity.pos")


def test_no_file_at_all(folder: Path) -> None:
    """The folder where they belong."""
    (folder / "downstream").mkdir()
    names = ["MR", "SNLI", "SST2", "STS12", "ImageCaptionRetrieval"]
    for result in evaluate(HashEncoder(), names, data=Catalog(folder)):
        assert_told(result, "There is no data set named")
        assert "downstream/" in result.hint, result.task


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["a b,x,train", "c,,test"], ("mine.csv", "line 3")),
        (["a b,x,train", "c,y,test"], ("upload:mine, row 2 has the label 'y'",)),
        (["a b,x,train", "c,x,dev", "d,x,test"], ("upload:mine", "'x'")),
        (["a b,x,train", "c,y,train", "d,y,train", "e,y,test"], ("of 'x'", "mine, row 1")),
    ],
)
def test_a_table_of_ones_own(tmp_path: Path, rows: list[str], says: tuple[str, ...]) -> None:
    """Row numbers as a table has them."""
    put(tmp_path, {"mine.csv": ["text,label,split", *rows]})
    columns = {role: role for role in ("text", "label", "split")}
    mine = Upload(tmp_path / "mine.csv", "mine.csv", {"kind": "labels", "columns": columns})
    names = ["upload:mine/probe", "StarterSTS"]
    bad, good = evaluate(HashEncoder(), names, data=Catalog(uploads=Uploads(mine=mine)))
    assert good.error is None
    assert_told(bad, *says)


# --- encoders --------------------------------------------------------------------------------


class Zeros(HashEncoder):
    """Knows no word, or does not know sentences with an even number."""

    def __init__(self, every: bool) -> None:
        super().__init__()
        self._every = every

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return float32 (n, dim) with rows of zeros."""
        vectors = super().encode(sentences, progress)
        vectors[np.array([self._every or s[-1] in "02468" for s in sentences])] = 0.0
        return vectors


class Flat(HashEncoder):
    """Forgets that there is one vector a sentence."""

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return float32 (n * dim,)."""
        return super().encode(sentences, progress).reshape(-1)


def growing(*few: str) -> Batcher:
    """Gives 4 dimensions to batches that begin with one of these words or a full stop, then 5."""
    return lambda params, batch: np.ones((len(batch), 4 if batch[0][-1] in (".", *few) else 5))


@pytest.mark.parametrize(
    ("encoder", "says"),
    [
        (NaNEncoder(), ("4 of 32 sentences", "'sentence 0'")),
        (Zeros(every=True), ("zero vector", "32 sentences")),
        (ShrinkingEncoder(), ("(32, 15)", "(32, 16)")),
        (Flat(), ("(512,)", "32 sentences")),
        # A dimension that changes between two batches, and after the sentences that tell it.
        (
            FunctionEncoder(None, growing("0"), "growing", dotdict(batch_size=10)),
            ("growing gave 5 dimensions after 4",),
        ),
        (FunctionEncoder(None, growing()), ("(32, 5) for 32 sentences; expected (32, 4)",)),
    ],
)
def test_vectors_that_nothing_can_be_computed_from(
    folder: Path, encoder: Encoder, says: tuple[str, ...]
) -> None:
    """How many, and the first of them."""
    (result,) = evaluate(encoder, GOOD, data=Catalog(folder))
    assert_told(result, *says)


def test_some_zero_vectors_are_measured_and_noted(folder: Path) -> None:
    """A sentence of unknown words is no fault of the run, but worth knowing."""
    note = "16 of 32 sentences have a zero vector, the first being 'sentence 0'."
    for encoder, notes in ((Zeros(every=False), [note]), (HashEncoder(), [])):
        (result,) = evaluate(encoder, GOOD, data=Catalog(folder))
        assert (result.error, result.details["notes"]) == (None, notes)


def test_an_encoder_that_fails_fails_its_task_alone(folder: Path) -> None:
    """Whether its first call fails or a later."""
    broken = BrokenEncoder()

    def later(params: object, batch: list[list[str]]) -> np.ndarray:
        return broken.encode(batch) if len(batch) > 3 else np.ones((len(batch), 2))

    def at_once(params: object, batch: list[list[str]]) -> np.ndarray:
        return broken.encode(batch)

    for encoder in (broken, FunctionEncoder(None, later), FunctionEncoder(None, at_once)):
        for result in evaluate(encoder, [GOOD, "StarterSTS"], data=Catalog(folder)):
            assert result.error == "RuntimeError: CUDA error: device-side assert triggered"
            assert (bool(result.hint), result.scores) == (True, ())
