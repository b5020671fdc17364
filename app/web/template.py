"""Gradio's page with a piece of ours at its beginning, painted before Gradio's scripts have run.

What is given to Gradio as a page's head is added by those scripts, half a second after the page.
"""

from __future__ import annotations

import re

from gradio.routes import templates
from jinja2 import ChoiceLoader, DictLoader

from app.web.guard import policy

_GRADIO = templates.env.loader
_PAGE, _SHARED = "frontend/index.html", "frontend/share.html"
"""Of a shared app Gradio's page has its scripts come from another host; ours come from here."""
_APP = "<gradio-app"
_MANIFEST = '<link rel="manifest" href="/manifest.json"'
_OUR_MANIFEST = '<link rel="manifest" href="./manifest.json" crossorigin="use-credentials"'
"""Where a proxy serves us below a folder, and where it asks for a login of its own."""
_SCRIPT = re.compile(r'<script(?! type="application/json")(?=[ >])')
_NUMBERED = '<script nonce="{{ number() }}"'


def begin_with(html: str) -> None:
    """Have every page that Gradio serves from here on begin with this HTML.

    Its scripts and Gradio's bear the number of the answer, without which none runs: see `policy`.

    Raises:
        ValueError: Gradio's page has no place for it; that is a version that we do not know.
    """
    if _GRADIO is None:
        raise ValueError("Gradio has no pages")
    source = _GRADIO.get_source(templates.env, _PAGE)[0]
    for known in (_APP, _MANIFEST):
        if known not in source:
            raise ValueError(f"Gradio's page {_PAGE} has no {known}>")
    first = _SCRIPT.sub(f"{{% endraw %}}{_NUMBERED}{{% raw %}}", html)
    source = source.replace(_MANIFEST, _OUR_MANIFEST)
    gradios = _SCRIPT.sub(_NUMBERED, source)
    whole = gradios.replace(_APP, f"{{% raw %}}{first}{{% endraw %}}{_APP}", 1)
    templates.env.globals["number"] = policy.number
    templates.env.loader = ChoiceLoader([DictLoader({_PAGE: whole, _SHARED: whole}), _GRADIO])
    if templates.env.cache is not None:
        templates.env.cache.clear()
