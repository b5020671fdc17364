"""The cost of an encoder on this machine, measured: speed by length, latency, loading, memory.

Runs as a process of its own (`python -m theodolite.engine.cost SPEC`), so that the
libraries and memory measured are the encoder's alone; it prints one JSON object. Nothing is cached,
and no sentence is encoded twice.
"""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import psutil

from theodolite.engine.encoders import Encoder, bind_task
from theodolite.engine.errors import UserError
from theodolite.engine.rankers import Ranker, RankerSpec, load, parse

LENGTHS = (16, 64, 256)
"""Words per text: common ones, which almost every tokenizer has as one token."""
REPEATS = 5
BUSY = 0.2
"""Share of the cores that other programs may use while times are measured."""
APART = 1.5
"""The fastest repeat may be so many times as fast as the slowest."""
AN_ENDPOINT = "an endpoint and the network"
_LOOK = 1.0
"""Seconds in which other programs are watched before a measurement is repeated."""
_SINGLES = 60
"""Sentences encoded one by one."""
_TOGETHER, _SENT = (1, 4096, 0.1), (8, 64, 0.25)
"""Fewest and most sentences encoded together, and seconds from which they are enough.

To an endpoint few are sent, as it may charge, but not one: any request takes the network's time.
"""
_FEWEST_WORDS = 512
"""Fewest words encoded together: on these, not on sentences, depends how well cores are used."""
_INDEXED = 1000
"""Texts among which a ranker ranks."""
_WORDS = (
    "the of and to in is that it was for on are as with they at be this have from or one had by "
    "not what all were we when your can said there use an each which she do how their if will up "
    "other about out many then them these so some her would make like him into time has look two "
    "more write go see number no way could people my than first water been call who its now find "
    "long down day did get come made may part over new sound take only little work know place "
    "year live me back give most very after thing our just name good man think say great where "
    "help through much before line right too mean old any same tell boy follow came want show"
).split()


