"""The pages of the documentation, served with the app: they are there without a network."""

import re
from html import escape
from pathlib import Path

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

FOLDER = Path(__file__).resolve().parents[2] / "docs"
"""In a checkout and in an installed package alike."""
ADDRESS = "theodolite/docs"
_TO_PAGE = re.compile(r'href="([^":]+)\.md(#[^"]*)?"')
_STYLE = (
    ":root{color-scheme:light dark}body{max-width:46rem;margin:2rem auto;padding:0 1rem;"
    "font:1rem/1.55 system-ui,sans-serif}pre,table{overflow-x:auto;display:block}"
    "pre{padding:.7rem;border:1px solid #8884}code{font-size:.92em}"
    "td,th{padding:.3rem .8rem .3rem 0;text-align:start;vertical-align:top}"
)


def html(text: str) -> str:
    """A page as a document; its pictures are left out."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.add_render_rule("image", lambda *_: "")
    body = _TO_PAGE.sub(r'href="\1\2"', reader.render(text))
    title = text.partition("\n")[0].strip("# ")
    return (
        '<!doctype html><html lang="en-GB"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · Theodolite</title><style>{_STYLE}</style></head>"
        f"<body><main>{body}</main></body></html>"
    )


def routes() -> list[Route]:
    """The route of a page, `theodolite/docs/encoders`; a request selects one of our files."""
    files = [*FOLDER.glob("*.md"), *FOLDER.glob("pages/*.md")]
    pages = {file.relative_to(FOLDER).with_suffix("").as_posix(): file for file in files}

    def respond(request: Request) -> Response:
        file = pages.get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("Not found", status_code=404)
        return HTMLResponse(html(file.read_text("utf-8")))

    return [Route(f"/{ADDRESS}/{{name:path}}", respond)]
