"""Gradio's page template with our HTML at its beginning, painted before Gradio's scripts have run.

Gradio's `head` argument is inserted by those scripts, half a second after the page.
"""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import gradio
from gradio.routes import templates
from jinja2 import ChoiceLoader, DictLoader
from starlette.applications import Starlette
from starlette.requests import Request

from theodolite.app.web.guard import policy

_PAGE, _SHARED = "frontend/index.html", "frontend/share.html"
"""For a shared app, Gradio's page loads its scripts from another host; ours loads them locally."""
_APP = "<gradio-app"
_GRADIOS = '<link rel="manifest" href="/manifest.json"'
MANIFEST = '<link rel="manifest" href="./manifest.json" crossorigin="use-credentials"'
"""For a proxy which serves us under a prefix, and for one with a login of its own."""
_SCRIPT = re.compile(r'<script(?! type="application/json")(?=[ >])')


def begin_with(app: Starlette, html: str) -> None:
    """Put this HTML at the beginning of every page of the app.

    Its scripts and Gradio's carry the nonce of the response, without which none runs: see `policy`.

    Raises:
        ValueError: Gradio's template, of an unknown version, has no place for it.
    """
    _prepare()
    app.state.first_painted = html


@cache
def _prepare() -> None:
    """Patch Gradio's page template, which all apps of a process share, to include our HTML."""
    gradios = templates.env.loader
    if gradios is None:
        raise ValueError("Gradio has no pages")
    source = gradios.get_source(templates.env, _PAGE)[0]
    for known in (_APP, _GRADIOS):
        if known not in source:
            raise ValueError(f"Gradio's page {_PAGE} has no {known}>")
    source = _SCRIPT.sub('<script nonce="{{ number() }}"', source)
    source = source.replace(_GRADIOS, MANIFEST)
    source = source.replace(_APP, f"{{{{ first_painted(request) | safe }}}}{_APP}", 1)
    templates.env.globals |= {"number": policy.number, "first_painted": _first_painted}
    templates.env.loader = ChoiceLoader([DictLoader({_PAGE: source, _SHARED: source}), gradios])


def _first_painted(request: Request) -> str:
    html = getattr(request.app.state, "first_painted", "")
    return _SCRIPT.sub(f'<script nonce="{policy.number()}"', html)


ASSETS = Path(gradio.__file__).parent / "templates" / "frontend" / "assets"
_FILES = re.compile(r"m\.f=\[(.*?)\]")
_KIND = re.compile(
    r"(\w+):\{((?:\w+:\(\)=>.{1,120}?mapDeps\(\[[\d,]+\]\),import\.meta\.url\),?)+)\}"
)


def component_files(kinds: Iterable[str]) -> list[str]:
    """Names of the files for these kinds of components, as listed in Gradio's own script.

    Empty if that list cannot be read: pages then fetch what they need when they are opened.
    """
    text = "".join(path.read_text(encoding="utf-8") for path in ASSETS.glob("core-*.js"))
    match = _FILES.search(text)
    files = re.findall(r'"\./([^"]+)"', match.group(1)) if match else []
    needed = {kind: re.findall(r"\[([\d,]+)\]", places) for kind, places in _KIND.findall(text)}
    numbers = {
        int(number) for kind in kinds for some in needed.get(kind, ()) for number in some.split(",")
    }
    return [files[number] for number in sorted(numbers) if number < len(files)]
