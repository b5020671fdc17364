"""The documentation says what is there, also as a site; what costs little is executed, too."""

import doctest
import importlib
import re
import shlex
import sys
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest
from typer.main import get_command

from tests.fakes.command_line import theodolite
from theodolite.app.cli import app
from theodolite.app.pages.evaluate.results import evaluate_one
from theodolite.app.workspace import Workspace

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMAND = get_command(app)
CHEAP = (
    "data list",
    "data show",
    "decoders card",
    "encoders add wordllama",
    "jobs list",
    "results export scores",
    "results list",
    "runs",
    "store check",
    "store clean",
    "workers",
)


def in_blocks(text: str) -> list[tuple[str, ...]]:
    """The arguments of each `theodolite` in the blocks of a page that are for a shell."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", text, re.M | re.S)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [found for line in lines if re.search(r"\btheodolite\b", line) for found in _split(line)]


def in_sentences(text: str) -> list[tuple[str, ...]]:
    """The same of what stands between single backticks."""
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)
    quoted = [" ".join(one.split()) for one in re.findall(r"`([^`]+)`", prose)]
    # Words in capitals, and three dots, stand for what somebody fills in.
    return [_split(one)[0] for one in quoted if re.match(r"theodolite [a-z-]", one)]


def in_help() -> list[tuple[str, ...]]:
    """The examples in the help of every command, each of which has one of its own."""
    waiting, found = [((), COMMAND)], []
    while waiting:
        path, command = waiting.pop()
        waiting += [((*path, name), one) for name, one in getattr(command, "commands", {}).items()]
        paragraphs = [" ".join(one.split()) for one in re.split(r"\n\s*\n", command.help or "")]
        own = [_split(one)[0] for one in paragraphs if one.startswith("theodolite ")]
        assert hasattr(command, "commands") or any(one[: len(path)] == path for one in own), path
        found += own
    return found


def _split(line: str) -> list[tuple[str, ...]]:
    found: list[list[str]] = []
    ours = False
    for word in shlex.split(line, comments=True):
        if word in {"&&", "||", "|", ">", ">>", "<", ";"}:  # of the shell
            ours = False
        elif word == "theodolite":
            ours = True
            found.append([])
        elif ours:
            found[-1].append(word)
    return [tuple(one) for one in found]


def parse(arguments: tuple[str, ...], *, partly: bool = False) -> None:
    """Read arguments as the command line does, and execute nothing.

    Args:
        arguments: without the name of the program.
        partly: whether some may be missing.
    """
    words = ["serve", *arguments] if not arguments or arguments[0][0] == "-" else [*arguments]
    command = COMMAND
    context = command.make_context("theodolite", words)
    while hasattr(command, "commands"):
        rest = [*context._protected_args, *context.args]
        if not rest:
            return
        name, command, rest = command.resolve_command(context, rest)
        partly = partly or (not rest and hasattr(command, "commands"))
        context = command.make_context(name, rest, parent=context, resilient_parsing=partly)


WRITTEN = sorted({found for page in PAGES for found in in_blocks(page.read_text("utf-8"))})
MENTIONED = sorted({found for page in PAGES for found in in_sentences(page.read_text("utf-8"))})


@pytest.mark.parametrize("arguments", WRITTEN, ids=" ".join)
def test_a_command_of_the_documentation_can_be_pasted(arguments: tuple[str, ...]) -> None:
    """Its verb, its options and their values, and each argument that it needs."""
    parse(arguments)


@pytest.mark.parametrize("arguments", MENTIONED, ids=" ".join)
def test_a_command_that_a_sentence_mentions_is_there(arguments: tuple[str, ...]) -> None:
    """Its verb and its options; the rest may be left out."""
    parse(arguments, partly=True)


def test_the_examples_of_the_help_can_be_pasted() -> None:
    """As those on the pages."""
    examples = in_help()
    assert len(examples) > 50
    for arguments in examples:
        parse(arguments)


def test_what_costs_little_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine where nothing was done yet."""
    monkeypatch.setenv("THEODOLITE_HOME", str(tmp_path / "store"))
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    assert evaluate_one(Workspace(tmp_path / "store"), "random:16", "StarterSTS")["error"] is None
    cheap = [one for one in WRITTEN if " ".join(one).startswith(CHEAP)]
    assert len(cheap) >= len(CHEAP)
    for arguments in cheap:
        theodolite(*arguments)


