"""The files of Gradio's page that its components are made of.

Gradio fetches those of a component when it first meets one, which delays the first visit to every
page that has another kind of component than the pages before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import gradio

FOLDER = Path(gradio.__file__).parent / "templates" / "frontend" / "assets"
_FILES = re.compile(r"m\.f=\[(.*?)\]")
_KIND = re.compile(
    r"(\w+):\{((?:\w+:\(\)=>.{1,120}?mapDeps\(\[[\d,]+\]\),import\.meta\.url\),?)+)\}"
)


def of_components(kinds: Iterable[str]) -> list[str]:
    """Names of the files for these kinds of components, as listed in Gradio's own script.

    Empty if that list cannot be read: pages then fetch what they need when they are opened.
    """
    text = "".join(path.read_text(encoding="utf-8") for path in FOLDER.glob("core-*.js"))
    listed = _FILES.search(text)
    files = re.findall(r'"\./([^"]+)"', listed.group(1)) if listed else []
    needed = {kind: re.findall(r"\[([\d,]+)\]", found) for kind, found in _KIND.findall(text)}
    numbers = {
        int(number) for kind in kinds for some in needed.get(kind, ()) for number in some.split(",")
    }
    return [files[number] for number in sorted(numbers) if number < len(files)]
