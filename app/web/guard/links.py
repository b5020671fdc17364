"""Confirmation of links that name encoders or data sets which are not listed.

Anybody can write a link, or send a browser to one: opening it must not read a folder, nor request
anything from the hub or another host. Whatever is listed was added by a person; the rest waits for
a click.
"""

from collections.abc import Sequence
from html import escape
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from theodolite.app.web.guard.plain_page import plain_page
from theodolite.app.web.guard.requests import path_of
from theodolite.app.workspace import STARTER_ENCODERS, Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.training.presets import STARTER

TEXTS = frozenset(
    {
        "q",
        "unlike",
        "only",
        "let",
        "x",
        "a",
        "b",
        "find",
        "label",
        "filter",
        "said",
        "judge",
        "sort",
    }
)
"""Query parameters whose values are free text.

Under any other name, a value which parses as an encoder's spec or as a hub name is taken for one: a
new page is guarded by default.
"""
FILES = frozenset({"train"})
"""Query parameters whose values may be file paths as well as names of data sets."""
HUB = "hub:"
MAX_SHOWN, MAX_LENGTH = 20, 200


def question(workspace: Workspace, request: Request, signed_in: bool) -> Response | None:
    """A page which asks whether to load what a link names; None if everything is listed.

    The page's button leads to the same address: the request differs in that it comes from a page of
    ours, which no other site can forge.

    Args:
        workspace: holds what is listed. Visitors' workspaces load nothing else anyway.
        request: the request for a page.
        signed_in: whether the person is signed in; to others, nothing but the starters counts as
            listed, so that the page does not reveal what is.
    """
    path = path_of(request)
    if workspace.read_only or path.rstrip("/") != path != "/":  # Gradio redirects a trailing slash
        return None
    pairs = request.query_params.multi_items()
    unlisted = [pair for pair in pairs if _is_unlisted(workspace, *pair, signed_in)]
    if not unlisted:
        return None
    rest = [pair for pair in pairs if pair not in unlisted]
    whole, without = (f".{path}?{urlencode(some)}".rstrip("?") for some in (pairs, rest))
    return HTMLResponse(_page(whole, without, [value for _, value in unlisted]))


def _is_unlisted(workspace: Workspace, name: str, value: str, signed_in: bool) -> bool:
    """Whether a value names something which a page would load and which is not listed."""
    if name in TEXTS:
        return False
    if name in FILES:
        known = {STARTER, *(workspace.catalog.names() if signed_in else ())}
        several = {part.strip() for part in value.split(",")}
        return value not in known and not several <= known
    if any(part.strip().startswith(HUB) for part in value.split(",")):
        return True
    from theodolite.engine.rankers.spec import parse

    try:
        parsed = parse(value)
    except UserError:
        return False  # nothing is loaded by it; the page shows the error
    if {str(encoder) for encoder in parsed.encoders} <= {*STARTER_ENCODERS} and not parsed.models:
        return False
    return not signed_in or workspace.store.encoders.get(str(parsed)) is None


def _page(whole: str, without: str, wanted: Sequence[str]) -> str:
    """HTML of the confirmation page, given the address and what remains of it without the names."""
    names = list(dict.fromkeys(wanted))
    items = "".join(
        f'<li><code dir="ltr">{escape(name[:MAX_LENGTH])}</code></li>' for name in names[:MAX_SHOWN]
    )
    more = f"<li>and {len(names) - MAX_SHOWN} more</li>" if len(names) > MAX_SHOWN else ""
    return plain_page(
        "Load what this link names?",
        "<p>It is not among what is listed here. Loading it may read files of this machine, or "
        "fetch them from elsewhere. Go on if you trust whoever wrote the link.</p>"
        f'<ul>{items}{more}</ul><p><a class="t-button" id="load" '
        f'href="{escape(whole)}">Load</a> '
        f'<a class="t-link" id="leave-out" href="{escape(without)}">'
        "Open the page without</a></p>",
        "t-question",
    )
