"""The launch: whom it lets in, what pages begin with, and what is served beside them."""

import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import Mock

import gradio as gr
import httpx
import pytest
from filelock import FileLock
from gradio.blocks import Blocks
from starlette.applications import Starlette
from starlette.testclient import TestClient

from tests.fakes.started import launched, serving
from theodolite.app import ui, vectors
from theodolite.app.web import background_call as working, docs, palette, parts, scratch, template
from theodolite.app.web.controls import Answer, on
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError


def test_a_port_in_use_is_an_error_that_names_a_free_one(workspace):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"Port {port} ") as error:
            ui.launch(workspace, port=port, open_browser=False, block=False)
    assert "--port" in error.value.hint


def test_it_launches_whatever_else_the_machine_does(workspace, monkeypatch):
    """The port that was free when we looked is taken by the time we listen: another one serves.

    Too busy for a page in three seconds, it launches all the same: Gradio would take that for a
    machine that cannot reach itself.
    """
    build, taken = ui.build, socket.socket()

    def while_another_is_faster(workspace):
        port = next(p for p in range(ui.DEFAULT_PORT, 65536) if ui._is_free("127.0.0.1", p))
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", port))
        taken.listen()
        return build(workspace)

    monkeypatch.setattr(ui, "build", while_another_is_faster)
    monkeypatch.setattr(httpx, "head", Mock(side_effect=httpx.ReadTimeout("after 3 s")))
    with serving(workspace) as demo, taken:
        assert demo.server_port != taken.getsockname()[1]
        assert httpx.get(f"{demo.local_url}config").is_success
    # A thread that computes would meet it half imported while another imports mteb.
    assert ui.UNDIVIDED in sys.modules


@pytest.mark.parametrize("options", [{"host": "0.0.0.0"}, {"share": True}], ids=str)  # noqa: S104
def test_strangers_need_a_password(workspace, options):
    """No address beyond this machine and no public link without one."""
    with pytest.raises(UserError, match="password"):
        ui.launch(workspace, open_browser=False, block=False, **options)


