"""Folders that run: what is in them, that what starts them starts, and how a GPU is lent there."""

import json
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from weakref import WeakValueDictionary

import gradio as gr
import httpx
import numpy as np
import pytest
import yaml
from huggingface_hub import constants
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.engine.encoders.models import save
from tests.errors import refused
from tests.fakes import folder as data_folder
from tests.fakes.command_line import objects, theodolite
from tests.fakes.spaces import READER, TOKEN, USER, FakeSpaces
from tests.fakes.started import started, steps_of
from tests.fakes.stores import evaluate_all, invent_all, starter_store
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.publish import choice, folder, live, manifest, targets
from theodolite.app.publish.site import Site
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import loading, zerogpu
from theodolite.engine.errors import UserError

ROOT = Path(__file__).parents[3]
NAMES = ("random:64", "random:16")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A store with two encoders measured on the starter set, and a third that is not chosen."""
    made = starter_store(tmp_path_factory.mktemp("kept"))
    evaluate_all(made, [*NAMES, "random:32"], "StarterSTS")
    return made


def published(workspace: Workspace, name: targets.Name, *, texts: bool = True) -> Site:
    """The folder before it is written, of the two."""
    return live.make(workspace, choice.choose(workspace, NAMES), targets.TARGETS[name], texts=texts)


def pins(text: str) -> dict[str, str]:
    """Name -> version of a requirements file, all of which has to be pinned."""
    lines = [line for line in text.splitlines() if not line.startswith("--")]
    found = {}
    for wanted in map(Requirement, lines):
        (only,) = wanted.specifier
        assert only.operator == "==", wanted
        found[canonicalize_name(wanted.name)] = only.version
    return found


@pytest.mark.parametrize("name", targets.TARGETS)
def test_the_front_matter_is_what_the_hub_reads(name: targets.Name) -> None:
    """Its names, its colours, its lengths; a file that is there; models for a Gradio Space."""
    target = targets.TARGETS[name]
    text = targets.front_matter(target, "My: title", "x" * 100, ["BAAI/bge-small-en-v1.5"])
    first, block, rest = text.split("---\n")
    assert (first, rest) == ("", "")
    front_matter = yaml.safe_load(block)
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert {front_matter["colorFrom"], front_matter["colorTo"]} <= colours
    assert front_matter["title"] == "My: title"
    assert front_matter["sdk"] == {"static": "static", "docker": "docker"}.get(name, "gradio")
    assert len(front_matter["short_description"]) <= 60
    if front_matter["sdk"] == "gradio":
        constraints = pins((ROOT / "constraints.txt").read_text().split("\n", 1)[1])
        assert front_matter == front_matter | {
            "sdk_version": constraints["gradio"],
            "python_version": "3.12",
            "preload_from_hub": ["BAAI/bge-small-en-v1.5"],
        }
    if target.live:
        assert re.fullmatch(r"\d+[mh]", front_matter["startup_duration_timeout"])
    if name != "docker":
        assert front_matter["app_file"] in {**targets.files(target, []), "index.html": b""}


@pytest.mark.parametrize("name", ["zerogpu", "docker"])
def test_requirements_are_those_that_the_tests_ran_with(name: targets.Name) -> None:
    """Each is pinned as constraints.txt pins it; what the hub installs itself is left to it."""
    target = targets.TARGETS[name]
    pinned = pins(targets.files(target, [])["requirements.txt"].decode())
    assert pinned.items() <= pins((ROOT / "constraints.txt").read_text().split("\n", 1)[1]).items()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["starter"]]
    ours = {canonicalize_name(Requirement(text).name) for text in wanted}
    assert ours - pinned.keys() == ours & target.managed
    assert not pinned.keys() & {"pytest", "ruff", "theodolite", "pip", *target.managed}


def test_the_source_is_what_an_installation_has() -> None:
    """Modules, and the data beside them that pyproject.toml names: nothing that lies there."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    tool["package-data"].pop("theodolite")  # the mark that it is typed, which nothing runs
    data = {f"theodolite.{name}": held for name, held in targets.PACKAGE_DATA.items() if held}
    assert {name: tuple(held) for name, held in tool["package-data"].items()} == data
    files = targets.source()
    ours = ("app/serve.py", "app/web/static/mark.svg", "engine/datasets/starter/pairs.tsv")
    assert {"theodolite/__init__.py", *(f"theodolite/{name}" for name in ours)} < set(files)
    stray = {name for name in files if "__pycache__" in name or name.endswith((".pyc", ".db"))}
    assert stray == {"theodolite/app/examples/store/theodolite.db"}  # ours, which is only read


