"""One declaration a question: a page in one file is on every surface without another line."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest

from tests.errors import refused
from theodolite.app.pages.search.answer import SEARCH, SearchSpec
from theodolite.app.spec import Field, Spec, parameters
from theodolite.app.surfaces import web

ROOT = Path(__file__).parents[2]
ASKED = """
import asyncio, json, sys
from pathlib import Path

import theodolite.app.pages as pages

here = Path(sys.argv[1])
pages.__path__.append(str(here))
pages.RAIL = (*pages.RAIL, (pages.Line("data", {"": "lengths"}),))
pages.FOLDERS = (*pages.FOLDERS, "lengths")

import theodolite
from theodolite.app import ui
from theodolite.app.agents.allowed import Allowed
from theodolite.app.agents.server import server
from theodolite.app.agents.tools import Tools
from theodolite.app.cli import app
from theodolite.app.publish import site
from theodolite.app.published import Choice
from theodolite.app.workspace import Workspace
from typer.testing import CliRunner

workspace = Workspace(here / "store")
demo = ui.build(workspace)
run = lambda *words: CliRunner().invoke(app, [*words, "--store", str(here / "store")]).stdout
rows = theodolite.lengths("starter-topics", workspace=workspace).rows()
agent = server(Tools(workspace, Allowed(workspace)))
called = asyncio.run(agent.call_tool("lengths", {"data": "starter-topics"}))
run("report", "lengths", "starter-topics", "--out", str(here / "lengths.html"))
chosen = Choice({}, texts={"starter-topics": "starter-topics"})
files = site.freeze(workspace, chosen, at=[("lengths", (("data", "starter-topics"),))]).files
print(json.dumps({
    "paths": [path for path, *_ in demo.pages],
    "rows": rows,
    "help": run("lengths", "--help"),
    "command": run("lengths", "starter-topics", "--json").splitlines(),
    "agent": str(called),
    "published": any(b"Half of the sentences" in data for data in files.values()),
}))
"""


def test_a_page_in_one_file_is_on_every_surface(tmp_path: Path) -> None:
    """The page of the docs: in the app, Python, a terminal, for agents, in a report, published."""
    docs = (ROOT / "docs/adding.md").read_text()
    (page,) = re.findall(r"(?s)```python\n(\"\"\"How long.*?)```", docs)
    (tmp_path / "lengths.py").write_text(page)
    done = subprocess.run(
        [sys.executable, "-c", ASKED, tmp_path], capture_output=True, text=True, check=False,
        env={**os.environ, "THEODOLITE_DATA": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    asked = json.loads(done.stdout.splitlines()[-1])
    assert "lengths" in asked["paths"]
    assert len(asked["rows"]) == 3 and asked["rows"] == list(map(json.loads, asked["command"]))
    assert "How many are listed" in asked["help"]
    assert asked["rows"][0]["sentence"][:40] in asked["agent"]
    assert (tmp_path / "lengths.html").stat().st_size > 10_000
    assert asked["published"]


@dataclass(frozen=True)
class Asked(Spec):
    """Of every type."""

    name: Annotated[str, Field("Name")]
    many: Annotated[Sequence[str], Field("Many")] = ()
    k: Annotated[int, Field("Top k", ge=1, le=9)] = 5
    share: Annotated[float | None, Field("Share", ge=0, le=1)] = None
    by: Annotated[str, Field("By", choices={"a": "A", "b": "B"})] = "a"
    also: Annotated[bool, Field("Also")] = False


def test_values_come_in_their_types_whoever_gives_them() -> None:
    """A control's None is the default, a number may be text, one text may stand for several."""
    asked = Asked("x", "one", "3", "0.5", None, 1)
    assert asked == Asked("x", ("one",), 3, 0.5, "a", True)
    assert hash(asked) == hash(Asked("x", ["one", "one"], 3.0, 0.5, "a", True))
    assert Asked("x", share="").share is None


@pytest.mark.parametrize(
    ("given", "code", "named"),
    [
        ({"k": 10}, "invalid", ("Top k", "10", "1 to 9")),
        ({"k": 2.5}, "invalid", ("Top k", "2.5")),
        ({"share": "x"}, "invalid", ("Share", "'x'")),
        ({"by": "c"}, "unknown", ("By", "'c'", "a, b")),
        ({"name": 3}, "invalid", ("Name", "int")),
        ({"many": {"a": "b"}}, "invalid", ("Many", "dict", "list")),
    ],
)
def test_what_a_value_may_not_be_is_said_by_its_label(
    given: dict, code: str, named: tuple[str, ...]
) -> None:
    with refused(code, *named):
        Asked(**({"name": "x"} | given))


def test_the_command_of_a_spec_asks_the_same() -> None:
    spec = SearchSpec(["a dog", "a cat"], k=3, unlike=["a bird"], index=True)
    assert SEARCH.command(spec) == [
        "search", "a dog", "a cat", "-k", "3", "--by", "examples", "--unlike", "a bird", "--index",
    ]  # fmt: skip


def test_a_control_has_the_bounds_and_the_name_in_the_address_of_its_field() -> None:
    controls = {one.name: one for one in web.controls(SearchSpec)}
    assert list(controls) == [one.name for one in parameters(SearchSpec)]
    assert controls["k"].options["maximum"] == 1000 and controls["data"].key == "in"
