"""`theodolite serve`: who may come, and how a demonstration begins."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from theodolite.app import serve
from theodolite.app.web.guard.accounts import Accounts
from theodolite.app.workspace import Workspace


def test_a_login_is_made_of_what_is_typed_and_never_of_an_argument() -> None:
    """One line for the file, with a password that only its hash gives away to nobody."""
    (line,) = theodolite("password", "ada", given="lovelace:1815\n")
    assert line.startswith("ada:$argon2id$")
    (row,) = objects(theodolite("password", "ada", "--json", given="lovelace:1815\n"))
    assert row["hash"].startswith("$argon2id$") and row["hash"] not in line  # salted anew
    assert "characters" in theodolite("password", "ada", code=2, given="short\n")[-1]
    theodolite("password", "ada", "lovelace:1815", code=2)


def test_logins_come_from_a_file_or_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line is warned about, for all can read it; the environment is emptied."""
    file = tmp_path / "logins"
    file.write_text("\n".join(theodolite("password", "ada", given="lovelace:1815\n")))
    found = serve._login(None, file)
    assert isinstance(found, Accounts)
    assert found.match("ada", "lovelace:1815")
    monkeypatch.setenv("THEODOLITE_AUTH", "ada:lovelace")
    assert serve._login("ada:lovelace", None) == ("ada", "lovelace")
    assert "process list" not in capsys.readouterr().err
    assert serve._login("ada:lovelace", None) == ("ada", "lovelace")  # by now from an argument
    assert "process list" in capsys.readouterr().err
    with refused("conflict", "--auth-file"):
        serve._login("ada:lovelace", file)


@pytest.mark.parametrize(
    ("text", "path"),
    [(None, None), ("", None), ("/", None), ("tools", "/tools"), ("/a/b-c/", "/a/b-c")],
)
def test_the_path_below_a_proxy_is_put_into_one_form(text: str | None, path: str | None) -> None:
    """However it is written."""
    assert serve.parse_root_path(text) == path


@pytest.mark.parametrize("text", ["/a b", "/a?b", "https://x/y", "/a\nb", "/a;b"])
def test_what_is_no_path_is_refused(text: str) -> None:
    """Before anything is served."""
    with refused("invalid", repr(text)):
        serve.parse_root_path(text)


def test_a_demonstration_says_what_is_open_and_starts_no_worker(tmp_path: Path) -> None:
    """`theodolite --demo`, below a path, for everybody."""
    made = Workspace(tmp_path / "store")
    made.store.encoders.add("random:16")
    made.close()
    options = "--demo --no-browser --json --root-path tools --host 0.0.0.0".split()
    command = [sys.executable, "-m", "theodolite.app", *options, "--store", tmp_path / "store"]
    with (
        (tmp_path / "said").open("w") as file,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, text=True) as serving,
    ):
        port = httpx.URL(json.loads(serving.stdout.readline())["url"]).port
        assert httpx.get(f"http://127.0.0.1:{port}/tools/healthz").json() == {"status": "ok"}
        assert psutil.Process(serving.pid).children() == []
        serving.terminate()
    assert "Open to everybody: random:16; " in (tmp_path / "said").read_text()
