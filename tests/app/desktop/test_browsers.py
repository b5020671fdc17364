"""Which browser is found, where, and what is said when there is none."""

import sys
from pathlib import Path

import pytest

from tests.errors import refused
from theodolite.app.desktop import browsers
from theodolite.app.desktop.browsers import Browser


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with one empty folder of programs."""
    monkeypatch.delenv(browsers.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path


def program(path: Path) -> str:
    """Put something there that can be started."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_chrome_before_chromium_before_edge(bare: Path) -> None:
    """By the names that their packages give them."""
    for package, name in (
        ("microsoft-edge-stable", "Edge"),
        ("chromium-browser", "Chromium"),
        ("google-chrome", "Chrome"),
    ):
        path = program(bare / "bin" / package)
        assert browsers.get() == Browser(name, (path,))


def test_a_variable_names_another_with_its_options(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By path or by name; also a path with a space in it."""
    program(bare / "bin" / "chromium")
    brave = program(bare / "my programs" / "brave")
    monkeypatch.setenv(browsers.VARIABLE, brave)
    assert browsers.get() == Browser("brave", (brave,))
    monkeypatch.setenv(browsers.VARIABLE, "chromium --no-sandbox")
    assert browsers.get().command == (str(bare / "bin" / "chromium"), "--no-sandbox")
    monkeypatch.setenv(browsers.VARIABLE, "netscape")
    with refused("no-file", "netscape", browsers.VARIABLE):
        browsers.find()


def test_without_one_a_sentence_says_what_to_install() -> None:
    """And a caller that can do without is told there is none."""
    assert browsers.find() is None
    with refused("unsupported", browsers.VARIABLE):
        browsers.get()


def test_other_systems_keep_them_elsewhere(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In folders of applications, which no PATH lists."""
    edge = program(bare / "x86" / "Microsoft" / "Edge" / "Application" / "msedge.exe")
    monkeypatch.setenv("PROGRAMFILES(X86)", str(bare / "x86"))
    app = bare / "home" / "Applications" / "Chromium.app"
    chromium = program(app / "Contents" / "MacOS" / "Chromium")
    monkeypatch.setattr(sys, "platform", "win32")
    assert browsers.get() == Browser("Edge", (edge,))
    monkeypatch.setattr(sys, "platform", "darwin")
    if not Path("/Applications").exists():
        assert browsers.get() == Browser("Chromium", (chromium,))


def test_a_snap_is_known_by_where_it_leads(bare: Path) -> None:
    """/snap/bin/chromium is a link to the program `snap`."""
    (bare / "bin").mkdir()
    (bare / "bin" / "chromium").symlink_to(program(bare / "usr" / "snap"))
    assert browsers.get().confined
    assert not Browser("Chromium", (program(bare / "bin" / "chrome"),)).confined