def test_only_what_was_chosen_goes_along(kept: Workspace, tmp_path: Path) -> None:
    """Results of the two encoders, and to the bit their vectors; without texts no vectors."""
    site = published(kept, "docker")
    held = {name: data for name, data in site.files.items() if name.startswith(targets.STORE)}
    assert not [name for name, data in held.items() if b"random:32" in data]
    assert any(b"random:64" in data for data in held.values())
    assert not [data for data in held.values() if str(kept.store.folder).encode() in data]
    assert site.texts.keys() == {"starter-pairs"}
    assert len([name for name in held if "/vectors/" in name and name.endswith(".f32")]) == 2
    folder.write(tmp_path / "made", site.files)
    small = Workspace(tmp_path / "made" / targets.STORE, demo=True)
    keys = [live.sentence_key(text) for text in kept.catalog.sentences("starter-pairs")[0]]
    (_, here), (known, there) = (
        workspace.store.vectors.get(workspace.load("random:64").fingerprint, keys, 64)
        for workspace in (kept, small)
    )
    assert known.all() and np.array_equal(here, there)
    bare = published(kept, "docker", texts=False)
    assert bare.texts == {}
    assert not [name for name in bare.files if "/vectors/" in name or targets.DATA in name]


def test_a_masked_name_is_in_no_file(workspace: Workspace, tmp_path: Path) -> None:
    """Of an app neither: not in its store, nor in what is said of it.

    Uploads go along under the names that were chosen.
    """
    path = "/home/zebulon/clandestine models/heirloom"
    invent_all(workspace, {f"dir:{path}": 0.8, "random:64": 0.8})
    # Invented ones are the names themselves: as in life, they are to say nothing of them.
    workspace.store.database.change("UPDATE results SET fingerprint = 'f' || length(encoder)")
    rows = b"text,label\n" + b"".join(b"sentence %d,%d\n" % (i, i % 2) for i in range(40))
    mapping = {"kind": "labels", "format": "csv", "columns": {"text": "text", "label": "label"}}
    workspace.store.uploads.add(
        "clandestine", "labels", rows, mapping=mapping, filename="zebulon.csv"
    )
    MapSpec("random:64", "upload:clandestine", "pca").make(workspace)
    names, data = [f"dir:{path}", "random:64"], ["upload:clandestine"]
    chosen = choice.choose(workspace, names, mask="names", data=data)
    target = targets.TARGETS["docker"]
    site = live.make(workspace, chosen, target, texts=True)
    about = manifest.readme(workspace, chosen, site, target, "Two encoders")
    assert "its results only" in about
    ours = tuple(f"{targets.SOURCE}/{name}" for name in targets.source())
    held = [data for name, data in site.files.items() if name not in ours]
    for piece in (b"zebulon", b"clandestine", b"heirloom", str(workspace.store.folder).encode()):
        assert not [data for data in (*held, about.encode()) if piece in data]
    folder.write(tmp_path / "made", site.files)
    there = Workspace(tmp_path / "made" / targets.STORE, demo=True)
    (row,) = there.store.uploads.list()
    assert (row["name"], row["filename"]) == ("data-1", "data-1.csv")
    assert row["path"].read_bytes() == rows


def test_files_of_data_sets_go_along_where_they_are_read(tmp_path: Path) -> None:
    """Below the same folders, so that the published catalog finds them by the same names."""
    root = data_folder.write(tmp_path / "data")
    made = Workspace(tmp_path / "store", root)
    for info in made.catalog.list():
        files = live._data_files(made, info.name)
        if info.origin == "starter":
            assert files == {}
            continue
        assert files == {
            name: (root / name.removeprefix(f"{targets.DATA}/")).read_bytes() for name in files
        }
        copied = tmp_path / "copied" / info.name
        folder.write(copied, files)
        there = Workspace(tmp_path / "empty", copied / targets.DATA)
        assert there.catalog.load(info.name).hash == made.catalog.load(info.name).hash


