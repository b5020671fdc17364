"""The web app: its pages in one frame, and its launch.

Knows the order of the pages, the frame around them and how to serve them safely, but not their
contents. Importing this module imports Gradio but none of the engine's heavy modules.
"""

import errno
import importlib.util
import os
import socket
import threading
from collections.abc import Sequence
from functools import partial
from types import ModuleType

# Read by Gradio when it is imported: send no telemetry.
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
# Nor summarise the last ten thousand events at the end of each: nobody reads that table.
os.environ["GRADIO_ANALYTICS_MAX_EVENTS"] = "1"
os.environ["GRADIO_ANALYTICS_CACHE_FREQUENCY"] = str(2**62)

import gradio as gr
from gradio.utils import LRUCache
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware

from theodolite.app import formats, memory, pages
from theodolite.app.components import modules
from theodolite.app.pages.map import routes as map_routes
from theodolite.app.publish import routes as publish_routes
from theodolite.app.web import docs, frame, palette, scratch, template, theme
from theodolite.app.web.blocks import Pages, keep_signatures, without_a_server
from theodolite.app.web.guard import links
from theodolite.app.web.guard.accounts import Accounts
from theodolite.app.web.guard.connections import Connection
from theodolite.app.web.guard.limits import Limits
from theodolite.app.web.guard.login import Login
from theodolite.app.web.guard.middleware import Guard
from theodolite.app.web.guard.server import GuardedApp
from theodolite.app.web.routes import PLOTLY_JS, health, routes
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

Auth = Accounts | tuple[str, str]
RAIL = tuple(tuple(map(frame.entry, group)) for group in pages.RAIL)
PAGES = tuple(page for group in RAIL for entry in group for page in entry.pages.values())
FOR_NO_VISITOR = {
    "evaluate": True,
    "train": True,
    "train-decoder": True,
    "data": False,
    "encoders": False,
}
"""Pages to which visitors are not sent -> whether never, or only as they open to add something."""
DEFAULT_PORT = 7860
PORTS_TRIED = 100
MAX_FILE_SIZE = "200mb"
QUEUE_SECONDS = 0.02
"""How often the queue looks for events. Gradio does so each millisecond, for which it takes a
twentieth of a core while nobody does anything."""
SESSIONS, STRANGERS_SESSIONS = 10_000, 500
"""Tabs that are remembered, and fewer in a demonstration, whose visitors may be many: some 20 kB
each and their changed choices."""
WARM_AFTER_SECONDS = 5.0
WARM = ("scipy.special", "scipy.cluster.hierarchy")
"""Modules that pages compute with: half a second that nobody need wait for."""
UNDIVIDED = "polars"
"""What mteb imports. scikit-learn looks for it among the imported modules in whichever thread
computes, and fails where another thread has imported half of it."""
LOOPBACK = ("127.0.0.1", "localhost", "::1")
HERE = ("127.0.0.1", "localhost", "[::1]")
"""This machine's names as they stand in a request."""


@without_a_server()
def build(workspace: Workspace) -> gr.Blocks:
    """Lay out every page over one workspace."""
    (first, page), *others = [
        (entry, page) for group in RAIL for entry in group for page in entry.pages.values()
    ]
    keep_signatures()
    demo = Pages(
        title="Theodolite", analytics_enabled=False, fill_width=True, delete_cache=(3600, 86400)
    )
    with demo:
        frame.lay_out(first, page, workspace)
        for entry, page in others:
            # As `demo.route` does, which must be called outside `with`: a second `with` for each
            # page would have Gradio look through all pages again.
            demo.pages.append((page.PATH, page.TITLE, False))
            demo.current_page = page.PATH
            frame.lay_out(entry, page, workspace)
    for event in demo.fns.values():
        event.api_visibility = "private"  # the pages' own; the command line is for programs
    demo.queue(default_concurrency_limit=8, max_size=64)
    demo._queue.sleep_when_free = QUEUE_SECONDS
    demo._queue.progress_update_sleep_when_free = 1.0  # no handler tells its progress that way
    if workspace.demo:  # keep unfetched answers for the last tabs only
        demo._queue.pending_messages_per_session = LRUCache(STRANGERS_SESSIONS)
    demo.finish()
    return demo


