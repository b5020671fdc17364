"""The documentation as a site: what is written, what is made of the code, and that links lead."""

import re
import sys
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("properdocs")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` does: a warning ends it, as for a link that leads nowhere."""
    from properdocs.commands.build import build
    from properdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "properdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_verbs_protocols_and_names_are_those_of_the_code(site: Path) -> None:
    """Each verb, also of a group, each protocol and each name for Python has a heading."""
    from typer.main import get_command

    import theodolite
    from theodolite.app.cli import app
    from theodolite.engine.protocols import PROTOCOLS

    verbs = set()
    for name, verb in get_command(app).commands.items():
        verbs |= {name, *(f"{name} {own}" for own in vars(verb).get("commands", ()))}
    assert {f"theodolite {verb}" for verb in verbs} <= headings(site / "command-line.html")
    assert set(PROTOCOLS) <= headings(site / "protocols.html")
    assert set(theodolite.__all__) <= headings(site / "python-reference.html")


def test_every_page_of_the_app_has_a_page(site: Path) -> None:
    """Under the name of its address, with its title and picture, and in the list of pages."""
    from theodolite.app.ui import PAGES

    listed = (site / "pages" / "index.html").read_text(encoding="utf-8")
    for page in PAGES:
        name = page.PATH or "overview"
        assert page.TITLE in headings(site / "pages" / f"{name}.html")
        assert f'<td><a href="{name}.html">{page.TITLE}</a></td>' in listed
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
    from theodolite.app.workspace import Workspace

    added = ModuleType("added")
    monkeypatch.setitem(sys.modules, "added", added)
    text = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    for example in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(example, "docs/adding.md", "exec"), vars(added))  # noqa: S102
    workspace = Workspace(tmp_path)
    assert list(added.asked.work(workspace, 0, None)) == [2040]
    workspace.close()


def headings(page: Path) -> set[str]:
    """Their texts, without the sign that links to them."""
    found = re.findall(r"<h[1-4][^>]*>(.*?)<a class=.headerlink", page.read_text(encoding="utf-8"))
    return {unescape(re.sub(r"<[^>]+>", "", one)).strip() for one in found}
