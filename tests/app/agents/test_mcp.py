"""`theodolite mcp`, asked by the client of the protocol's own package over a pipe."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes.stores import invent_all
from theodolite.app import pages
from theodolite.app.agents.allowed import Allowed
from theodolite.app.agents.tools import MAX_ENCODERS, Tools
from theodolite.app.pages.choose.answer import CHOOSE
from theodolite.app.pages.compare.answer import COMPARE
from theodolite.app.pages.decode.answer import DECODE, INTERPOLATE
from theodolite.app.pages.diagnose.answer import DIAGNOSE
from theodolite.app.pages.geometry.answer import DISTRIBUTIONS
from theodolite.app.pages.search.answer import SEARCH
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

ROOT = Path(__file__).parents[3]


@pytest.fixture
def workspace(home: Path) -> Workspace:
    """Two invented results, and the starter set."""
    made = Workspace(home / "store", hub_files=False)
    invent_all(made, {"random:8": 0.9, "random:4": 0.6})
    return made


def test_an_agent_measures_compares_and_searches(workspace: Workspace, tmp_path: Path) -> None:
    """One server answers all: typed rows, errors as sentences, and only evaluations are kept."""
    mcp = pytest.importorskip("mcp")
    stdio = pytest.importorskip("mcp.client.stdio")
    calls = (
        ("encoders", {}),
        ("data", {}),
        ("compare", {"encoders": ["random:8", "random:4"]}),
        ("evaluate", {"encoders": ["random:16"], "tasks": "StarterSTS"}),
        ("results", {"encoders": ["random:16"], "tasks": "StarterTopics, StarterSTS"}),
        ("board", {}),
        ("search", {"queries": ["a dog"], "encoders": ["random:16"], "k": 2}),
        ("decode", {"sentences": ["A man plays a guitar."], "encoders": ["random:256"]}),
        ("search", {"queries": ["a dog"], "encoders": [f"dir:{tmp_path}"]}),
        ("search", {"queries": "no list"}),
        ("results", {"encoder": "random:16"}),
        ("search", {"queries": ["a dog"], "by": "colour"}),
    )

    async def talk() -> tuple[dict, list]:
        server = mcp.StdioServerParameters(
            command=sys.executable,
            args=["-m", "theodolite.app", "mcp", "--store", str(workspace.store.folder)],
            env={
                name: os.environ[name]
                for name in ("PATH", "PYTHONPATH", "OMP_NUM_THREADS")
                if name in os.environ
            },
            cwd=ROOT,
        )
        # Its default is the stderr of whichever test imported the package first.
        async with mcp.Client(stdio.stdio_client(server, errlog=sys.__stderr__)) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            return tools, [await client.call_tool(name, given) for name, given in calls]

    tools, answers = asyncio.run(talk())
    assert tools.keys() == {name for name, _ in calls} | set(pages.questions())
    assert [name for name, tool in tools.items() if not tool.annotations.read_only_hint] == [
        "evaluate"
    ]
    assert "at most 8" in tools["evaluate"].input_schema["properties"]["encoders"]["description"]
    assert "rows" in tools["search"].output_schema["properties"]
    contents = [answer.structured_content for answer in answers[:8]]
    kept, data, compared, measured, known, board, hits, decoded = contents
    assert {"random:8", "random:4"} <= {row["name"] for row in kept["rows"]}
    assert "starter-topics" in {row["name"] for row in data["rows"]}
    assert compared["rows"][1]["verdict"] == "random:8 is better"
    assert measured["rows"][0]["score"] == known["rows"][0]["score"]
    assert {row["encoder"] for row in board["rows"]} == {"random:4", "random:8", "random:16"}
    assert [row["rank"] for row in hits["rows"]] == [1, 2]
    assert decoded["rows"][0]["sentence"].startswith("a man")
    assert all(answer.is_error for answer in answers[8:])
    refused, malformed, misspelt, unknown = (answer.content[0].text for answer in answers[8:])
    assert "outside the folders" in refused
    assert "queries" in malformed and "no list" in malformed and "\n" not in malformed
    assert "'encoder'" in misspelt and "encoders, tasks" in misspelt
    assert "'meaning'" in unknown and "'colour'" in unknown
    assert "meaning" in tools["search"].input_schema["properties"]["by"]["enum"]
    assert workspace.store.encoders.get("random:16") is None
    assert [run["kind"] for run in workspace.store.runs.list()] == ["evaluate"]


def test_nothing_is_opened_that_was_not_allowed(workspace: Workspace, tmp_path: Path) -> None:
    """Paths by links and `..` too; what the person keeps is allowed as it is."""
    root, beside = tmp_path / "models", tmp_path / "beside"
    for folder in (root, beside):
        folder.mkdir()
    (root / "link").symlink_to(beside)
    allowed = Allowed(workspace, [root])
    assert allowed.encoder(f"dir:{root}/mine | normalise").startswith("dir:")
    for spec in (
        f"dir:{beside}",
        f"dir:{root}/../beside",
        f"dir:{root}/link/x",
        f"words:{beside}/w.txt",
        f"vectors:{beside}/v.parquet",
        f"random:8?words={beside}/w.txt",
        f"minilm + dir:{beside}",
        "hf:some/model",
        "api:http://127.0.0.1:9#m",
        "random:8 | center:hub:some/data",
    ):
        with pytest.raises(UserError):
            allowed.encoder(spec)
    workspace.store.encoders.add(f"dir:{beside}", {})
    assert allowed.encoder(f"dir:{beside}") == f"dir:{beside}"
    for name in ("hub:some/data", "upload:none", str(beside)):
        with refused("unknown", name):
            allowed.data(name)


def test_what_is_left_out_or_named_alone_is_understood(workspace: Workspace) -> None:
    """An empty default names no encoder, and a text is no list of its letters."""
    tools = Tools(workspace, Allowed(workspace))
    with refused("no-result", "random:8 on StarterSTS"):
        tools.ask(DISTRIBUTIONS)(encoders=["random:8"], task="StarterSTS")
    with refused("no-result", "choose"):
        tools.ask(CHOOSE)(data="starter-topics", encoders=["random:8"], train="")
    with refused("unknown", __file__):
        tools.ask(DIAGNOSE)(encoder="random:256", text=__file__)
    with refused("denied", "outside the folders"):
        tools.ask(CHOOSE)(data="starter-topics", rankers="fuse(bm25, dir:/etc)")


def test_what_is_too_much_is_refused(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a sentence that names the limit."""
    monkeypatch.setattr("theodolite.app.agents.tools.MAX_SENTENCES", 2_000)
    tools = Tools(workspace, Allowed(workspace))
    search, compare = tools.ask(SEARCH), tools.ask(COMPARE)
    for limit, ask in (
        (MAX_ENCODERS, lambda: compare(encoders=[f"random:{n}" for n in range(2, 11)])),
        ("2,000", lambda: search(queries=["x" * 2001])),
        (8, lambda: search(queries=["x"], encoders=["minilm"] * 9)),
        (10, lambda: tools.ask(DECODE)(sentences=["x"] * 11)),
        ("2,040", lambda: tools.ask(INTERPOLATE)(first="a", second="b", data="starter-topics")),
    ):
        with refused("too-large", limit):
            ask()
    with pytest.raises(UserError, match=r"not fetched|no data set"):
        tools.evaluate(["random:8"], "hub:some/data")
