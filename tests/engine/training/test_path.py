"""How many files a reader goes through from the spec of a training to its first update."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.fakes import decoders
from tests.fakes.small_training import small, write_sentences
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.decoding.train import DecoderTrainer, train_decoder
from theodolite.engine.train import EncoderTrainer, train
from theodolite.engine.training import Event

ENGINE = "theodolite.engine."
OWN = tuple(ENGINE + name for name in ("train", "training.", "decoding."))
MOST = 25


class Updating(Exception):
    """The first update begins."""


def calls_between_files(events: Iterator[Event]) -> set[tuple[str, str]]:
    """(file of a training, file that it calls) until the first update begins.

    A function that one file hands to another is not counted where it is called back.
    """
    found: set[tuple[str, str]] = set()

    def file_of(frame: FrameType) -> str:
        name = str(frame.f_globals.get("__name__"))
        return name if name.startswith(ENGINE) else ""

    def profile(frame: FrameType, event: str, _: Any) -> None:
        called, handed = file_of(frame), "<" in frame.f_code.co_qualname
        if event != "call" or not called or handed:
            return
        back = frame.f_back
        while back is not None and not file_of(back):
            back = back.f_back
        if back is not None and file_of(back).startswith(OWN) and file_of(back) != called:
            found.add((file_of(back), called))

    sys.setprofile(profile)
    try:
        with pytest.raises(Updating):
            for _ in events:
                pass
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.long
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_the_first_update_is_near(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, catalog: Catalog
) -> None:
    """No more stays than one remembers; docs/architecture.md says which."""

    def update(*_: Any) -> None:
        sys.setprofile(None)
        raise Updating

    for trainer in (EncoderTrainer, DecoderTrainer):
        monkeypatch.setattr(trainer, "update", update)
    if kind == "decoder":
        events = train_decoder(decoders.random_spec(tmp_path), catalog)
    else:
        spec = small(write_sentences(tmp_path / "a.txt"), tmp_path / "out")
        events = train(spec, catalog)
    found = calls_between_files(events)
    assert MOST - 5 <= len(found) <= MOST, sorted(found)
