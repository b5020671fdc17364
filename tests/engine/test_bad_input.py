"""What people give by mistake: each is one clear sentence, and the other tasks go on.

Every case is a real folder with one good task, measured by `evaluate` from its files to its
results. Where a file is at fault, the sentence names it, and the line where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.encoders import BrokenEncoder, HashEncoder, NaNEncoder, ShrinkingEncoder
from theodolite.engine import evaluate
from theodolite.engine.datasets import Catalog, Upload
from theodolite.engine.encoders.functions import FunctionEncoder
from theodolite.engine.progress import Progress
from theodolite.engine.results import Result

GOOD = "SubjNumber"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder whose probing task SubjNumber is as it should be."""
    marks = ["tr"] * 20 + ["va"] * 6 + ["te"] * 6
    rows = [f"{mark}\t{('NN', 'NNS')[i % 2]}\tsentence {i}" for i, mark in enumerate(marks)]
    return put(tmp_path, "probing/subj_number.txt", rows)


def put(root: Path, name: str, lines: Sequence[str]) -> Path:
    """Write a file of the folder, return the folder."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return root


def pairs(root: Path, labels: Sequence[str], split: str = "train") -> Path:
    """Write a split of MRPC."""
    rows = [f"{y}\t1\t2\tleft {i}\tright {i}" for i, y in enumerate(labels)]
    return put(root, f"downstream/MRPC/msr_paraphrase_{split}.txt", ["Quality\ta\tb\tc\td", *rows])


def binary(root: Path, positive: int, negative: int) -> Path:
    """Write MR."""
    put(root, "downstream/MR/rt-polarity.pos", [f"good {i}" for i in range(positive)])
    return put(root, "downstream/MR/rt-polarity.neg", [f"bad {i}" for i in range(negative)])


def run(folder: Path, bad: str, encoder: HashEncoder | None = None) -> Result:
    """Measure the bad task between two good ones; return its result."""
    catalog = Catalog(folder)
    found = list(evaluate(encoder or HashEncoder(), [GOOD, bad, "StarterSTS"], data=catalog))
    assert [r.task for r in found] == [GOOD, bad, "StarterSTS"]
    assert [r.error for r in (found[0], found[2])] == [None, None], "the others are unharmed"
    assert found[1].scores == ()
    return found[1]


def assert_told(result: Result, *says: str) -> None:
    """One sentence with all of it, something to do about it, and no word of a programmer."""
    assert result.error is not None
    for piece in says:
        assert piece in result.error
    assert result.hint
    assert not any(word in result.error for word in ("Error", "Traceback", "None", "array("))


def test_one_class(folder: Path) -> None:
    """The file whose every line has the same label."""
    put(folder, "probing/past_present.txt", ["tr\tPAST\ta b", "va\tPAST\tc", "te\tPAST\td"])
    assert_told(run(folder, "Tense"), "probing/past_present.txt", "single label, 'PAST'")


def test_one_class_among_files_of_a_class_each(folder: Path) -> None:
    """The file that is empty is named, not the one that is full."""
    result = run(binary(folder, 30, 0), "MR")
    assert_told(result, "MR/rt-polarity.neg contains no labelled sentence")
    assert ".pos" not in str(result.error)


def test_fewer_examples_than_folds(folder: Path) -> None:
    """Nested folds, and folds of a training split: which label, how many, where it begins."""
    output = run(binary(folder, 30, 4), "MR")
    assert_told(
        output,
        "4 training examples of 'negative', fewer than the 10 folds",
        "MR/rt-polarity.neg, line 1",
    )
    pairs(pairs(folder, ["1"] * 20 + ["0"] * 3), ["1", "0"], "test")
    output = run(folder, "MRPC")
    assert_told(output, "3 training examples of '0'", "MRPC/msr_paraphrase_train.txt, line 22")


def test_a_label_that_training_lacks(folder: Path) -> None:
    """In dev or test: file and line of the first."""
    put(
        folder,
        "probing/tree_depth.txt",
        ["tr\t5\ta b", "tr\t6\tb", "va\t5\tc", "te\t5\td", "te\t9\te"],
    )
    assert_told(run(folder, "Depth"), "probing/tree_depth.txt, line 5 has the label '9'")
    pairs(pairs(folder, ["1", "0"] * 12), ["1", "0", "2"], "test")
    assert_told(run(folder, "MRPC"), "MRPC/msr_paraphrase_test.txt, line 4 has the label '2'")


@pytest.mark.parametrize("row", ["va\t\tno label", "va\t \tno label"])
def test_a_line_without_a_label(folder: Path, row: str) -> None:
    """An empty cell is no class of its own."""
    put(folder, "probing/tree_depth.txt", ["tr\t5\ta b", "tr\t6\tb", row, "te\t5\td"])
    assert_told(run(folder, "Depth"), "probing/tree_depth.txt, line 3 has no label")


@pytest.mark.parametrize(
    ("marks", "says"),
    [
        (["tr", "tr", "va", "va"], "has the splits train, dev."),
        (["va", "va", "te", "te"], "has the splits dev, test."),
        (["tr", "tr", "tr", "tr"], "has the splits train."),
    ],
)
def test_a_split_that_is_not_there(folder: Path, marks: list[str], says: str) -> None:
    """The file, and which splits it has."""
    put(
        folder,
        "probing/past_present.txt",
        [f"{mark}\t{'ab'[i % 2]}\ts {i}" for i, mark in enumerate(marks)],
    )
    assert_told(run(folder, "Tense"), "probing/past_present.txt", says)


def test_an_unknown_split_mark(folder: Path) -> None:
    """File and line, in any language's folder as well."""
    rows = ["tr\tx\ta", "va\tx\tb", "dev\ty\tc"]
    put(folder, "probing/past_present.txt", rows)
    put(folder, "probing_multilingual/ru/voice.txt", rows)
    assert_told(run(folder, "Tense"), "probing/past_present.txt, line 3 begins with 'dev'")
    output = run(folder, "probing_multilingual/ru/voice/probe")
    assert_told(output, "ru/voice.txt, line 3 begins with 'dev'")


