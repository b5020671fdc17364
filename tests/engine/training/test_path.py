"""How many files a reader goes through from the spec of a training to its first update."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

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

    def file_of(frame: FrameType | None) -> str:
        name = "" if frame is None else str(frame.f_globals.get("__name__"))
        return name if name.startswith(ENGINE) else ""

    def profile(frame: FrameType, event: str, _) -> None:
        back = frame.f_back
        while back is not None and not file_of(back):
            back = back.f_back
        calling, called, handed = file_of(back), file_of(frame), "<" in frame.f_code.co_qualname
        if event == "call" and called not in ("", calling) and calling.startswith(OWN):
            found.update([] if handed else [(calling, called)])

    sys.setprofile(profile)
    try:
        with pytest.raises(Updating):
            list(events)
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.long
@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_the_first_update_is_near(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, catalog: Catalog
) -> None:
    """No more stays than one remembers; docs/architecture.md says which."""

    def update(*_) -> None:
        sys.setprofile(None)
        raise Updating

    for trainer in (EncoderTrainer, DecoderTrainer):
        monkeypatch.setattr(trainer, "update", update)
    events = {
        "decoder": train_decoder(decoders.random_spec(tmp_path), catalog),
        "encoder": train(small(write_sentences(tmp_path / "a.txt"), tmp_path / "out"), catalog),
    }
    found = calls_between_files(events[kind])
    assert MOST - 5 <= len(found) <= MOST, sorted(found)
