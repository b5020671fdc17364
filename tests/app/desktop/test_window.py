"""The app on a desktop: its window, its browser, and the launcher in the menu."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from configparser import RawConfigParser
from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes import browser as fake
from tests.fakes.command_line import objects, said, theodolite
from tests.fakes.server import FakeServer, Handler
from tests.waiting import PATIENCE
from theodolite.app.desktop import launcher, window
from theodolite.app.desktop.window import VARIABLE, Browser, find_browser, stay
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

BROWSER = Browser(fake.COMMAND)


class Answer(Handler):
    """Answers with nothing."""

    def do_GET(self) -> None:
        """Say that all is well."""
        self.send(204, b"")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a page."""
    with FakeServer(Answer) as server:
        yield f"http://localhost:{server.url.rpartition(':')[2]}/"


def test_two_windows_have_two_profiles(tmp_path: Path, address: str) -> None:
    """A browser would show both in one process, and neither app would know when its own is gone."""
    with (
        window.open_window(BROWSER, address, tmp_path) as first,
        window.open_window(BROWSER, address, tmp_path),
    ):
        fake.seen(tmp_path / "1")
        fake.seen(tmp_path / "2")
        fake.close(tmp_path / "1")
        first.wait()


def test_it_is_followed_to_a_browser_that_was_there(tmp_path: Path, address: str) -> None:
    """As after an app that was killed: its window stays and takes the new page."""
    browser = Browser((*fake.COMMAND, "--hand-over"))
    with window.open_window(browser, address, tmp_path) as shown, ThreadPoolExecutor() as pool:
        waiting = pool.submit(shown.wait)
        assert shown._process.wait() == 0
        assert not wait([waiting], 0.3).done
        shown.close()
        waiting.result(PATIENCE)


def test_a_browser_that_fails_is_told_of(tmp_path: Path, address: str) -> None:
    """In its own last words."""
    browser = Browser((*fake.COMMAND, "--fail"))
    with (
        window.open_window(browser, address, tmp_path) as shown,
        pytest.raises(UserError, match="env ended with code 1: The platform failed"),
    ):
        shown.wait()


