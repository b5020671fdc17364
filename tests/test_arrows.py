"""Imports point one way, app -> engine and app -> store; the light, like the door, stay light."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import theodolite
from theodolite.app.cli import PLACES, _place as _place_of

ROOT = Path(__file__).parent.parent

FORBIDDEN = {
    "engine": {
        "app",
        "store",
        "gradio",
        "plotly",
        "typer",
        "sqlite3",
        "psycopg",
    },
    "store": {
        "app",
        "engine",
        "gradio",
        "plotly",
        "typer",
        "torch",
        "transformers",
        "sentence_transformers",
        "faiss",
        "sklearn",
        "umap",
    },
}

OPTIONAL = {"faiss", "umap", "gradio", "psycopg"}
"""What a machine may lack and still import the engine."""

SHARED = {
    "board.cost",
    "board.examples",
    "board.training_data",
    "choose.data",
    "curate.leaks",
    "data.choices",
    "data.form",
    "data.similarity",
    "encoders.choices",
    "evaluate.answer",
    "evaluate.results",
    "jobs.run_panel",
    "jobs.views",
    "judge.session",
}
"""Modules of a page's folder that are made for the other pages; beside them only services are."""

HEAVY = {"torch", "transformers", "sentence_transformers", "sklearn", "umap", "faiss"}