def head() -> str:
    """HTML that Gradio adds to the head of every page: our style, the icon.

    The referrer is the origin only: the page's address contains what a person typed, and a long one
    would be refused as a header.
    """
    return (
        '<meta name="referrer" content="origin">'
        f"<style>{theme.css()}</style>"
        '<link rel="icon" type="image/svg+xml" href="./theodolite/mark.svg">'
    )


def publishable() -> dict[str, ModuleType]:
    """Name of a page, as in its address -> the page, of those that can be published."""
    return {page.PATH or "overview": page for page in PAGES if hasattr(page, "PUBLISHED")}


def first_painted(demo: gr.Blocks, *, visitors: bool) -> str:
    """HTML at the beginning of every page: the rail, its style, and our script, which draws it.

    It is inline, so that it shows at once and nothing moves when the page appears.

    Args:
        demo: the app; the files of its components are fetched while the first page is idle, with
            those of charts and maps.
        visitors: whether it is for people who can change and publish nothing.
    """
    titles = {page.PATH: page.TITLE for page in PAGES}
    early = list(modules.import_map("map/pair.js"))
    kinds = {block.get_block_name() for block in demo.blocks.values()}
    later = [f"assets/{name}" for name in template.component_files(kinds)]
    later += [PLOTLY_JS, *(f"{modules.BASE}/{name}" for name in early)]
    pages = {
        "rail": frame.rail(RAIL, publish=not visitors),
        "titles": titles,
        "early": dict.fromkeys(("map", "spaces"), early),
        "modules": f"./{modules.BASE}/",
        "freezes": list(publishable()),
        "closed": FOR_NO_VISITOR if visitors else None,
        "later": [f"./{file}" for file in later],
    }
    return (
        f"<style>{theme.frame_css()}</style>"
        f"{formats.json_script('t-frame', pages)}"
        f"<script>{theme.script()}</script>"
    )


def launch(
    workspace: Workspace,
    host: str = "127.0.0.1",
    port: int | None = None,
    open_browser: bool = True,
    share: bool = False,
    auth: Auth | None = None,
    root_path: str | None = None,
    block: bool = True,
    frame_ancestors: str = "'self'",
    allow_hosts: Sequence[str] = (),
) -> gr.Blocks:
    """Serve the pages.

    Args:
        workspace: its store and data; with `read_only`, visitors cannot change or upload anything.
        host: address to listen on.
        port: None for the first free port from DEFAULT_PORT on.
        open_browser: open the first page when it is up.
        share: make a public link through Gradio's tunnel; needs `auth` and a read-only workspace.
        auth: (name, password) that everyone must give, or names with hashed passwords.
        root_path: path under which a proxy serves us, if not its root.
        block: wait until interrupted; else return once the server answers.
        frame_ancestors: whose pages may show ours in a frame, as in a Content-Security-Policy.
        allow_hosts: names under which a proxy serves us. When there are any, and always without a
            login except in a demonstration, requests to other names than these and this machine's
            are refused: another site can point a name of its own here and would then have the same
            origin as our pages (DNS rebinding).

    Returns:
        The running Blocks: `local_url`, `share_url`, `close()`.
    """
    _refuse_open_doors(host, share, auth, workspace)
    _check_port(host, port)
    if workspace.demo:
        memory.keep_flat()
    allowed = [*HERE, *allow_hosts] if allow_hosts or not (auth or workspace.demo) else ["*"]
    names = [Middleware(TrustedHostMiddleware, allowed_hosts=allowed, www_redirect=False)]
    scratch.folder()
    if importlib.util.find_spec(UNDIVIDED):
        importlib.import_module(UNDIVIDED)
    demo = build(workspace)
    app = _server(workspace, names, frame_ancestors, root_path or "")
    template.begin_with(app, first_painted(demo, visitors=workspace.read_only))
    if auth and not isinstance(auth, Accounts):
        auth = Accounts.one(*auth)
    demo.launch(
        server_name=f"[{host}]" if ":" in host else host,
        server_port=port,  # None: Gradio finds a free one, and retries if another app takes it
        inbrowser=open_browser,
        share=share,
        auth=Login(auth.match).check if auth else None,
        root_path=root_path,
        prevent_thread_lock=True,
        quiet=True,
        theme=theme.theme(),
        head=head(),
        favicon_path=str(theme.STATIC / "mark.svg"),
        footer_links=[],
        run_history=False,
        enable_monitoring=False,
        ssr_mode=False,
        pwa=True,
        strict_cors=True,
        show_error=False,
        max_file_size=MAX_FILE_SIZE,
        state_session_capacity=STRANGERS_SESSIONS if workspace.demo else SESSIONS,
        _app=app,
        # Gradio has already checked its server without a timeout. It would then request a whole
        # page, with a timeout of three seconds, which a busy machine may exceed.
        _frontend=False,
    )
    demo.server.config.http_protocol_class = Connection
    later = threading.Timer(WARM_AFTER_SECONDS, _warm)
    later.daemon = True
    later.start()
    if block:
        demo.block_thread()
    return demo


