"""The launcher in the menu: what is written, where, and that it is gone afterwards."""

import shlex
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path

import pytest

from tests.fakes import browser as fake
from tests.fakes.command_line import objects, theodolite
from theodolite.app.desktop import launcher
from theodolite.app.desktop.window import VARIABLE

HARD = r'/srv/my "data"/100%/$HOME/`id`/back\slash'


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the menu of this user is."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv(VARIABLE, shlex.join(fake.COMMAND))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "theodolite").touch()
    return tmp_path / "share"


def read(file: Path) -> dict[str, str]:
    """The keys of a launcher, their values as a desktop reads them."""
    parser = RawConfigParser(delimiters="=", comment_prefixes="#", strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(file, "utf-8")
    return {key: value.replace(r"\\", "\\") for key, value in parser["Desktop Entry"].items()}


def test_it_starts_this_installation_with_this_store(home: Path, tmp_path: Path) -> None:
    """Whatever signs are in the paths; `env` hands on what a menu would not know."""
    (row,) = objects(theodolite("desktop", "install", "--store", HARD, "--data", ".", "--json"))
    file = home / "applications" / "theodolite.desktop"
    assert row["files"][0] == str(file)
    output = read(file)
    program = str(tmp_path / "bin" / "theodolite")
    # Within quotes a desktop reads what a shell reads, but %% stands for one.
    read_by_a_shell = ["sh", "-c", f"printf '%s\\n' {output['Exec']}"]
    words = subprocess.check_output(read_by_a_shell, text=True).replace("%%", "%").splitlines()
    assert words == [
        *("env", f"{VARIABLE}={shlex.join(fake.COMMAND)}", program, "--window"),
        *("--store", HARD, "--data", str(Path.cwd())),
    ]
    assert output["TryExec"] == program
    assert (home / "icons/hicolor/scalable/apps" / f"{output['Icon']}.svg").exists()
    assert (home / "icons/hicolor/512x512/apps" / f"{output['Icon']}.png").exists()
    assert all(Path(name).is_file() for name in row["files"])


def test_it_is_put_there_again_and_taken_away(home: Path) -> None:
    """Nothing of ours is left; what others have there stays."""
    other = home / "applications" / "other.desktop"
    other.parent.mkdir(parents=True)
    other.touch()
    theodolite("desktop", "install")
    theodolite("desktop", "install")
    first, second = (objects(theodolite("desktop", "remove", "--json"))[0] for _ in range(2))
    assert len(first["files"]) == 4
    assert [file for file in home.rglob("*") if file.is_file()] == [other]
    assert second["files"] == []


def test_what_would_not_start_is_not_put_there(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No browser, no program: nothing is written."""
    (tmp_path / "bin" / "theodolite").unlink()
    assert "pip install theodolite" in theodolite("desktop", "install", code=2)[-1]
    monkeypatch.setenv(VARIABLE, "netscape")
    assert "no program here" in theodolite("desktop", "install", code=2)[-1]
    assert not home.exists()


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems_are_told_what_to_do_instead(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their menus are filled by their browsers."""
    monkeypatch.setattr(launcher.sys, "platform", system)
    for verb in ("install", "remove"):
        expected = " ".join(theodolite("desktop", verb, code=2)[-1].split())
        assert "on Linux only" in expected and "install it from there" in expected
