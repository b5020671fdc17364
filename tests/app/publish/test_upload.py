"""A folder as a Space of the hub: what is asked of the hub, and what a person is told."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from tests.fakes.command_line import objects, theodolite
from tests.fakes.results import invent_all
from tests.fakes.spaces import READER, TOKEN, USER, FakeSpaces
from theodolite.app.publish import folder
from theodolite.app.publish.targets import TARGETS
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

FILES = {"index.html": b"<p>here", "demo/store/theodolite.db": bytes(range(256)), "empty": b""}
HERE = Path("site")
NAME = f"{USER}/encoders"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSpaces]:
    """The one that huggingface_hub finds, by a token of the environment."""
    with FakeSpaces() as made:
        url = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, made.url)
        for name, value in {
            "HUGGINGFACE_CO_URL_TEMPLATE": url,
            "ENDPOINT": made.url,
            "HF_HUB_OFFLINE": False,
            "HF_HUB_DISABLE_XET": True,
            "HF_TOKEN_PATH": str(tmp_path / "token"),
        }.items():
            monkeypatch.setattr(constants, name, value)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield made


def put(files: dict[str, bytes] = FILES, target: str = "static", name: str = NAME) -> str:
    """Upload, and say what a person is told if it fails."""
    try:
        return folder.upload(files, HERE, TARGETS[target], name, private=False)
    except UserError as error:
        expected = f"{error.message} {error.hint}"
        assert TOKEN not in expected and READER not in expected
        return expected


@pytest.mark.parametrize(
    ("target", "sdk", "hardware"),
    [
        ("static", "static", None),
        ("zerogpu", "gradio", "zero-a10g"),
        ("docker", "docker", None),
    ],
)
def test_a_space_is_made_and_filled(
    hub: FakeSpaces, target: str, sdk: str, hardware: str | None
) -> None:
    """In one commit: byte for byte what was listed, and the list of it."""
    assert put(target=target, name="encoders") == f"{hub.url}/spaces/{NAME}"
    assert [(one["sdk"], one.get("hardware")) for one in hub.created] == [(sdk, hardware)]
    there = hub.spaces[NAME]
    assert {path: there[path] for path in FILES} == FILES
    assert there[folder.LIST] == folder.list_of(FILES)
    assert sum("/commit/" in request for request in hub.requests) == 1


def test_what_was_published_before_is_replaced_and_nothing_else(hub: FakeSpaces) -> None:
    """What somebody put beside it stays."""
    put()
    hub.spaces[NAME]["notes.txt"] = b"mine"
    put({"index.html": b"<p>new"})
    assert hub.spaces[NAME]["index.html"] == b"<p>new" and "empty" not in hub.spaces[NAME]
    assert hub.spaces[NAME]["notes.txt"] == b"mine"


def test_a_space_of_somebody_is_left_alone(hub: FakeSpaces) -> None:
    """Of that name, and not published from here."""
    hub.spaces[NAME] = {"README.md": b"", "app.py": b"mine"}
    assert "was not published from here. Nothing was uploaded." in put()
    assert hub.spaces[NAME] == {"README.md": b"", "app.py": b"mine"}


@pytest.mark.parametrize(
    ("token", "target", "name", "said"),
    [
        ("hf_" + "0" * 34, "static", NAME, ["The hub refused (401)"]),
        (READER, "static", NAME, ["The hub refused (403)"]),
        (TOKEN, "static", "grace/encoders", ["The hub refused (403)"]),
        (TOKEN, "docker", NAME, ["(402)", "Static Spaces are free", "--target static"]),
    ],
    ids=["no such token", "it reads only", "of somebody else", "not paid for"],
)
def test_what_the_hub_does_not_allow_is_said(
    hub: FakeSpaces,
    monkeypatch: pytest.MonkeyPatch,
    token: str,
    target: str,
    name: str,
    said: list[str],
) -> None:
    """In a sentence, with what to do, and without the token."""
    hub.paid = False
    monkeypatch.setenv("HF_TOKEN", token)
    output = put(target=target, name=name)
    assert all(words in output for words in (*said, "Nothing was uploaded."))
    assert token not in output
    assert hub.spaces == {}


def test_the_token_is_that_of_a_login(
    hub: FakeSpaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `hf auth login` keeps it. Without one the hub is not asked; it is said what to type."""
    monkeypatch.delenv("HF_TOKEN")
    output = put(target="docker")
    assert "There is no token" in output
    assert f"hf repos create {NAME} --type space --space-sdk docker" in output
    assert f"hf upload {NAME} {HERE} . --repo-type space" in output
    assert hub.requests == []
    (tmp_path / "token").write_text(TOKEN)
    hub.paid = False
    assert put(target="zerogpu") == f"{hub.url}/spaces/{NAME}"


def test_a_front_matter_that_the_hub_does_not_take_is_said(hub: FakeSpaces) -> None:
    """Before anything is uploaded."""
    output = put({"README.md": b"---\nshort_description: " + b"x" * 61 + b"\n---\n"})
    assert output.startswith("The hub refused it")
    assert "at most 60 characters" in output and f"{NAME} was created and is empty" in output


@pytest.mark.parametrize(
    ("breaks", "left"),
    [
        ("/api/whoami-v2", "Nothing was uploaded."),
        ("/api/repos/create", "Nothing was uploaded."),
        ("/objects/", f"The Space {NAME} was created and is empty."),
        ("/commit/main", f"It is not known whether the Space {NAME} received the files"),
    ],
)
def test_a_connection_that_breaks_leaves_nothing_half(
    hub: FakeSpaces, monkeypatch: pytest.MonkeyPatch, breaks: str, left: str
) -> None:
    """It is said what is there, and the same command goes on."""
    monkeypatch.setattr("huggingface_hub.utils._http.time.sleep", lambda seconds: None)
    hub.breaks = breaks
    output = put()
    assert output.startswith("The connection to the hub broke") and left in output
    assert "index.html" not in hub.spaces.get(NAME, {})
    hub.breaks = None
    assert put() == f"{hub.url}/spaces/{NAME}"
    assert hub.spaces[NAME]["index.html"] == FILES["index.html"]


def test_without_a_network_the_hub_is_not_asked(
    hub: FakeSpaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HF_HUB_OFFLINE means what it says."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    from huggingface_hub.utils import _http

    monkeypatch.setattr(_http, "_GLOBAL_CLIENT", None)
    assert "HF_HUB_OFFLINE is set" in put()
    monkeypatch.setattr(_http, "_GLOBAL_CLIENT", None)


def test_only_upload_uploads(hub: FakeSpaces, home: Path) -> None:
    """Not `--yes`; and of a name that cannot be, nothing is written either."""
    invent_all(Workspace(home / "store"), {"random:64": 0.8, "random:16": 0.8})
    target = home / "site"
    chosen = [str(target), *"-e random:64 -e random:16 --pages compare --json".split()]
    theodolite("publish", *chosen, "--yes", "--upload", "a/b/c", code=2)
    theodolite("publish", *chosen, "--upload", "encoders", code=2)  # nobody accepted the list
    assert not target.exists()
    theodolite("publish", *chosen, "--yes")
    assert hub.requests == []
    output = theodolite("publish", *chosen, "--yes", "--upload", "encoders")
    assert TOKEN not in "".join(output)
    assert objects(output)[-1] == {"uploaded": f"{hub.url}/spaces/{NAME}"}
    there = hub.spaces[NAME].keys() - {".gitattributes"}
    assert there == {p.relative_to(target).as_posix() for p in target.rglob("*") if p.is_file()}
    assert hub.spaces[NAME]["README.md"] == (target / "README.md").read_bytes()
