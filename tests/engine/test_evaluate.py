"""evaluate: results in order, errors as values, progress, bad input, and memory."""

import importlib
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import psutil
import pytest
import torch

from tests.engine.datasets.test_catalog import Uploads
from tests.errors import refused
from tests.fakes import folder
from tests.fakes.encoders import BrokenEncoder, HashEncoder, NaNEncoder
from theodolite import engine
from theodolite.engine import evaluate, memory
from theodolite.engine.datasets import Catalog, Upload
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.encoders.functions import Batcher, FunctionEncoder, dotdict
from theodolite.engine.progress import Progress
from theodolite.engine.results import Result
from theodolite.engine.search import ranked
from theodolite.store.errors import StoreError

MODULE = importlib.import_module("theodolite.engine.evaluate")
"""By this name there is a function, too."""


@pytest.fixture
def year(tmp_path: Path) -> Path:
    """A SentEval folder with a small STS13."""
    lines = {"input": "{0} left {1}\t{0} right {1}\n", "gs": "{2}\n"}
    files = {
        f"STS.{kind}.{subset}.txt": "".join(line.format(subset, i, i % 6) for i in range(12))
        for kind, line in lines.items()
        for subset in ("FNWN", "headlines", "OnWN")
    }
    folder.files(tmp_path / "downstream" / "STS" / "STS13-en-test", files)
    return tmp_path


def one(encoder: HashEncoder, task: str, data: Path | None = None) -> Result:
    """The result of a single task."""
    (result,) = evaluate(encoder, [task], data=data)
    return result


def test_a_result_says_all_it_depends_on(year: Path) -> None:
    """Fingerprint, data, protocol, seed; and that the protocol was the task's own."""
    encoder = HashEncoder()
    result, data = one(encoder, "STS13", year), Catalog(year).load("STS13")
    assert encoder.calls == [72], "in one call, so that the encoder can sort and batch all of it"
    assert vars(result) == vars(result) | {
        "fingerprint": encoder.fingerprint,
        "data_hash": data.hash,
        "protocol": "simcse-2021",
        "seed": 1111,
        "dim": 16,
    }
    assert result.details["protocol_choice"] == "default of the task"
    assert result.seconds > 0 and sum(score.main for score in result.scores) == 1
    assert len(result.examples["cosine"]) == 36
    json.dumps([result.rows(), dict(result.details)], allow_nan=False)
    (given,) = evaluate(HashEncoder(), "STS13", protocol="simcse-2021", seed=7, data=year)
    assert (given.seed, given.details["protocol_choice"]) == (7, "asked for")
    assert given.scores == result.scores
    np.testing.assert_array_equal(given.examples["cosine"], result.examples["cosine"])


@pytest.mark.parametrize(
    ("tasks", "options", "code", "named"),
    [
        ("StarterSTS,nonsense", {}, "unknown", "nonsense"),
        ("StarterSTS", {"protocol": "nonsense"}, "unknown", "nonsense"),
        ("starter", {"seed": -1}, "invalid", -1),
        ("starter", {"seed": 2**32}, "invalid", 2**32),
    ],
)
def test_names_and_seeds_are_checked_before_anything_runs(
    tasks: str, options: dict, code: str, named: object
) -> None:
    with refused(code, named):
        evaluate(HashEncoder(), tasks, **options)


def test_missing_data_is_an_error_of_that_task_only(year: Path) -> None:
    """STS16 is a task whose files are not there: the next task still runs."""
    missing, present = evaluate(HashEncoder(), ["STS16", "STS13"], data=year)
    assert "STS16" in (missing.error or "") and missing.hint
    assert (missing.scores, present.error) == ((), None)
    (other,) = evaluate(HashEncoder(), "StarterTopics", protocol="simcse-2021")
    assert "simcse-2021" in (other.error or "") and "starter-1" in other.hint
    with pytest.raises(ValueError, match="no score"):
        _ = missing.main