def test_what_cannot_work_there_shows_its_results_only() -> None:
    """A folder of this machine, a server, data that does not go along."""
    usable = {
        "minilm": True,
        "wordllama | whiten:nli": True,
        "hf:BAAI/bge-small-en-v1.5": True,
        "dir:/home/ada/model": False,
        "api:https://host.example/v1#m": False,
        "wordllama | whiten:snli": False,
        "minilm | center:@task": True,
    }
    assert {name: live.usable(name, ["nli"]) for name in usable} == usable


@pytest.mark.parametrize("name", ["a`b", "``", "plain", "x\ny"])
def test_a_name_in_the_readme_is_only_a_name(name: str) -> None:
    """As Markdown it is code, whatever stands in it."""
    from markdown_it import MarkdownIt

    (tokens,) = (token for token in MarkdownIt().parse(manifest.code(name)) if token.children)
    assert [child.type for child in tokens.children or []] == ["code_inline"]


def test_the_container_is_made_of_files_that_are_there(kept: Workspace) -> None:
    """Each path that is copied; nothing that is left out of the context is needed; uid 1000."""
    files = published(kept, "docker").files
    steps = [line.split(maxsplit=1) for line in steps_of(files["Dockerfile"].decode())]
    copied = [shlex.split(rest)[-2] for word, rest in steps if word == "COPY"]
    ignored = files[".dockerignore"].decode().split()
    for path in copied:
        assert any(name == path or name.startswith(f"{path}/") for name in files), path
        assert path not in ignored
    assert ("RUN", "useradd --create-home --uid 1000 user") in map(tuple, steps)
    assert steps.index(["USER", "user"]) < [word for word, _ in steps].index("COPY")
    assert ["EXPOSE", "7860"] in steps
    (command,) = (json.loads(rest) for word, rest in steps if word == "CMD")
    assert command[-1] in files


@pytest.mark.long
def test_a_folder_starts_where_it_lies(home: Path, kept: Workspace) -> None:
    """From its own source, with nothing of this checkout on the path, and takes no change."""
    target = home / "demo"
    store = ("--store", str(kept.store.folder), "--yes", "--json")
    command = ("publish", str(target), "--target", "docker", *store)
    theodolite(*command, "--pages", "compare", code=2)
    assert not target.exists()
    rows = objects(theodolite(*command, "-e", NAMES[0], "-e", NAMES[1]))
    kinds = {"page", "encoder", "task", "results", "texts", "files", "total"}
    assert {row["kind"] for row in rows[:-1]} == kinds
    output = (target / "README.md").read_text()
    assert "`random:64`" in output and "random:32" not in output and "Apache-2.0" in output
    # Ours is installed in the environment of the tests, and must not be what is found.
    with started([sys.executable, "start.py"], target) as address:
        page = httpx.get(f"{address}/compare", timeout=60)
        assert page.status_code == 200
        policy = page.headers["content-security-policy"]
        assert "frame-ancestors https://huggingface.co https://*.hf.space" in policy
    compiled = {file.name.partition(".")[0] for file in (target / "source").rglob("*.pyc")}
    assert {"serve", "ui", "evaluate"} <= compiled


def test_a_refusal_is_told_in_plain_words(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hub's own reason, without its markup; an encoder that is not here is passed over."""
    monkeypatch.setattr(loading, "_live", WeakValueDictionary())
    monkeypatch.setattr(zerogpu, "_decorated", [])
    monkeypatch.setattr(zerogpu, "_sources", [])
    name = f"dir:{save(tmp_path / 'model')}?pooling=avg"
    for listed in (name, "random:16", f"dir:{tmp_path / 'gone'}"):
        workspace.store.encoders.add(listed)
    gone = False

    def decorated(number: int, sentences: list[str]) -> list[np.ndarray]:
        if gone:
            raise gr.Error("Quota exceeded <a href='x'>Join</a>")
        return zerogpu.encode(number, sentences)

    live.lend(decorated, tmp_path / "store")
    assert [one.name for one in zerogpu._sources] == [name]
    looking = Workspace(tmp_path / "store", demo=True)
    assert looking.load(name).encode(["a cat"]).shape == (1, 32)
    gone = True
    with refused("unreachable", "Quota exceeded Join"):
        looking.load(name).encode(["a dog"])


# A folder as a Space of the hub: what is asked of the hub, and what a person is told.


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
        return folder.upload(files, HERE, targets.TARGETS[target], name, private=False)
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