class NoCache:
    """A `VectorCache` that keeps nothing, so that the encoder itself is measured."""

    def get(
        self, fingerprint: str, keys: Sequence[bytes], dim: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `VectorCache.get`."""
        return np.zeros(len(keys), bool), np.empty((0, dim), np.float32)

    def put(self, fingerprint: str, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """See `VectorCache.put`."""


def sentences(length: int, number: int, seed: int) -> list[str]:
    """Return `number` random texts of `length` common words each."""
    words = np.random.default_rng(seed).integers(0, len(_WORDS), (number, length))
    return [" ".join(_WORDS[word] for word in row) for row in words.tolist()]


def measure(spec: str, send_texts: Sequence[str] = ()) -> dict[str, Any]:
    """Measure an encoder in this process, which should have done nothing else.

    A ranker indexes instead of encoding, and its latency is of a query among 1,000 texts of 64
    words; `vector_bytes` are those of its index a text.

    Args:
        spec: of the encoder. For an endpoint, times include the network and its server.
        send_texts: as for `load`.

    Returns:
        JSON-able: `dim`, `load_seconds` (of several loads, the first with the libraries),
        `per_second` (length -> one value per repeat), `latency_ms` (of single sentences, sorted),
        `memory_bytes` (peak growth of the process), `vector_bytes`, `device`, and `load` (cores
        that other programs used meanwhile, on average, of `cores`).
    """
    kinds = {source.kind for source in parse(spec).sources}
    if "vectors" in kinds:
        raise UserError(
            f"{spec} holds vectors of sentences and encodes none.",
            "There is nothing to measure.",
            code="wrong-kind",
        )
    process, peak = psutil.Process(), 0
    before = process.memory_info().rss
    load = others()

    def held() -> None:
        nonlocal peak
        peak = max(peak, process.memory_info().rss)

    loads = []
    for seed in range(3):
        start = time.perf_counter()
        encoder = _load(spec, send_texts)
        encode, once, _ = _work(encoder, sentences(8, 1, seed))
        once(sentences(8, 1, seed))  # weights are read on first use
        loads.append(time.perf_counter() - start)
        held()
    bounds = _SENT if "api" in kinds else _TOGETHER
    speeds = {str(length): _speed(encode, length, bounds, held) for length in LENGTHS}
    _, once, size = _work(encoder, sentences(64, _INDEXED, 64))
    latency = sorted(_latency(once))
    return {
        "dim": encoder.dim,
        "load_seconds": loads,
        "per_second": speeds,
        "latency_ms": latency,
        "load": round(load(), 2),
        "cores": psutil.cpu_count() or 1,
        "memory_bytes": max(0, peak - before),
        "vector_bytes": size,
        "device": AN_ENDPOINT if "api" in kinds else _device(),
    }


def is_disturbed(costs: Mapping[str, Any]) -> bool:
    """Whether a measurement says little: other programs used the processor, or repeats differ.

    One that does not say how busy the machine was is taken as it is, as is one of an endpoint,
    whose times are those of its server and the network.
    """
    if "load" not in costs or costs["device"] == AN_ENDPOINT:
        return False
    apart = max(max(values) / min(values) for values in costs["per_second"].values())
    return bool(costs["load"] > BUSY * costs["cores"] or apart > APART)


def others() -> Callable[[], float]:
    """Return what tells how many cores other programs have used since, on average.

    What took less than a tenth of a second is too short to tell: 0.
    """
    began, before = time.perf_counter(), _seconds_of_others()

    def load() -> float:
        took = time.perf_counter() - began
        return max(0.0, (_seconds_of_others() - before) / took) if took > 0.1 else 0.0

    return load


def is_busy() -> bool:
    """Whether other programs use so much of the processor now that times would say little."""
    load = others()
    time.sleep(_LOOK)
    return is_too_much(load())


def is_too_much(load: float) -> bool:
    """Whether this many cores, used by other programs, are over `BUSY` of those of this machine."""
    return load > BUSY * (psutil.cpu_count() or 1)


def _seconds_of_others() -> float:
    """Seconds of all cores that other programs have used since the machine was started."""
    every, own = psutil.cpu_times(), psutil.Process().cpu_times()
    idle = every.idle + getattr(every, "iowait", 0.0)
    guests = getattr(every, "guest", 0.0) + getattr(every, "guest_nice", 0.0)  # in `user` as well
    return float(sum(every) - guests - idle - own.user - own.system)


def _work(
    encoder: Encoder | Ranker, texts: list[str]
) -> tuple[Callable[[list[str]], Any], Callable[[list[str]], Any], int]:
    """What encodes or indexes many texts, what is done with a single one, and bytes a text.

    Args:
        encoder: to be measured.
        texts: among which a ranker ranks.
    """
    if not isinstance(encoder, Ranker):
        return encoder.encode, encoder.encode, 4 * encoder.dim
    index = encoder.index(texts)
    return encoder.index, lambda query: index.search(query, 10), index.bytes // len(texts)


def _load(spec: str, send_texts: Sequence[str]) -> Encoder | Ranker:
    parsed = parse(spec)
    if isinstance(parsed, RankerSpec):
        spec = str(parsed.weighed())
    encoder = load(spec, cache=NoCache(), send_texts=send_texts)
    if getattr(encoder, "needs_task", False):
        texts = sentences(16, 4 * (encoder.dim or 1024), 1111)
        return bind_task(encoder, texts, "footprint")
    return encoder


def _speed(
    encode: Callable[[list[str]], Any],
    length: int,
    bounds: tuple[int, int, float],
    note_peak: Callable[[], None],
) -> list[float]:
    """Sentences per second, in several repeats, after a warm-up that finds the batch size."""
    fewest, most, enough = bounds
    number, seed = max(fewest, _FEWEST_WORDS // length), length
    while True:
        texts = sentences(length, number, seed)
        start = time.perf_counter()
        encode(texts)
        took = time.perf_counter() - start
        if took > enough or number >= most:
            break
        number, seed = min(most, 2 * number), seed + 1
    speeds = []
    for repeat in range(REPEATS):
        texts = sentences(length, number, 1_000 * length + repeat)
        start = time.perf_counter()
        encode(texts)
        speeds.append(number / max(time.perf_counter() - start, 1e-9))
        note_peak()
    return speeds


def _latency(once: Callable[[list[str]], Any]) -> list[float]:
    """Milliseconds per single sentence of 16 words."""
    times = []
    for text in sentences(16, _SINGLES + 5, 16):
        start = time.perf_counter()
        once([text])
        times.append(1000 * (time.perf_counter() - start))
    return times[5:]


def _device() -> str:
    """What the encoder ran on; torch tells only if the encoder needed it, as it loads for long."""
    if "torch" not in sys.modules:
        return "CPU"
    import torch

    if torch.cuda.is_available():
        return str(torch.cuda.get_device_name())
    threads = torch.get_num_threads()
    return f"CPU, {threads} thread{'s' if threads > 1 else ''}"


def machine() -> str:
    """Return a name of this machine: figures of different machines are never shown together."""
    return f"{platform.node()}, {platform.machine()}, {psutil.cpu_count()} cores"


def in_own_process(
    spec: str, environment: Mapping[str, str], send_texts: Sequence[str] = ()
) -> dict[str, Any]:
    """Run `measure` in a process of its own.

    Args:
        spec: of the encoder.
        environment: of the process.
        send_texts: as for `load`.
    """
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "theodolite.engine.cost", spec, *send_texts],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=False,
    )
    last = (done.stdout.strip().splitlines() or [""])[-1]
    try:
        answer: dict[str, Any] = json.loads(last)
    except ValueError:
        text = (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
        raise UserError(
            f"{spec} cannot be measured: {text}", "Does it encode a sentence?", code="failed"
        ) from None
    if "error" in answer:
        raise UserError(answer["error"], answer["hint"], code=answer["code"])
    return answer


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, lowest and highest."""
    return statistics.median(values), min(values), max(values)


def main() -> None:
    """Measure the encoder that the command line names, and print the result."""
    try:
        answer = measure(sys.argv[1], sys.argv[2:])
    except UserError as error:
        answer = {"error": error.message, "hint": error.hint, "code": error.code}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