def test_a_failing_task_prints_nothing() -> None:
    """Its traceback is for whoever listens to the log of `engine`."""
    code = (
        "from theodolite.engine import evaluate\n"
        "from tests.fakes.encoders import BrokenEncoder\n"
        "print([result.error is None for result in evaluate(BrokenEncoder(), 'StarterSTS')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[False]\n", "")


def test_a_full_disk_is_told_in_the_caches_own_words(year: Path) -> None:
    """A durable cache is not of the engine, yet what it says to people reaches them."""
    full = HashEncoder()
    full.encode = Mock(side_effect=StoreError("No space is left.", "Free some space."))
    result = one(full, "STS13", year)
    assert (result.error, result.hint) == ("No space is left.", "Free some space.")


def test_progress_counts_sentences_and_can_stop(
    year: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pause in the callback is no part of the time, and what it raises reaches the caller."""
    seen: list[tuple[int, int]] = []
    clock = [0.0]
    monkeypatch.setattr(MODULE.time, "perf_counter", lambda: clock[0])

    def pause(*at: int) -> None:
        seen.append(at)
        clock[0] += 100.0

    (result,) = evaluate(HashEncoder(), "STS13", data=year, progress=pause)
    assert (seen[0], seen[-1], result.seconds) == ((0, 72), (72, 72), 0.0)

    stop = Mock(side_effect=RuntimeError("cancelled"))
    with pytest.raises(RuntimeError, match="cancelled"):
        list(evaluate(HashEncoder(), "STS13", data=year, progress=stop))


def test_only_what_is_needed_is_encoded(tmp_path: Path) -> None:
    """Of labelled sentences those drawn from train and the test split; of a bitext one split."""
    rows = "".join(f"sentence {i},label {i % 2}\n" for i in range(600))
    files = {
        "train.csv": "text,category\n" + rows,
        "test.csv": "text,category\nsentence x,label 0\nsentence y,label 1\n",
    }
    folder.files(tmp_path / "mteb" / "classification" / "banking77", files)
    encoder = HashEncoder()
    assert one(encoder, "banking77/few-shot", tmp_path).error is None
    assert 2 + 16 <= sum(encoder.calls) <= 2 + 10 * 16


def test_steps_fitted_on_the_task(year: Path) -> None:
    """`center:@task` is completed with the task's hash: another fingerprint on each task."""
    encoder = engine.load("random:32 | center:@task")
    years = list(evaluate(encoder, "STS13,StarterSTS", data=year))
    assert [result.error for result in years] == [None, None]
    assert len({encoder.fingerprint, *(result.fingerprint for result in years)}) == 3


# --- what people give by mistake ---


GOOD = "SubjNumber"
Files = dict[str, list[str] | bytes]
"""File -> its lines."""


@pytest.fixture
def probing(tmp_path: Path) -> Path:
    """A data folder whose probing task SubjNumber is as it should be."""
    marks = ["tr"] * 20 + ["va"] * 6 + ["te"] * 6
    rows = [f"{mark}\t{('NN', 'NNS')[i % 2]}\tsentence {i}" for i, mark in enumerate(marks)]
    return put(tmp_path, {"probing/subj_number.txt": rows})


def put(root: Path, files: Files) -> Path:
    texts = {k: v if isinstance(v, bytes) else "\n".join([*v, ""]) for k, v in files.items()}
    return folder.files(root, texts)


def mrpc(**splits: list[str]) -> Files:
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
            {"probing_multilingual/ru/voice.txt": UNKNOWN_MARK},
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
def test_files(probing: Path, files: Files, task: str, says: tuple[str, ...]) -> None:
    """The bad task stands between two good ones."""
    tasks = [GOOD, task, "StarterSTS"]
    found = list(evaluate(HashEncoder(), tasks, data=Catalog(put(probing, files))))
    assert [r.task for r in found] == tasks
    assert [r.error for r in (found[0], found[2])] == [None, None], "the others are unharmed"
    assert found[1].scores == ()
    assert_told(found[1], *says)
    assert not str(found[1].error).startswith("MR/rt-polarity.pos")


def test_no_file_at_all(probing: Path) -> None:
    """The folder where they belong."""
    (probing / "downstream").mkdir()
    names = ["MR", "SNLI", "SST2", "STS12", "ImageCaptionRetrieval"]
    for result in evaluate(HashEncoder(), names, data=Catalog(probing)):
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


def zeros(params: object, batch: list[list[str]]) -> np.ndarray:
    """Knows no word."""
    return np.zeros((len(batch), 4))


def odd(params: object, batch: list[list[str]]) -> np.ndarray:
    """Does not know sentences with an even number."""
    return np.array([[words[-1][-1] not in "02468"] * 4 for words in batch], float)


def growing(*few: str) -> Batcher:
    """Gives 4 dimensions to batches that begin with one of these words or a full stop, then 5."""
    return lambda params, batch: np.ones((len(batch), 4 if batch[0][-1] in (".", *few) else 5))


@pytest.mark.parametrize(
    ("encoder", "says"),
    [
        (NaNEncoder(), ("4 of 32 sentences", "'sentence 0'")),
        (FunctionEncoder(None, zeros), ("zero vector", "32 sentences")),
        # A dimension that changes between two batches, and after the sentences that tell it.
        (
            FunctionEncoder(None, growing("0"), "growing", dotdict(batch_size=10)),
            ("growing gave 5 dimensions after 4",),
        ),
        (FunctionEncoder(None, growing()), ("(32, 5) for 32 sentences; expected (32, 4)",)),
    ],
)
def test_vectors_that_nothing_can_be_computed_from(
    probing: Path, encoder: Encoder, says: tuple[str, ...]
) -> None:
    """How many, and the first of them."""
    (result,) = evaluate(encoder, GOOD, data=Catalog(probing))
    assert_told(result, *says)


def test_some_zero_vectors_are_measured_and_noted(probing: Path) -> None:
    """A sentence of unknown words is no fault of the run, but worth knowing."""
    note = "16 of 32 sentences have a zero vector, the first being 'sentence 0'."
    for encoder, notes in ((FunctionEncoder(None, odd), [note]), (HashEncoder(), [])):
        (result,) = evaluate(encoder, GOOD, data=Catalog(probing))
        assert (result.error, result.details["notes"]) == (None, notes)


def test_an_encoder_that_fails_fails_its_task_alone(probing: Path) -> None:
    """Whether its first call fails or a later."""
    broken = BrokenEncoder()

    def later(params: object, batch: list[list[str]]) -> np.ndarray:
        return broken.encode(batch) if len(batch) > 3 else np.ones((len(batch), 2))

    for encoder in (broken, FunctionEncoder(None, later)):
        for result in evaluate(encoder, [GOOD, "StarterSTS"], data=Catalog(probing)):
            assert (result.error, bool(result.hint), result.scores) == (
                "RuntimeError: CUDA error: device-side assert triggered",
                True,
                (),
            )


# --- more vectors than memory should hold ---


ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel for its count")
MIB = 2**20
WORDS = (
    "river garden silver engine winter bridge captain island forest castle planet violin".split()
)


def write_corpus(root: Path, documents: int, queries: int) -> None:
    """Passages of a few words, each with its number; a query is the text of one of them."""
    rng = random.Random(0)
    texts = [f"{' '.join(rng.choices(WORDS, k=8))} {i}" for i in range(documents)]
    wanted = rng.sample(range(documents), queries)
    lines = {
        "corpus.jsonl": [json.dumps({"_id": f"d{i}", "text": t}) for i, t in enumerate(texts)],
        "queries.jsonl": [json.dumps({"_id": f"q{i}", "text": texts[i]}) for i in wanted],
        "qrels/test.tsv": ["query-id\tcorpus-id\tscore", *(f"q{i}\td{i}\t1" for i in wanted)],
    }
    files = {name: "\n".join(some) for name, some in lines.items()}
    folder.files(root / "mteb" / "retrieval" / "large", files)


def own_memory(process: psutil.Process) -> int:
    """Bytes of memory that no file backs."""
    taken = process.memory_info()
    return int(taken.rss - taken.shared)


class WideEncoder(HashEncoder):
    """Gives wide vectors as fast as memory can be written, by the number that ends a text."""

    def __init__(self) -> None:
        super().__init__(1024)
        self._table = np.random.default_rng(0).normal(size=(2, 257, self.dim)).astype(np.float32)

    def encode(self, sentences: list[str], progress: Progress | None = None) -> np.ndarray:
        """Return float32 (n, dim)."""
        numbers = np.array([int(text.rpartition(" ")[2]) for text in sentences])
        first, second = np.divmod(numbers, 257)
        return np.asarray(self._table[0][first % 257] + self._table[1][second])


@ON_LINUX
def test_vectors_beyond_the_limit_are_never_in_memory_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a limit of 16 MiB, 117 MiB of vectors are encoded and searched in a third of that."""
    monkeypatch.setattr(MODULE, "_MAX_BYTES", 16 * MIB)
    monkeypatch.setattr(MODULE, "_PIECE", 1024)
    monkeypatch.setattr(ranked, "_DOCUMENTS", 1024)
    write_corpus(tmp_path, 30_000, 20)
    encoder, process = WideEncoder(), psutil.Process()
    (warm,) = evaluate(encoder, ["large"], data=tmp_path)  # imports and the texts
    assert warm.error is None, warm.error
    seen: list[int] = []
    before = own_memory(process)
    (result,) = evaluate(
        encoder,
        ["large"],
        data=tmp_path,
        progress=lambda done, total: seen.append(own_memory(process) - before),
    )
    assert result.error is None, result.error
    assert result.main.score == pytest.approx(100)
    assert len(seen) > 30
    assert max(seen) < 4 * encoder.dim * 30_000 / 3


@ON_LINUX
@pytest.mark.long
def test_a_million_passages(tmp_path: Path) -> None:
    """By the command, vectors kept: less memory than the program and the vectors would take."""
    write_corpus(tmp_path / "data", 1_000_000, 1000)
    where = ("--data", str(tmp_path / "data"), "--store", str(tmp_path / "store"))
    command = ["evaluate", "wordllama", "--tasks", "large", *where, "--json"]
    running = subprocess.Popen(
        [sys.executable, "-m", "theodolite.app", *command], stdout=subprocess.PIPE, text=True
    )
    peak = max(_while(running), default=0)
    assert running.returncode == 0
    out = running.stdout.read()
    (main,) = [row for row in map(json.loads, out.splitlines()) if row.get("main")]
    assert main["score"] > 50
    assert peak < 1300 * MIB, f"{peak / MIB:.0f} MiB; 1,000 are of the vectors"


def _while(running: subprocess.Popen[str]) -> Iterator[int]:
    """What a program and what it has started take, until it has ended."""
    while running.poll() is None:
        first = psutil.Process(running.pid)
        with suppress(psutil.NoSuchProcess):  # one has just ended
            yield sum(map(own_memory, (first, *first.children(recursive=True))))
        time.sleep(0.1)


# --- memory that was freed ---


@ON_LINUX
def test_the_holes_between_tensors_go_back() -> None:
    """A hundred large tensors, each before a smaller one that stays, so that holes are left."""
    torch.ones(30 * MIB // 4)  # freed at once: glibc then puts tensors of such sizes into its heap
    sizes = [MIB + 4096 * i for i in range(100)]
    large, small = [], []
    for size in sizes:
        large.append(torch.ones(size // 4))
        small.append(torch.ones(MIB // 8))
    large.clear()
    before = psutil.Process().memory_info().rss
    memory.empty_cache(torch.device("cpu"))
    assert before - psutil.Process().memory_info().rss > sum(sizes) // 2
    assert all(bool((kept == 1).all()) for kept in small)