def test_a_line_with_too_few_columns(folder: Path) -> None:
    """Of any task: file and line."""
    put(folder, "probing/past_present.txt", ["tr\tx\ta", "va x b"])
    assert_told(run(folder, "Tense"), "probing/past_present.txt, line 2")
    put(folder, "downstream/MRPC/msr_paraphrase_train.txt", ["Quality\ta\tb\tc\td", "1\tonly"])
    put(folder, "downstream/MRPC/msr_paraphrase_test.txt", ["Quality\ta\tb\tc\td"])
    assert_told(run(folder, "MRPC"), "MRPC/msr_paraphrase_train.txt, line 2")


def test_a_file_that_is_not_there(folder: Path) -> None:
    """One of the files of a task."""
    pairs(folder, ["1", "0"] * 12)
    assert_told(run(folder, "MRPC"), "MRPC/msr_paraphrase_test.txt is missing")


def test_no_file_at_all(folder: Path) -> None:
    """The folder where they belong."""
    (folder / "downstream").mkdir()
    for task in ("MR", "SNLI", "SST2", "STS12", "ImageCaptionRetrieval"):
        output = run(folder, task)
        assert_told(output, "There is no data set named")
        assert "downstream/" in output.hint, task


def test_bytes_that_are_no_text(folder: Path) -> None:
    """File, line, byte."""
    (folder / "probing" / "past_present.txt").write_bytes(b"tr\tx\ta\nva\ty\tcaf\xe9\n")
    output = run(folder, "Tense")
    assert output.error is not None
    assert "probing/past_present.txt is not UTF-8: line 2, byte 9" in output.error


