"""Keeps the list of files true: `python -m docs.tree` writes `files.md`, a test compares it.

A file's line is the first line of its docstring or leading comment, so that there is one place to
say what a file is for.
"""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "files.md"
HEAD = """# Where things are

Every file and what it is for, in its own words. `python -m docs.tree` writes this page.

"""
FOLDERS = ("app", "engine", "store", "benchmarks", "docs", "tests")
OTHERS = {
    "shipped": "decoders that come along, each a folder with its card",
    "starter": "the starter set: graded pairs with their rubric, sentences by topic",
    "mark.svg": "the sign in the bar and in the tab",
}
WIDTH = 34


def page() -> str:
    """The page: its head, and the tree as a fenced block."""
    listed = subprocess.run(  # noqa: S603
        ["git", "ls-files", "--", *FOLDERS],  # noqa: S607
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    lines: list[str] = []
    seen: set[Path] = set()
    for path in map(Path, sorted(listed, key=_order)):
        whole = next((i for i, part in enumerate(path.parts[:-1]) if part in OTHERS), None)
        if whole is not None:
            path = Path(*path.parts[: whole + 1])
        if path in seen or not (ROOT / path).exists() or path.suffix == ".png":
            continue
        for folder in [*reversed(path.parents)][1:]:
            if folder not in seen:
                seen.add(folder)
                lines.append(f"{'  ' * (len(folder.parts) - 1)}{folder.name}/")
        seen.add(path)
        about = _about(ROOT / path)
        if about:
            name = "  " * (len(path.parts) - 1) + path.name
            lines.append(f"{name:<{WIDTH}} {about}")
    return HEAD + "```text\n" + "\n".join(lines) + "\n```\n"


def _order(path: str) -> list[tuple[int, int, str]]:
    """Folders in the order of FOLDERS; in a folder its files first."""
    parts = Path(path).parts
    order = [(FOLDERS.index(parts[0]), 0, "")]
    return order + [(int(i < len(parts) - 2), 0, part) for i, part in enumerate(parts[1:])]


def _about(path: Path) -> str:
    if path.name in OTHERS:
        return OTHERS[path.name]
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        said = ast.get_docstring(ast.parse(text)) or ""
    else:
        found = re.match(r"\s*(?://|/\*+)\s*(.*)", text)
        said = found.group(1).removesuffix("*/") if found else ""
    first = re.split(r"(?<=[^.])\.\s|\n", said.strip(), maxsplit=1)[0] if said else ""
    return first.strip().rstrip(".:")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
