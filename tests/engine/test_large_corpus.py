"""A corpus whose vectors are more than memory should hold: they are on disk, and so is the test.

What counts is memory that only this process has: pages of a file that is mapped can be dropped.
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.engine.test_evaluate import MODULE
from tests.fakes import folder
from tests.fakes.encoders import HashEncoder
from theodolite.engine import evaluate
from theodolite.engine.progress import Progress
from theodolite.engine.search import ranked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel for its count")
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


def own_memory(*processes: psutil.Process) -> int:
    """Bytes of memory that no file backs."""
    total = 0
    for process in processes:
        with suppress(psutil.NoSuchProcess):  # it has just ended
            memory = process.memory_info()
            total += memory.rss - memory.shared
    return total


class WideEncoder(HashEncoder):
    """Gives wide vectors as fast as memory can be written, by the number that ends a text."""

    def __init__(self) -> None:
        super().__init__(1024)
        self._table = np.random.default_rng(0).normal(size=(2, 257, self.dim)).astype(np.float32)

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return float32 (n, dim)."""
        numbers = np.array([int(text.rpartition(" ")[2]) for text in sentences])
        first, second = np.divmod(numbers, 257)
        return np.asarray(self._table[0][first % 257] + self._table[1][second])


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
    out = running.stdout.read() if running.stdout else ""
    (main,) = [row for row in map(json.loads, out.splitlines()) if row.get("main")]
    assert main["score"] > 50
    assert peak < 1300 * MIB, f"{peak / MIB:.0f} MiB; 1,000 are of the vectors"


def _while(running: subprocess.Popen[str]) -> Iterator[int]:
    """What a program and what it has started take, until it has ended."""
    while running.poll() is None:
        family = psutil.Process(running.pid)
        yield own_memory(family, *family.children(recursive=True))
        time.sleep(0.1)
