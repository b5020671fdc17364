"""What pages of others can do to the app in a real browser: link to it, and nothing else."""

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from gradio.utils import get_upload_folder
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.fakes.started import serving
from tests.ui.steps import PATIENCE, address_of, says
from theodolite.app.workspace import Workspace

LISTED = "random:16"
LINK = "search?q=rain&in=starter-pairs&encoder=random:16&encoder=random:17"
NOTHING = ["nothing"] * 4
FETCHES = """async ([ours, name]) => {
  const form = new FormData();
  form.append("files", new Blob(["text\\nstored by others\\n"]), name);
  const said = [];
  for (const [path, options] of [
    ["gradio_api/upload", { method: "POST", mode: "no-cors", body: form }],
    ["config", {}],
    ["gradio_api/queue/data?session_hash=x", {}],
    ["gradio_api/queue/join", { method: "POST", body: JSON.stringify({ fn_index: 0, data: [], session_hash: "x" }) }],
  ]) {
    try {
      const answer = await fetch(`${ours}/${path}`, { credentials: "include", ...options });
      said.push(answer.type === "opaque" ? "opaque" : await answer.text());
    } catch { said.push("nothing"); }
  }
  return said;
}"""  # noqa: E501


@pytest.fixture(scope="module")
def desk(desk: Workspace) -> Workspace:
    """A person's own, with one encoder."""
    desk.store.encoders.add(LISTED)
    return desk


def asked_by_others(page: Page, app: str) -> list[str]:
    """What the page's script gets from the app; nothing of what it sent is kept."""
    name = f"{uuid.uuid4().hex}.csv"
    answer = page.evaluate(FETCHES, [app, name])
    assert not list(Path(get_upload_folder()).rglob(name))
    return list(answer)


def test_a_page_of_others_frames_and_reads_nothing_of_ours(stranger: Page, place: str) -> None:
    """Nothing of ours is drawn on it, so nothing can be clicked unseen.

    Its script, at another port of this machine, reads no answer and stores no file.
    """
    with site(
        f'<iframe src="{place}/{LINK}"></iframe><iframe src="{place}/jobs"></iframe>'
    ) as port:
        stranger.goto(f"http://localhost:{port}/")
        assert [frame.url.split(":")[0] for frame in stranger.frames[1:]] == ["chrome-error"] * 2
        assert asked_by_others(stranger, place) == NOTHING
        stranger.goto(f"http://127.0.0.1:{port}/")
        assert asked_by_others(stranger, place) == NOTHING
    stranger.goto(f"{place}/jobs")
    stranger.evaluate("""() => {
      const frame = document.createElement("iframe");
      document.body.append(Object.assign(frame, { src: "./data", id: "inner" }));
    }""")
    expect(stranger.frame_locator("#inner").locator(".t-header")).to_be_visible()


def test_a_link_of_others_loads_nothing_before_a_click(stranger: Page, place: str) -> None:
    """It asks, also when the page is loaded again; then it is the page it would have been.

    Or the page without what it names, where what is listed stays.
    """
    with site(f'<a href="{place}/{LINK}">Look</a>') as port:
        stranger.goto(f"http://localhost:{port}/")
        stranger.get_by_role("link", name="Look").click()
        question = stranger.get_by_role("heading", name="Load what this link names?")
        expect(question).to_be_visible()
        stranger.reload()
        expect(question).to_be_visible()
        expect(stranger.get_by_role("listitem")).to_have_text(["random:17"])
        stranger.get_by_role("link", name="Load", exact=True).click()
        says(stranger.locator("#hits"), "random:17")
        address_of(stranger, "encoder=random", "17")
    stranger.goto(f"{place}/{LINK}")
    stranger.get_by_role("link", name="Open the page without").click()
    says(stranger.locator("#hits"), LISTED)
    expect(stranger.locator("#hits")).not_to_contain_text("random:17")


# Under a name of one's own


