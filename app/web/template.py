"""Gradio's page with a piece of ours at its beginning, painted before Gradio's scripts have run.

What is given to Gradio as a page's head is added by those scripts, half a second after the page.
"""

from __future__ import annotations

from gradio.routes import templates
from jinja2 import ChoiceLoader, DictLoader

_GRADIO = templates.env.loader
_PAGES = ("frontend/index.html", "frontend/share.html")
_APP = "<gradio-app"


def begin_with(html: str) -> None:
    """Have every page that Gradio serves from here on begin with this HTML.

    Raises:
        ValueError: Gradio's page has no place for it; that is a version that we do not know.
    """
    if _GRADIO is None:
        raise ValueError("Gradio has no pages")
    ours = {}
    for name in _PAGES:
        source = _GRADIO.get_source(templates.env, name)[0]
        if _APP not in source:
            raise ValueError(f"Gradio's page {name} has no {_APP}>")
        ours[name] = source.replace(_APP, f"{{% raw %}}{html}{{% endraw %}}{_APP}", 1)
    templates.env.loader = ChoiceLoader([DictLoader(ours), _GRADIO])
    if templates.env.cache is not None:
        templates.env.cache.clear()
