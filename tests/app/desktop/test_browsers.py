"""Which browser is found, where, and what is said when there is none."""

import sys
from pathlib import Path

import pytest

from tests.errors import refused
from theodolite.app.desktop.window import VARIABLE, Browser, installed


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with one empty folder of programs."""
    monkeypatch.delenv(VARIABLE, raising=False)
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
    """By the names that their packages give them; without one a sentence says what to install."""
    with refused("unsupported", VARIABLE):
        installed()
    for package in ("microsoft-edge-stable", "chromium-browser", "google-chrome"):
        path = program(bare / "bin" / package)
        assert installed() == Browser((path,))


def test_a_variable_names_another_with_its_options(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By path or by name; also a path with a space in it."""
    program(bare / "bin" / "chromium")
    brave = program(bare / "my programs" / "brave")
    monkeypatch.setenv(VARIABLE, brave)
    assert installed() == Browser((brave,))
    monkeypatch.setenv(VARIABLE, "chromium --no-sandbox")
    assert installed().command == (str(bare / "bin" / "chromium"), "--no-sandbox")
    monkeypatch.setenv(VARIABLE, "netscape")
    with refused("no-file", "netscape", VARIABLE):
        installed()


def test_other_systems_keep_them_elsewhere(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In folders of applications, which no PATH lists."""
    edge = program(bare / "x86" / "Microsoft" / "Edge" / "Application" / "msedge.exe")
    monkeypatch.setenv("PROGRAMFILES(X86)", str(bare / "x86"))
    app = bare / "home" / "Applications" / "Chromium.app"
    chromium = program(app / "Contents" / "MacOS" / "Chromium")
    if not Path("/Applications").exists():
        assert installed() == Browser((chromium,))
    Path(chromium).unlink()
    assert installed() == Browser((edge,))


def test_a_snap_is_known_by_where_it_leads(bare: Path) -> None:
    """/snap/bin/chromium is a link to the program `snap`, which has a folder of its own."""
    (bare / "bin").mkdir()
    (bare / "bin" / "chromium").symlink_to(program(bare / "usr" / "snap"))
    assert installed().folder == bare / "home" / "snap" / "chromium" / "common" / "theodolite"
    assert "snap" not in Browser((program(bare / "bin" / "chrome"),)).folder.parts