class Uploads:
    """One upload of labelled sentences."""

    def __init__(self, path: Path) -> None:
        columns = {"text": "text", "label": "label", "split": "split"}
        self._upload = Upload(path, "mine.csv", {"kind": "labels", "columns": columns})

    def names(self) -> list[str]:
        """Its name."""
        return ["mine"]

    def get(self, name: str) -> Upload:
        """The upload."""
        return self._upload


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["a b,x,train", "c,,test"], ("mine.csv", "The label is missing: line 3")),
        (["a b,x,train", "c,y,test"], ("upload:mine, row 2 has the label 'y'",)),
        (["a b,x,train", "c,x,dev", "d,x,test"], ("upload:mine has a single label, 'x'",)),
        (["a b,x,train", "c,y,train", "d,y,train", "e,y,test"], ("of 'x'", "mine, row 1")),
    ],
)
def test_a_table_of_ones_own(tmp_path: Path, rows: list[str], says: tuple[str, ...]) -> None:
    """Row numbers as a table has them."""
    put(tmp_path, "mine.csv", ["text,label,split", *rows])
    catalog = Catalog(uploads=Uploads(tmp_path / "mine.csv"))
    names = ["upload:mine/probe", "StarterSTS"]
    bad, good = evaluate(HashEncoder(), names, data=catalog)
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
        zero = [self._every or s[-1] in "02468" for s in sentences]
        vectors[np.array(zero)] = 0.0
        return vectors


class Flat(HashEncoder):
    """Forgets that there is one vector a sentence."""

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return float32 (n * dim,)."""
        return super().encode(sentences, progress).reshape(-1)


@pytest.mark.parametrize(
    ("encoder", "says"),
    [
        (NaNEncoder(), "NaN or infinity for 4 of 32 sentences, the first being 'sentence 0'"),
        (Zeros(every=True), "a zero vector for every one of 32 sentences"),
        (ShrinkingEncoder(), "vectors of shape (32, 15) for 32 sentences; expected (32, 16)"),
        (Flat(), "vectors of shape (512,) for 32 sentences"),
    ],
)
def test_vectors_that_nothing_can_be_computed_from(
    folder: Path, encoder: HashEncoder, says: str
) -> None:
    """How many, and the first of them."""
    (result,) = evaluate(encoder, GOOD, data=Catalog(folder))
    assert_told(result, says)


def test_some_zero_vectors_are_measured_and_noted(folder: Path) -> None:
    """A sentence of unknown words is no fault of the run, but worth knowing."""
    (result,) = evaluate(Zeros(every=False), GOOD, data=Catalog(folder))
    assert result.error is None
    assert result.details["notes"] == [
        "16 of 32 sentences have a zero vector, the first being 'sentence 0'."
    ]
    (clean,) = evaluate(HashEncoder(), GOOD, data=Catalog(folder))
    assert clean.details["notes"] == []


def test_a_dimension_that_changes_between_calls(folder: Path) -> None:
    """Between two batches of one task, and between two tasks."""
    seen: list[int] = []

    def growing(params: object, batch: list[list[str]]) -> np.ndarray:
        seen.append(len(batch))
        return np.ones((len(batch), 4 if len(seen) < 3 else 5))

    encoder = FunctionEncoder(None, growing, "growing")
    encoder.params.batch_size = 10
    (result,) = evaluate(encoder, GOOD, data=Catalog(folder))
    assert_told(result, "The batcher of growing gave 5 dimensions after 4 before")
    again = FunctionEncoder(None, growing, "grown")
    seen.clear()
    assert again.dim == 4
    (result,) = evaluate(again, GOOD, data=Catalog(folder))
    seen += [1, 1]
    (result,) = evaluate(again, GOOD, data=Catalog(folder))
    assert_told(result, "(32, 5) for 32 sentences; expected (32, 4)")


def test_an_encoder_that_fails_fails_its_task_alone(folder: Path) -> None:
    """Another encoder measures the same tasks after it."""
    bad = list(evaluate(BrokenEncoder(), [GOOD, "StarterSTS"], data=Catalog(folder)))
    assert [r.error is None for r in bad] == [False, False]
    assert str(bad[0].error).startswith("RuntimeError: CUDA error")
    good = list(evaluate(HashEncoder(), [GOOD, "StarterSTS"], data=Catalog(folder)))
    assert [r.error for r in good] == [None, None]