def test_the_app_stays_for_runs_that_are_not_over(
    workspace: Workspace, tmp_path: Path, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says so, and ends with the last of them."""
    runs = workspace.store.runs
    run = runs.create("evaluate", {}, "STS-B by minilm")
    with window.open_window(BROWSER, address, tmp_path) as shown, ThreadPoolExecutor() as pool:
        fake.seen(tmp_path / "1")
        staying = pool.submit(stay, shown, workspace, address)
        fake.close(tmp_path / "1")
        shown.wait()
        assert not wait([staying], 0.3).done
        runs.cancel(run)
        staying.result(PATIENCE)
    expected = " ".join(capsys.readouterr().err.split())
    assert 'The window is closed, but 1 run is still at work: "STS-B by minilm".' in expected
    assert f"The app stays at {address} until then." in expected


def test_it_needs_a_browser_and_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing is said before anything is built."""
    monkeypatch.setenv(VARIABLE, shlex.join(fake.COMMAND))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    assert "no screen for a window" in theodolite("serve", "--window", code=2)[-1]
    assert "not both" in theodolite("serve", "--window", "--no-browser", code=2)[-1]
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv(VARIABLE)
    if sys.platform == "linux":
        assert "Install one of them" in theodolite("serve", "--window", code=2)[-1]


def test_the_app_ends_with_its_window(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`theodolite --window`: the page is there, the window is closed, the command is over."""
    workspace.store.settings.set("welcomed", True)  # or it would first measure the starter set
    monkeypatch.setenv(VARIABLE, shlex.join(fake.COMMAND))
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    profile = tmp_path / "state" / "theodolite" / "window" / "1"

    def look_and_close() -> int:
        status = fake.seen(profile)["status"]
        fake.close(profile)
        return int(status)

    with ThreadPoolExecutor() as pool:
        looked = pool.submit(look_and_close)
        output = said("serve", "--window", "--store", str(workspace.store.folder))
    assert looked.result() == 200
    assert "Close its window" in output and "Traceback" not in output


@pytest.fixture
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
        find_browser()
    for package in ("microsoft-edge-stable", "chromium-browser", "google-chrome"):
        path = program(bare / "bin" / package)
        assert find_browser() == Browser((path,))


def test_a_variable_names_another_with_its_options(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By path or by name; also a path with a space in it."""
    program(bare / "bin" / "chromium")
    brave = program(bare / "my programs" / "brave")
    monkeypatch.setenv(VARIABLE, brave)
    assert find_browser() == Browser((brave,))
    monkeypatch.setenv(VARIABLE, "chromium --no-sandbox")
    assert find_browser().command == (str(bare / "bin" / "chromium"), "--no-sandbox")
    monkeypatch.setenv(VARIABLE, "netscape")
    with refused("no-file", "netscape", VARIABLE):
        find_browser()


def test_other_systems_keep_them_elsewhere(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In folders of applications, which no PATH lists."""
    edge = program(bare / "x86" / "Microsoft" / "Edge" / "Application" / "msedge.exe")
    monkeypatch.setenv("PROGRAMFILES(X86)", str(bare / "x86"))
    app = bare / "home" / "Applications" / "Chromium.app"
    chromium = program(app / "Contents" / "MacOS" / "Chromium")
    if not Path("/Applications").exists():
        assert find_browser() == Browser((chromium,))
    Path(chromium).unlink()
    assert find_browser() == Browser((edge,))


def test_a_snap_is_known_by_where_it_leads(bare: Path) -> None:
    """/snap/bin/chromium is a link to the program `snap`, which has a folder of its own."""
    (bare / "bin").mkdir()
    (bare / "bin" / "chromium").symlink_to(program(bare / "usr" / "snap"))
    assert find_browser().folder == bare / "home" / "snap" / "chromium" / "common" / "theodolite"
    assert "snap" not in Browser((program(bare / "bin" / "chrome"),)).folder.parts


# The launcher in the menu: what is written, where, and that it is gone afterwards.

HARD = r'/srv/my "data"/100%/$HOME/`id`/back\slash'


@pytest.fixture
def menu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
    parser.optionxform = str
    parser.read(file, "utf-8")
    return {key: value.replace(r"\\", "\\") for key, value in parser["Desktop Entry"].items()}


def test_it_starts_this_installation_with_this_store(menu: Path, tmp_path: Path) -> None:
    """Whatever signs are in the paths; `env` hands on what a menu would not know."""
    (row,) = objects(theodolite("desktop", "install", "--store", HARD, "--data", ".", "--json"))
    file = menu / "applications" / "theodolite.desktop"
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
    assert (menu / "icons/hicolor/scalable/apps" / f"{output['Icon']}.svg").exists()
    assert (menu / "icons/hicolor/512x512/apps" / f"{output['Icon']}.png").exists()
    assert all(Path(name).is_file() for name in row["files"])


def test_it_is_put_there_again_and_taken_away(menu: Path) -> None:
    """Nothing of ours is left; what others have there stays."""
    other = menu / "applications" / "other.desktop"
    other.parent.mkdir(parents=True)
    other.touch()
    theodolite("desktop", "install")
    theodolite("desktop", "install")
    first, second = (objects(theodolite("desktop", "remove", "--json"))[0] for _ in range(2))
    assert len(first["files"]) == 4
    assert [file for file in menu.rglob("*") if file.is_file()] == [other]
    assert second["files"] == []


def test_what_would_not_start_is_not_put_there(
    menu: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No browser, no program: nothing is written."""
    (tmp_path / "bin" / "theodolite").unlink()
    assert "pip install theodolite" in theodolite("desktop", "install", code=2)[-1]
    monkeypatch.setenv(VARIABLE, "netscape")
    assert "not a program here" in theodolite("desktop", "install", code=2)[-1]
    assert not menu.exists()


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems_are_told_what_to_do_instead(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their menus are filled by their browsers."""
    monkeypatch.setattr(launcher.sys, "platform", system)
    for verb in ("install", "remove"):
        expected = " ".join(theodolite("desktop", verb, code=2)[-1].split())
        assert "on Linux only" in expected and "install it from there" in expected
