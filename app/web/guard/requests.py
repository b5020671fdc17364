"""Predicates on a request: its origin, its purpose, whether its path is open.

They decide nothing; `middleware` does.
"""

import inspect
import ipaddress
import logging
import re
from urllib.parse import urlsplit

from starlette._utils import get_route_path
from starlette.requests import Request

log = logging.getLogger("theodolite")
API = "/gradio_api/"
HEALTH = "/healthz"
UPLOAD = f"{API}upload"
OPEN = frozenset(
    {
        HEALTH,
        "/login",
        "/login/",
        "/favicon.ico",
        "/robots.txt",
        "/manifest.json",
        "/theme.css",
        f"{API}theme.css",
        f"{API}startup-events",
    }
)
"""Paths answered without a login, beside the pages, which then show the login form."""
OPEN_BELOW = ("/static/", "/assets/", "/svelte/", "/pwa_icon/")
UNUSED = (
    "openapi.json",
    "deep_link",
    "proxy=",
    "vibe-",
    "vibe/",
    "run-history/",
    "dev/",
    "process_recording",
    "custom_component/",
    "file=http:",
    "file=https:",
    "file/http:",
    "file/https:",
)
"""Routes of Gradio that no page of ours requests: some make this machine send requests to another
host, some write files."""
MAX_NAME, MAX_PATH = 255, 2000
"""Limits of file systems."""
MAX_QUERY = 2**15
_CONTROL = re.compile(rb"[\x00-\x20\x7f]")
PORTS = {"http": 80, "https": 443}


def path_of(request: Request) -> str:
    """The path by which a request is routed."""
    return get_route_path(request.scope)


def has_file_name(path: str) -> bool:
    """Whether a path is valid for a file: the operating system raises for others."""
    return (
        len(path.encode("utf-8", "replace")) <= MAX_PATH
        and all(len(part.encode("utf-8", "replace")) <= MAX_NAME for part in path.split("/"))
        and path.isprintable()
    )


def has_query(request: Request) -> bool:
    """Whether the query string is valid: Gradio fails on one that is not."""
    query = request.scope["query_string"]
    return len(query) <= MAX_QUERY and not _CONTROL.search(query)


def is_used(path: str) -> bool:
    """Whether a path is not one of Gradio's `UNUSED` routes."""
    return not path.removeprefix(API).startswith(UNUSED) if path.startswith(API) else True


def is_open(path: str) -> bool:
    """Whether a path is answered without a login, beside the pages."""
    return path in OPEN or path.startswith(OPEN_BELOW)


def is_ours(request: Request) -> bool:
    """Whether a request was made by a page of ours, by a person directly, or by no browser.

    Browsers send the origin of a request in headers that pages cannot change. Over plain HTTP to
    another machine, they send only `Origin`, and that not for every GET.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is None or _is_here(request, origin)


def is_from_our_page(request: Request) -> bool:
    """Whether a link or a script of our page led to the request, not a typed or pasted address."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    return _is_here(request, request.headers.get("referer", ""))


def is_visit(request: Request) -> bool:
    """Whether a browser opens this as a page, at the top or in a frame."""
    return request.method == "GET" and request.headers.get("sec-fetch-mode") == "navigate"


async def is_signed_in(request: Request) -> bool:
    """Whether a request is signed in, by Gradio's own test for some of its routes."""
    app = request.app
    if app.auth_dependency is not None:
        user = app.auth_dependency(request)
        return (await user if inspect.isawaitable(user) else user) is not None
    if app.auth is None:
        return True
    names = (f"access-token-{app.cookie_id}", f"access-token-unsecure-{app.cookie_id}")
    return any(app.tokens.get(request.cookies.get(name)) is not None for name in names)


def address_of(request: Request) -> str:
    """The client's address; for IPv6 its /64 network, since one client has many addresses."""
    host = request.client.host if request.client else ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if address.version == 4:
        return host
    return str(ipaddress.ip_network((address, 64), strict=False))


def _is_here(request: Request, url: str) -> bool:
    """Whether a page's URL has the host and port of the request."""
    try:
        host, origin = urlsplit(f"//{request.headers.get('host', '')}"), urlsplit(url)
        port = origin.port or PORTS.get(origin.scheme)
        # A proxy that terminates TLS leaves the port out of a host that had none.
        ports = {host.port} if host.port else set(PORTS.values())
        return bool(origin.hostname) and origin.hostname == host.hostname and port in ports
    except ValueError:
        return False
