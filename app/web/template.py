"""Gradio's page with a piece of ours at its beginning, painted before Gradio's scripts have run.

What is given to Gradio as a page's head is added by those scripts, half a second after the page.
"""

from __future__ import annotations

import re
from functools import cache

from gradio.routes import templates
from jinja2 import ChoiceLoader, DictLoader
from starlette.applications import Starlette
from starlette.requests import Request

from app.web.guard import policy

_PAGE, _SHARED = "frontend/index.html", "frontend/share.html"
"""Of a shared app Gradio's page has its scripts come from another host; ours come from here."""
_APP = "<gradio-app"
_MANIFEST = '<link rel="manifest" href="/manifest.json"'
_OUR_MANIFEST = '<link rel="manifest" href="./manifest.json" crossorigin="use-credentials"'
"""Where a proxy serves us below a folder, and where it asks for a login of its own."""
_SCRIPT = re.compile(r'<script(?! type="application/json")(?=[ >])')


def begin_with(app: Starlette, html: str) -> None:
    """Have every page of this app begin with this HTML.

    Its scripts and Gradio's bear the number of the answer, without which none runs: see `policy`.

    Raises:
        ValueError: Gradio's page has no place for it; that is a version that we do not know.
    """
    _prepare()
    app.state.first_painted = html


@cache
def _prepare() -> None:
    """Give the template of Gradio's pages, one for all apps of a process, its place for ours."""
    gradios = templates.env.loader
    if gradios is None:
        raise ValueError("Gradio has no pages")
    source = gradios.get_source(templates.env, _PAGE)[0]
    for known in (_APP, _MANIFEST):
        if known not in source:
            raise ValueError(f"Gradio's page {_PAGE} has no {known}>")
    source = _SCRIPT.sub('<script nonce="{{ number() }}"', source)
    source = source.replace(_MANIFEST, _OUR_MANIFEST)
    source = source.replace(_APP, f"{{{{ first_painted(request) | safe }}}}{_APP}", 1)
    templates.env.globals |= {"number": policy.number, "first_painted": _first_painted}
    templates.env.loader = ChoiceLoader([DictLoader({_PAGE: source, _SHARED: source}), gradios])


def _first_painted(request: Request) -> str:
    html = getattr(request.app.state, "first_painted", "")
    return _SCRIPT.sub(f'<script nonce="{policy.number()}"', html)
