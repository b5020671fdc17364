"""Decode points of simultaneous requests together, and each point only once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from theodolite.app.batches import Batches, Waiting

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.pages.decode.options import DecodeOptions
    from theodolite.engine.decode import Decoded, Decoder
    from theodolite.engine.encoders.base import Encoder

HYPOTHESES = 80
"""Most hypotheses of a batch: sixteen points by five beams. More are hardly faster per point."""
REMEMBERED = 500
"""Answers held in memory; each is a few kilobytes of text at most."""

_batches = Batches(at_once=2)
_remembered: OrderedDict[Hashable, list[Decoded]] = OrderedDict()
_lock = threading.Lock()


def decode(
    decoder: Decoder,
    encoder: Encoder,
    points: np.ndarray,
    options: DecodeOptions,
    waiting: Waiting | None = None,
) -> list[Decoded]:
    """Decode points with `Decoder.correct`.

    Args:
        decoder: its answers are cached by fingerprints, point and options.
        encoder: ranks the candidates.
        points: float (n, dim).
        options: the decoding options.
        waiting: called with the number of requests ahead while this one waits.
    """

    def work(items: list[np.ndarray]) -> list[list[Decoded]]:
        import numpy as np

        found = iter(_decoded(decoder, encoder, np.concatenate(items), options))
        return [[next(found) for _ in item] for item in items]

    question = (decoder.fingerprint, encoder.fingerprint, options)
    # The samples of all points of a request come from one generator, so the points stay together.
    whole = options.method == "sample"
    items = [points] if whole else [points[i : i + 1] for i in range(len(points))]
    keys = [(question, item.tobytes()) for item in items]
    known = _recalled(keys)
    lacking = {key: item for key, item in zip(keys, items, strict=True) if key not in known}
    if lacking:
        if waiting:
            waiting(0)
        answers = _batches.ask(question, [*lacking.values()], work, _most(options), waiting)
        found: dict[Hashable, list[Decoded]] = dict(zip(lacking, answers, strict=True))
        _remember(found)
        known |= found
    return [one for key in keys for one in known[key]]


def forget() -> None:
    """Drop all cached answers."""
    with _lock:
        _remembered.clear()


def _decoded(
    decoder: Decoder, encoder: Encoder, points: np.ndarray, options: DecodeOptions
) -> Sequence[Decoded]:
    from theodolite.engine.threads import one_torch_thread

    given: dict[str, Any] = {
        "method": options.method,
        "beams": options.beams,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "seed": options.seed,
        "known_words": options.known_words,
    }
    with one_torch_thread():  # the steps are too small for a second thread to help
        return decoder.correct(points, encoder, rounds=options.rounds, **given)


def _most(options: DecodeOptions) -> int:
    """Return the most points of a batch; 1 for methods that decode points one by one."""
    return {"greedy": HYPOTHESES, "beam": max(1, HYPOTHESES // options.beams)}.get(
        options.method, 1
    )


def _recalled(keys: Sequence[Hashable]) -> dict[Hashable, list[Decoded]]:
    with _lock:
        for key in keys:
            if key in _remembered:
                _remembered.move_to_end(key)
        return {key: _remembered[key] for key in keys if key in _remembered}


def _remember(found: dict[Hashable, list[Decoded]]) -> None:
    with _lock:
        _remembered.update(found)
        while len(_remembered) > REMEMBERED:
            _remembered.popitem(last=False)