@pytest.fixture(scope="module")
def secure(desk: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Addresses of the app with a login and of a page of others, both over HTTPS."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    made = certificate(tmp_path_factory.mktemp("certificate"))
    with (
        serving(desk, auth=("ada", "lovelace")) as demo,
        https_before(demo.server_port, made) as port,
        site("<h1>Others</h1>", made) as other,
    ):
        yield f"https://own.localhost:{port}", f"https://others.localhost:{other}"


@pytest.fixture
def trusting(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that takes the certificate."""
    context = browser.new_context(ignore_https_errors=True)
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


def sign_in(page: Page, words: str = "lovelace") -> None:
    """Give the login."""
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(words)
    page.get_by_role("button", name="Sign in").click()


def test_a_login_stays_with_our_own_site(trusting: BrowserContext, secure: tuple[str, str]) -> None:
    """A page of others that asks with credentials gets nothing; a link of theirs gets in."""
    app, other = secure
    page = trusting.new_page()
    page.goto(f"{app}/jobs")
    says(page.locator("body"), "After five wrong tries the next has to wait")
    page.keyboard.press("Enter")
    empty = page.get_by_label("Name").evaluate("one => one.validationMessage")
    assert empty and not page.get_by_role("alert").inner_text()  # the browser says it
    sign_in(page, "wrong")
    expect(page.get_by_role("alert")).to_have_text("Name and password do not match.")
    expect(page.get_by_label("Name")).to_have_value("ada")
    expect(page.get_by_label("Password")).to_be_focused()
    sign_in(page)
    expect(page.locator(".t-header")).to_be_visible()
    cookies = {c["name"]: c for c in trusting.cookies(app) if "access-token" in c["name"]}
    assert len(cookies) == 2
    assert all(cookie["sameSite"] == "Lax" and cookie["httpOnly"] for cookie in cookies.values())
    page.goto(f"{other}/")
    assert asked_by_others(page, app) == NOTHING
    page.evaluate("to => { location.href = to; }", f"{app}/data")
    expect(page.locator(".t-header")).to_be_visible()


def test_a_link_asks_also_where_it_first_wants_the_login(
    trusting: BrowserContext, secure: tuple[str, str]
) -> None:
    """The page loads itself again after the login: that is no click on the link's behalf."""
    app, other = secure
    page = trusting.new_page()
    page.goto(f"{other}/")
    page.evaluate("to => { location.href = to; }", f"{app}/{LINK}")
    page.get_by_role("link", name="Load", exact=True).click()
    sign_in(page)
    says(page.locator("#hits"), "random:17")


# Sites of others on this machine: a page of theirs, and an HTTPS proxy before the app.


@contextlib.contextmanager
def site(html: str, certificate: Path | None = None) -> Iterator[int]:
    """Serve one page at every address; gives the port."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    if certificate:
        server.socket = _context(certificate).wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def certificate(folder: Path) -> Path:
    """Make a certificate that nobody signed; key and certificate in one file."""
    key, cert, both = folder / "key.pem", folder / "cert.pem", folder / "both.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=own.localhost",
            "-keyout",
            key,
            "-out",
            cert,
        ],
        check=True,
        capture_output=True,
    )
    both.write_bytes(key.read_bytes() + cert.read_bytes())
    return both


@contextlib.contextmanager
def https_before(port: int, certificate: Path) -> Iterator[int]:
    """Speak HTTPS and pass everything on to a port of this machine, as a proxy does."""
    door = socket.create_server(("127.0.0.1", 0))
    context = _context(certificate)

    def answer(plain: socket.socket) -> None:
        with contextlib.suppress(OSError), context.wrap_socket(plain, server_side=True) as outside:
            inside = socket.create_connection(("127.0.0.1", port))
            back = threading.Thread(target=_copy, args=(inside, outside), daemon=True)
            back.start()
            _copy(outside, inside)
            back.join()

    def accept() -> None:
        with contextlib.suppress(OSError):  # closed at the end
            while True:
                caller, _ = door.accept()
                threading.Thread(target=answer, args=(caller,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield door.getsockname()[1]
    door.close()


def _copy(one: socket.socket, other: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    with contextlib.suppress(OSError):
        other.shutdown(socket.SHUT_WR)


def _context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context