@cache
def imports(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Those of a module anywhere, in functions and for types too."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imported(path: Path) -> set[str]:
    """Packages that a module imports anywhere, in functions too; of ours by the second name."""
    found = set()
    for node in imports(path):
        if isinstance(node, ast.Import):
            found |= {_package(alias.name) for alias in node.names}
        elif node.module == "theodolite":
            found |= {alias.name for alias in node.names}
        elif node.level == 0 and node.module:
            found.add(_package(node.module))
    return found


def _package(module: str) -> str:
    return module.removeprefix("theodolite.").split(".")[0]


def module_name(path: Path) -> str:
    """What a file of ours is imported as."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("theodolite", *parts)).removesuffix(".__init__")


@cache
def imports_between_modules() -> dict[str, set[str]]:
    """Module -> modules of ours that it imports, in functions and for types too."""
    files = {
        module_name(path): path
        for package in ("app", "engine", "store")
        for path in sorted((ROOT / package).rglob("*.py"))
    }
    found: dict[str, set[str]] = {}
    for name, path in files.items():
        targets = set()
        for node in imports(path):
            if isinstance(node, ast.Import):
                targets |= {alias.name for alias in node.names}
            elif node.module:
                full = {f"{node.module}.{alias.name}" for alias in node.names}
                targets |= {name if name in files else node.module for name in full}
        found[name] = {target for target in targets if target in files} - {name}
    for name in ("theodolite.app.ui", "theodolite.app.cli"):  # which import every page by the list
        found[name] |= {other for other in files if other.startswith("theodolite.app.pages.")}
    return found


def modules_after(*statements: str) -> list[set[str]]:
    """Top-level modules that a fresh interpreter holds after each of the statements."""
    tell = "print(*{name.split('.')[0] for name in sys.modules})"
    code = "\n".join(["import sys", *(f"{statement}\n{tell}" for statement in statements)])
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    told = subprocess.check_output(command, text=True, cwd=ROOT, env=environment)
    return [set(line.split()) for line in told.splitlines()]


@pytest.mark.parametrize("package", sorted(FORBIDDEN))
def test_arrows_point_one_way(package: str) -> None:
    """No module imports what its package must not know."""
    turned = {
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for name in imported(path) & FORBIDDEN[package]
    }
    assert not turned


def imports_between_scripts() -> dict[str, set[str]]:
    """Script of the components -> scripts that it imports."""
    folder = ROOT / "app" / "components" / "js"
    return {
        str(path): {
            str((path.parent / name).resolve())
            for name in re.findall(r'(?:from|import) "(\.{1,2}/[^"]+)"', path.read_text("utf-8"))
        }
        for path in folder.resolve().rglob("*.js")
    }


def imports_between_pages() -> dict[tuple[str, str], set[str]]:
    """(page, other page) -> modules of the other that the first imports, `SHARED` left out."""
    found: dict[tuple[str, str], set[str]] = {}
    for name, targets in imports_between_modules().items():
        for target in targets:
            (page, _), (other, module) = _place(name), _place(target)
            if page and other and page != other and f"{other}.{module}" not in SHARED:
                found.setdefault((page, other), set()).add(module)
    return found


def _place(name: str) -> tuple[str, str]:
    """The page's folder and the module in it; empty for what stands elsewhere."""
    *folder, page, module = ["", "", *name.split(".")]
    return (page, module) if folder[-2:] == ["app", "pages"] else ("", "")


def questions_between_pages() -> dict[str, set[str]]:
    """Page -> pages that it asks."""
    found: dict[str, set[str]] = {}
    for page, other in imports_between_pages():
        found.setdefault(page, set()).add(other)
    return found


@pytest.mark.parametrize(
    "scan", [imports_between_modules, imports_between_scripts, questions_between_pages]
)
def test_none_import_each_other_in_a_circle(scan: Callable[[], dict[str, set[str]]]) -> None:
    """Nor in a function, nor for a type: a circle is a piece in the wrong place.

    A page can be understood, and left out, without those that it does not ask.
    """
    graph = scan()
    assert len(graph) > 10
    while leaves := {name for name, targets in graph.items() if not targets & graph.keys()}:
        graph = {name: targets for name, targets in graph.items() if name not in leaves}
    assert not {name for name, targets in graph.items() if targets & graph.keys()}


def test_pages_ask_other_pages_only_through_their_services() -> None:
    """What else several pages need stands in no page's folder."""
    beside = {
        (page, f"{other}.{module}")
        for (page, other), modules in imports_between_pages().items()
        for module in modules - {"service", "job"}
    }
    assert not beside


def test_services_have_no_face_and_verbs_no_page() -> None:
    """What a page does is asked by tests, agents and terminals too."""
    faces = {"page", "command", "views", "terminal"}
    wrong = set()
    for name, targets in imports_between_modules().items():
        page, module = _place(name)
        if page and module in ("service", "job", "command"):
            seen = {
                t
                for t in targets
                if t.startswith("theodolite.app.web.") or t.split(".")[-1] in faces
            }
            if module == "command":
                seen -= {"theodolite.app.terminal", *(t for t in seen if t.endswith(".command"))}
            else:
                path = ROOT.joinpath(*name.split(".")[1:]).with_suffix(".py")
                seen |= imported(path) & {"gradio", "typer", "plotly", "html"}
            wrong |= {f"{name} imports {target}" for target in seen}
    assert not wrong


def test_importing_stays_light(tmp_path: Path) -> None:
    """Nothing is imported before a name is used, and Gradio not before there is a page.

    That is up before torch, scikit-learn, faiss or umap are needed; a store is opened, and words
    are encoded, without pandas and without torch.
    """
    theodolite.Workspace(tmp_path).close()
    door, asked, encoded, page = modules_after(
        "import theodolite",
        "theodolite.compare, theodolite.search",
        f"theodolite.Workspace({str(tmp_path)!r}).load('random:8').encode(['a word'])",
        "import theodolite.engine, theodolite.store, theodolite.app.ui\n"
        "from gradio import component_meta\n"
        "component_meta.create_or_modify_pyi(None, '', [])",  # fails where it writes stubs
    )
    assert not door & (HEAVY | {"gradio", "numpy"})
    assert not asked & (HEAVY | {"gradio"})
    assert not encoded & (HEAVY | {"gradio", "pandas"})
    assert not page & (HEAVY | {"mcp"})


def test_no_verb_imports_gradio() -> None:
    """But for those that make pages; what a verb imports when it is run counts too."""
    files = {_place_of(verb).partition(":")[0] for verb in PLACES}
    reached = {
        name: imports_between_modules()[name]
        for name in sorted(files - {"theodolite.app.serve", "theodolite.app.publish.command"})
    }
    after = modules_after(*(f"import {', '.join(sorted(reached[n] | {n}))}" for n in reached))
    first = next(
        (name for name, held in zip(reached, after, strict=True) if "gradio" in held), None
    )
    assert first is None


def test_every_engine_module_imports_without_the_optional_packages() -> None:
    """Each module of the engine can be imported where what is optional is missing."""
    names = [module_name(path) for path in sorted((ROOT / "engine").rglob("*.py"))]
    block = "; ".join(f"sys.modules[{name!r}] = None" for name in sorted(OPTIONAL))
    modules_after(
        f"{block}\nimport importlib, theodolite\ntheodolite.load\n"
        f"for n in {names!r}: importlib.import_module(n)"
    )