def _warm() -> None:
    """Import what pages compute with, while the first one is read."""
    for module in WARM:
        importlib.import_module(module)


def _server(
    workspace: Workspace, names: list[Middleware], frame_ancestors: str, root_path: str
) -> GuardedApp:
    """Gradio's server with our routes, behind the guard."""
    guard = Middleware(
        Guard,
        pages=[f"/{page.PATH}" for page in PAGES],
        question=partial(links.question, workspace),
        opened=(lambda: None) if workspace.read_only else workspace.store.visits.note,
        frame_ancestors=frame_ancestors,
        limits=Limits() if workspace.demo else None,
        root_path=root_path,
    )
    return GuardedApp(
        [*names, guard],
        titles={page.PATH: page.TITLE for page in PAGES},
        routes=[
            health(workspace.store.encoders.list),
            *routes(uploads=not workspace.read_only),
            *modules.routes(),
            *docs.routes(),
            *palette.routes(workspace, RAIL),
            *map_routes.routes(workspace),
            *([] if workspace.read_only else publish_routes.routes(workspace)),
        ],
    )


def _refuse_open_doors(host: str, share: bool, auth: Auth | None, workspace: Workspace) -> None:
    if host not in LOOPBACK and not (auth or workspace.demo):
        raise UserError(
            f"Listening on {host!r} lets others on the network in, and there is no password.",
            "Add --auth-file FILE, keep the default host 127.0.0.1, or run a public "
            "demonstration, which changes and stores nothing: --demo.",
        )
    if share and not (auth and workspace.read_only):
        raise UserError(
            "A public link needs a password, and visitors who cannot change anything.",
            "Start it with --share, which sets both.",
        )


def _check_port(host: str, port: int | None) -> None:
    """Check that there is a port to listen on, before anything is built."""
    start = port if port is not None else DEFAULT_PORT
    tried = range(start, min(start + PORTS_TRIED, 65536))
    free = next((number for number in tried if _is_free(host, number)), None)
    if free is None:
        raise UserError(
            f"No port from {tried.start} to {tried.stop - 1} is free on {host}.",
            "Choose a free one with --port.",
        )
    if port is not None and free != port:
        raise UserError(f"Port {port} is in use.", f"Use --port {free}, which is free.")


def _is_free(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        # As the server does: a port in TIME_WAIT counts as free.
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise UserError(
                f"The app cannot listen on {host}, port {port}: {error.strerror or error}.",
                "Choose another --host or --port.",
            ) from error
    return True