README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The example of the section Python prints a number for each starter task."""
    monkeypatch.setenv("THEODOLITE_HOME", str(tmp_path / "store"))
    exec(re.search(r"```python\n(.*?)```", README, re.S).group(1), {})  # noqa: S102
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [task for task, _ in printed] == ["StarterSTS", "StarterTopics", "StarterSearch"]
    assert all(0 < float(score) < 100 for _, score in printed)


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    """At most 150 lines; the rest stands in docs/, whose links the site follows when built."""
    assert len(README.splitlines()) <= 150
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


# The documentation as a site: what is written, what is made of the code, and that links lead.


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` does: a warning ends it, as for a link that leads nowhere."""
    pytest.importorskip("properdocs")
    from properdocs.commands.build import build
    from properdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "properdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_verbs_protocols_and_names_are_those_of_the_code(site: Path) -> None:
    """Each verb, also of a group, each protocol and each name for Python has a heading."""
    import theodolite
    from theodolite.engine.protocols import PROTOCOLS

    verbs = set()
    for name, verb in get_command(app).commands.items():
        verbs |= {name, *(f"{name} {own}" for own in vars(verb).get("commands", ()))}
    assert {f"theodolite {verb}" for verb in verbs} <= headings(site / "command-line.html")
    assert set(PROTOCOLS) <= headings(site / "protocols.html")
    assert set(theodolite.__all__) <= headings(site / "python-reference.html")


def test_every_page_of_the_app_has_a_page(site: Path) -> None:
    """Under the name of its address, with its title and picture, and in the list of pages."""
    from theodolite.app.ui import RAIL

    listed = (site / "pages" / "index.html").read_text(encoding="utf-8")
    tabs = [tab for group in RAIL for entry in group for tab in entry.pages.items()]
    for label, page in tabs:
        name = page.PATH or "overview"
        assert page.TITLE in headings(site / "pages" / f"{name}.html")
        assert f'<td><a href="{name}.html">{label}</a></td>' in listed
        written = (ROOT / "docs" / "pages" / f"{name}.md").read_text(encoding="utf-8")
        assert f"![The page {page.TITLE}]({name}.webp)" in written


def test_the_pictures_are_small() -> None:
    """They travel with every checkout."""
    docs = ROOT / "docs"
    pictures = [*docs.glob("*.png"), *(docs / "pages").glob("*.webp")]
    assert sum(picture.stat().st_size for picture in pictures) < 2_500_000


def test_nothing_comes_from_another_host(site: Path) -> None:
    """No script, style, font or picture: the site is read without a network."""
    for page in site.rglob("*.html"):
        fetched = re.findall(r"<(?:script|img|link)\b[^>]*>", page.read_text(encoding="utf-8"))
        assert not [tag for tag in fetched if re.search(r"""=["']?(?:https?:)?//""", tag)]
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//", style.read_text(encoding="utf-8"))


def test_the_examples_of_adding_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, and the run does its unit; `tests.app.test_question` asks the page."""
    added = ModuleType("added")
    monkeypatch.setitem(sys.modules, "added", added)
    text = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    for example in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(example, "docs/adding.md", "exec"), vars(added))  # noqa: S102
    assert list(added.asked.work(Workspace(tmp_path), 0, None)) == [2040]


@pytest.mark.parametrize(
    "module",
    [
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for file in sorted((ROOT / "engine").rglob("*.py"))
        if ">>> " in file.read_text(encoding="utf-8")
    ],
)
def test_the_examples_of_docstrings_run(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"theodolite.{module}"))
    assert result.failed == 0 < result.attempted


def headings(page: Path) -> set[str]:
    """Their texts, without the sign that links to them."""
    found = re.findall(r"<h[1-4][^>]*>(.*?)<a class=.headerlink", page.read_text(encoding="utf-8"))
    return {unescape(re.sub(r"<[^>]+>", "", one)).strip() for one in found}
