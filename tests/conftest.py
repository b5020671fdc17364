"""What every test may ask for."""

import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from filelock import FileLock

from tests import slow

SLOW = slow.names()
gc.disable()  # until all is imported: a fifth of the time of imports goes into looking at them


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import what is left out as a whole: browser tests, and what is not quick."""
    path, left_out = collection_path.relative_to(config.rootpath), config.option.markexpr
    of_browsers = "not ui" in left_out and path.parts[:2] == ("tests", "ui")
    return of_browsers or ("not slow" in left_out and path.as_posix() in SLOW) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what was measured to be slow, and begin with the files that have most of it.

    Side by side, none of those is left for last and alone.
    """
    for item in items:
        if {slow.function(item.nodeid), item.nodeid.split("::")[0]} & SLOW:
            item.add_marker("slow")
    count = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -count[item.path])


def pytest_collection_finish() -> None:
    """Have no collection of garbage look at what was imported: a million objects that stay."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """What needs a GPU or node may be skipped anywhere."""
    report = yield
    return report if {"gpu", "node"} & set(item.keywords) else never_skipped(report)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    """A file may be skipped as a whole."""
    return never_skipped((yield))


def never_skipped(report):
    """In CI, where all is there, what was skipped has failed."""
    if report.skipped and os.environ.get("CI") == "true":
        report.outcome, report.longrepr = "failed", f"{report.longrepr[2]}; CI must have it"
    return report


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The data folder that THEODOLITE_DATA names. Skips without one."""
    named = os.environ.get("THEODOLITE_DATA")
    if not named:
        pytest.skip("THEODOLITE_DATA is not set")
    return Path(named)


@pytest.fixture
def int8_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of int8 on any processor: where there are none of its own, exactly, but slowly."""
    import torch

    if not torch.cpu._is_vnni_supported():
        monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: True)
        monkeypatch.setattr(torch, "_int_mm", lambda a, b: (a.double() @ b.double()).int())


@pytest.fixture(scope="session")
def golden(data_root: Path) -> Path:
    """The folder of reference scores beside the data folder; missing is treated like the data."""
    folder = data_root.resolve().parent / "golden"
    if not folder.is_dir():
        pytest.skip(f"there is no folder {folder}")
    return folder


@pytest.fixture(scope="session")
def decoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder for `random:64` that knows `tests.fakes.decoders.known_sentences` by heart.

    The processes of a run share it: the first that asks trains it.
    """
    from tests.fakes.decoders import tiny_decoder

    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "decoder"
    with FileLock(folder.with_suffix(".lock")):
        return folder if folder.exists() else tiny_decoder(folder)