def test_laying_out_writes_no_configuration_of_the_pages(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the launch does, since only then all is known that stands in it."""
    written = Mock(wraps=Blocks.get_config_file)
    monkeypatch.setattr(Blocks, "get_config_file", lambda blocks: written(blocks))
    demo = ui.build(workspace)
    assert written.call_count <= 1, "that of the empty Blocks themselves, at most"
    pages = {page for page, *_ in demo.pages}
    config = demo.get_config_file()
    assert {page.PATH for page in ui.PAGES} == pages == set(config["page"])
    assert len(config["components"]) > 500 and len(config["dependencies"]) == len(demo.fns)


MOUNTED = 66
"""Components at most that a page draws when it opens; a closed fold draws its own when opened."""
TOLD = 3
"""Components at most that Gradio tells how far an event is, at each of its steps: it searches the
whole page for each of them."""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory):
    """What Gradio's script is given to lay out the pages."""
    return ui.build(Workspace(tmp_path_factory.mktemp("opening"))).get_config_file()


def drawn(node: dict, components: dict) -> Iterator[int]:
    """The components of a layout that are mounted when it is laid out."""
    part = components.get(node["id"], {"type": "", "props": {}})
    if part["props"].get("visible", True) is False:
        return
    yield node["id"]
    if part["type"] == "accordion" and not part["props"]["open"]:
        return
    for child in node.get("children", ()):
        yield from drawn(child, components)


def test_what_a_primary_button_starts_waits_for_the_controls(config) -> None:
    """Pressed while the page is not filled, it would send less than the address names."""
    primary = {
        part["id"]: part["props"]["interactive"]
        for part in config["components"]
        if part["type"] == "button" and part["props"]["variant"] == "primary"
    }
    filled = {
        box
        for event in config["dependencies"]
        if any(name == "load" for _, name in event["targets"])
        for box in event["outputs"]
    }
    assert len(primary) > 10 and not any(primary.values()) and primary.keys() <= filled


def test_no_page_begins_with_more_than_it_shows(config) -> None:
    """A form of a hundred controls keeps most of them in closed folds."""
    components = {part["id"]: part for part in config["components"]}
    counted = {
        path or "overview": sum(1 for _ in drawn(page["layout"], components))
        for path, page in config["page"].items()
    }
    assert {path: n for path, n in counted.items() if n > MOUNTED} == {}
    assert counted["train"] < len(config["page"]["train"]["components"]) * 0.6


def test_no_two_answers_to_an_event_set_each_other_off(config) -> None:
    """Gradio repeats a deferred answer by its event, and with it every other answer to that."""
    deferred = [
        target
        for event in config["dependencies"]
        if event["backend_fn"] and event["trigger_mode"] == "always_last"
        for target in map(tuple, event["targets"])
        if target[0] is not None
    ]
    assert len(deferred) > 100
    assert len(deferred) == len(set(deferred))


def test_an_event_that_shows_no_progress_tells_nobody_of_it(config) -> None:
    """Nor does one that shows it tell more than what it is shown on."""
    events = [event for event in config["dependencies"] if event["backend_fn"]]
    assert len(events) > 100
    for event in events:
        on = event["show_progress_on"]
        components = event["outputs"] if on is None else on
        most = 0 if event["show_progress"] == "hidden" else TOLD
        assert len(components) <= most, f"{event['api_name']} tells {len(components)} components"


@pytest.mark.parametrize("module", ui.WARM)
def test_what_is_imported_ahead_exists(module: str) -> None:
    """A wrong name would only be seen as time that pages take."""
    assert find_spec(module)


def test_every_component_of_the_app_is_listed(config) -> None:
    """Each with its script, and all files are there; another version may write its list anew."""
    kinds = {part["type"] for part in config["components"]}
    assert kinds >= {"dropdown", "html", "textbox"}
    for kind in kinds:
        assert any(name.endswith(".js") for name in template.component_files([kind])), kind
    files = template.component_files(kinds)
    assert len(files) == len(set(files))
    assert all((template.ASSETS / name).is_file() for name in files)


def test_a_list_that_cannot_be_read_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file, or one that says something else."""
    monkeypatch.setattr(template, "ASSETS", tmp_path)
    assert template.component_files(["html"]) == []
    (tmp_path / "core-1.js").write_text("html:{component:()=>v(()=>import(`./x.js`)}")
    assert template.component_files(["html"]) == []


# The folder for uploads: of this process alone, and gone with it.


def test_what_another_gradio_app_holds_is_not_served(workspace: Workspace) -> None:
    """Its folder is the default of all of them; ours can be read by this user only."""
    shared = Path(tempfile.gettempdir()) / "gradio"
    shared.mkdir(exist_ok=True)
    with launched(workspace) as client, tempfile.TemporaryDirectory(dir=shared) as others:
        secret = Path(others) / "secret.csv"
        secret.write_text("of another app")
        assert client.get(f"/gradio_api/file={secret}").status_code == 403
        files = {"files": ("a.csv", b"text\nours\n")}
        (uploaded,) = client.post("/gradio_api/upload", files=files).json()
        assert client.get(f"/gradio_api/file={uploaded}").text == "text\nours\n"
    folder = scratch.folder()
    assert Path(uploaded).is_relative_to(folder)
    if os.name == "posix":
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_nothing_is_left_when_the_process_is_gone(tmp_path: Path) -> None:
    """At its end, or at the start of the next; never that of a process that still runs."""
    code = (
        "import os, sys; from theodolite.app.web import scratch\n"
        "print(scratch.folder(), flush=True); 'killed' in sys.argv and os._exit(1)"
    )

    def run(*how: str) -> Path:
        done = subprocess.run(
            [sys.executable, "-c", code, *how],
            env=os.environ | {"GRADIO_TEMP_DIR": str(tmp_path)},
            text=True,
            stdout=subprocess.PIPE,
        )
        return Path(done.stdout.strip())

    ended, left = run(), run("killed")
    assert ended.parent == left.parent == tmp_path
    assert left.exists() and not ended.exists()
    busy, unknown, new = (tmp_path / f"theodolite-{name}" for name in ("busy", "unknown", "new"))
    for folder in (busy, unknown, new):
        folder.mkdir()
    (new / ".in-use").touch()
    with FileLock(busy / ".in-use"):
        for folder in (left, busy, unknown):
            os.utime(folder, (0, 0))
        run()
    assert not left.exists()
    assert busy.exists() and unknown.exists() and new.exists()


# What is served beside the pages: what the palette offers and the rail counts, the docs.


def told(workspace: Workspace, name: str):
    """The answer to the browser."""
    app = Starlette(routes=[*palette.routes(workspace, ui.RAIL)])
    return TestClient(app).get(f"/theodolite/{name}.json").json()


def test_places_of_every_kind_lead_to_their_page(workspace: Workspace) -> None:
    """Pages first; names are quoted in their addresses."""
    workspace.store.encoders.add("random:64 | normalise")
    run = workspace.store.runs.create("evaluate", {}, title="STS <b>")
    found = told(workspace, "places")
    links = {(place["kind"], place["title"]): place["href"] for place in found}
    assert [place["kind"] for place in found][: len(ui.PAGES)] == ["page"] * len(ui.PAGES)
    assert links == links | {
        ("page", "Home"): "./",
        ("page", "Decode: Arithmetic"): "./arithmetic",
        ("encoder", "random:64 | normalise"): "./encoders?encoder=random%3A64+%7C+normalise",
        ("data set", "starter-topics"): "./data?set=starter-topics",
        ("task", "StarterSTS"): "./compare?task=StarterSTS",
        ("run", "STS <b>"): f"./jobs?run={run}",
    }


def test_visitors_are_told_of_nothing_that_is_not_listed(workspace: Workspace) -> None:
    """The palette of a read-only workspace names the same places as its pages list."""
    looking = Workspace(workspace.store.folder, read_only=True)
    kinds = {
        "encoder": set(looking.store.encoders.names()),
        "data set": set(looking.catalog.names()),
    }
    found = told(looking, "places")
    assert kinds == {
        kind: {place["title"] for place in found if place["kind"] == kind} for kind in kinds
    }


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(Starlette(routes=docs.routes()))


def test_a_page_is_read_and_links_to_others(client: TestClient) -> None:
    page = client.get("/theodolite/docs/encoders")
    assert "<title>Encoders as text · Theodolite</title>" in page.text
    assert "<table>" in page.text and ".md" not in page.text.replace("README.md", "")
    assert client.get("/theodolite/docs/pages/data").status_code == 200


@pytest.mark.parametrize("name", ["", "x", "../setup", "..%2F..%2FREADME", "encoders.md", "hooks"])
def test_nothing_else_is_served(client: TestClient, name: str) -> None:
    assert client.get(f"/theodolite/docs/{name}").status_code == 404


def test_what_a_page_holds_stays_text() -> None:
    shown = docs.html("# A & B\n\n<script>x</script> ![p](p.webp) [more](scores.md#a)\n")
    assert "&lt;script&gt;" in shown and "<img" not in shown and 'href="scores#a"' in shown


# What a page says while it works: at once, with a bar; given up when it is not wanted any more.


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is told almost at once."""
    monkeypatch.setattr(working, "SOON_SECONDS", 0.01)
    monkeypatch.setattr(working, "EVERY_SECONDS", 0.01)


class Held:
    """A call that says a word again and again, and ends when it is let go."""

    def __init__(self) -> None:
        self.go, self.ended = threading.Event(), threading.Event()

    def __call__(self, say: working.Say) -> list[int]:
        try:
            while not self.go.wait(0.02):
                say("Still at it", None, None)
        finally:
            self.ended.set()
        return [1]


@pytest.mark.usefixtures("hasty")
def test_what_takes_long_is_told_step_by_step() -> None:
    """First what is done, then how far with the time left, last the answer."""
    event, halfway = threading.Event(), threading.Event()

    def work(say: working.Say) -> list[int]:
        event.wait(60)
        say("Encoding <b>", 0.5, 20.0)
        halfway.wait(60)
        return [7]

    steps = working.follow(work, "Loading")
    first, nothing = next(steps)
    assert "Loading" in first and "t-unknown" in first and nothing is None
    event.set()
    second, _ = next(steps)
    assert 'aria-valuenow="50"' in second and "about 20 s left" in second
    assert "Encoding &lt;b&gt;" in second
    halfway.set()
    assert next(steps) == ("", [7])


@pytest.mark.usefixtures("hasty")
def test_a_new_question_of_a_tab_ends_the_old_one() -> None:
    """The old work stops at its next word; another tab's goes on."""
    old, elsewhere = Held(), Held()
    before = working.follow(old, "Old", "tab")
    other = working.follow(elsewhere, "Other", "another tab")
    assert next(before)[1] is next(other)[1] is None
    assert list(working.follow(lambda say: [3], "New", "tab"))[-1] == ("", [3])
    assert list(before) == []
    assert old.ended.wait(60)
    elsewhere.go.set()
    assert list(other)[-1] == ("", [1])


@pytest.mark.usefixtures("hasty")
def test_who_hangs_up_leaves_no_work_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over HTTP, as a closed tab does: the server notices, and the work ends by itself."""
    monkeypatch.setattr(working, "ALIVE_SECONDS", 0.1)
    held = Held()

    def answer(request: gr.Request) -> Iterator[Answer]:
        for progress, _ in working.follow(held, "At it", request.session_hash):
            yield {shown: progress}

    with gr.Blocks(analytics_enabled=False) as demo:
        shown = parts.static("")
        on(gr.Button().click, answer, None, [shown], parts.notice())
    demo.queue().launch(prevent_thread_lock=True, quiet=True)
    try:
        body = {"fn_index": 0, "data": [""], "session_hash": "gone"}
        with httpx.Client(base_url=demo.local_url, timeout=60) as client:
            client.post("gradio_api/queue/join", json=body).raise_for_status()
            url, about = "gradio_api/queue/data", {"session_hash": "gone"}
            with client.stream("GET", url, params=about) as lines:
                assert any("Still at it" in line for line in lines.iter_lines())
        assert held.ended.wait(40)
    finally:
        held.go.set()
        demo.close()


def test_encoding_goes_part_by_part(starter: Workspace) -> None:
    """Shares that grow to one, and nothing lacks afterwards."""
    seen = list(vectors.encode_missing(starter, "random:21", "starter-topics"))
    shares = [share for _, share, _ in seen if share is not None]
    assert len(shares) > 5 and shares == sorted(shares)
    assert shares[-1] == 1
    assert "Encoding 2,040 sentences of starter-topics" in seen[-1][0]
    for spec in ("random:21", "random:21 | normalise"):  # steps share the vectors
        assert vectors.missing(starter, spec, "starter-topics") == 0


def test_what_would_take_too_long_is_left_to_a_run(
    starter: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says how long, and keeps what it has."""
    monkeypatch.setattr(vectors, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(vectors.TooSlow) as slow:
        list(vectors.encode_missing(starter, "random:22", "starter-topics"))
    assert slow.value.left > 0
    assert 0 < vectors.missing(starter, "random:22", "starter-topics") < 2040
