"""How long anybody may keep the server waiting, and how much they may send."""

import asyncio
import contextlib
import socket
import threading
import time
import tracemalloc
from collections.abc import Iterator
from http.client import HTTPConnection

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from theodolite.app.web.guard import connections, limits

PATIENCE = 1.5
"""Seconds that the server waits, far more than a busy machine holds anybody up."""
LONG = 1.5 * PATIENCE

HALF = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n"


async def _echo(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def _slow(request: Request) -> Response:
    """As the stream of events to a page: long silence, then a word."""

    async def words() -> Iterator[bytes]:
        yield b"begun "
        await asyncio.sleep(LONG)
        yield b"ended"

    return StreamingResponse(words())


async def _busy(request: Request) -> Response:
    """An app that takes its time before it reads."""
    await asyncio.sleep(LONG)
    return PlainTextResponse(str(len(await request.body())))


async def _large(request: Request) -> Response:
    async def pieces() -> Iterator[bytes]:
        for _ in range(2000):
            yield b"x" * 2**16

    return StreamingResponse(pieces())


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A server whose patience is short."""
    monkeypatch.setattr(connections, "PATIENCE", PATIENCE)
    monkeypatch.setattr(connections, "MAX_OF_ADDRESS", 20)
    routes = [
        Route("/echo", _echo, methods=["POST"]),
        Route("/slow", _slow),
        Route("/busy", _busy, methods=["POST"]),
        Route("/large", _large),
    ]
    config = uvicorn.Config(
        Starlette(routes=routes), http=connections.Connection, log_level="error"
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join(10.0)


def _open(port: int, text: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=60.0)
    made.sendall(text)
    return made


def _closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("begun", [b"", b"GET / HT", HALF, HALF + b"\r\nhalf of it"], ids=str)
def test_half_a_request_is_waited_for_so_long_and_no_longer(port: int, begun: bytes) -> None:
    """Nothing, half a head, half a body: the connection is closed."""
    with _open(port, begun) as connection:
        assert _closed(connection)


def test_a_head_that_trickles_in_gets_no_more_time(port: int) -> None:
    """A byte now and then is not a request."""
    with _open(port) as connection, pytest.raises(OSError):
        for byte in b"GET /slow HTTP/1.1\r\nX-Long: " + b"a" * 1000:
            connection.sendall(bytes([byte]))
            time.sleep(0.1)


def test_who_takes_in_no_response_is_left(port: int) -> None:
    """A connection that is not read from ends before all was sent."""
    with _open(port, b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n") as connection:
        time.sleep(2 * LONG)
        got = 0
        with contextlib.suppress(ConnectionResetError):
            while piece := connection.recv(2**20):
                got += len(piece)
        assert got < 2000 * 2**16


def test_who_goes_on_sending_what_was_refused_is_left(port: int) -> None:
    """Some of it is taken, so that a browser comes to read the answer."""
    head = b"POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
    with _open(port, head % 2**22) as connection:
        connection.sendall(bytes(2**22))
        assert b"404" in connection.recv(1000)
    with _open(port, head % 2**28) as connection, pytest.raises(OSError):
        connection.sendall(bytes(2**28))


def test_what_takes_long_is_not_cut_off(port: int) -> None:
    """A stream that is silent, an upload that goes on, an app that has not begun to read."""

    def trickle() -> Iterator[bytes]:
        for _ in range(12):
            time.sleep(LONG / 12)
            yield b"12345"

    address = f"http://127.0.0.1:{port}"
    assert httpx.get(f"{address}/slow").text == "begun ended"
    assert httpx.post(f"{address}/echo", content=trickle()).text == "60"
    assert httpx.post(f"{address}/busy", content=b"x" * 2**20).text == str(2**20)


def test_a_crowd_of_half_requests_locks_nobody_out(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of one address only so many are waited for; streams that are open stay."""
    monkeypatch.setattr(connections, "PATIENCE", 60.0)
    address = f"http://127.0.0.1:{port}"
    with contextlib.ExitStack() as held, httpx.stream("GET", f"{address}/slow") as stream:
        crowd = [held.enter_context(_open(port, HALF)) for _ in range(150)]
        for _ in range(3):
            assert httpx.post(f"{address}/echo", content=b"abc", timeout=60.0).text == "3"
        assert stream.read() == b"begun ended"
        crowd.reverse()  # the newest of them are still waited for
        time.sleep(0.2)
        assert all(map(_closed, crowd[20:]))
        crowd[0].settimeout(0.2)
        with pytest.raises(TimeoutError):
            crowd[0].recv(1)


MEGABYTE = b"a" * 2**20


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "in chunks"])
@pytest.mark.parametrize("path", ["/login", "/login/", "/healthz", "/search", "/", "/nothing"])
def test_what_needs_no_login_takes_no_more_than_a_form(
    client: httpx.Client, path: str, chunked: bool
) -> None:
    """A file in place of a name is refused, and takes no memory."""
    file = b'--x\r\nContent-Disposition: form-data; name="username"; filename="a"\r\n\r\n'

    def pieces() -> Iterator[bytes]:
        yield file
        for _ in range(8):
            yield MEGABYTE

    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    content = pieces() if chunked else file + 8 * MEGABYTE
    tracemalloc.start()
    answer = client.post(path, content=content, headers=kind)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer.status_code == 413 and f"{limits.OPEN_BYTES:,} bytes" in answer.text
    assert most < (1 if chunked else 9) * 2**20 + 2**22


@pytest.mark.parametrize(
    "path",
    ["gradio_api/queue/join", "gradio_api/component_server", "theodolite/publish", "nothing"],
)
@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=x"])
def test_every_other_route_has_a_bound_too(client: httpx.Client, path: str, kind: str) -> None:
    """Whatever the body is said to be; refused by its length before it is sent."""
    sending = HTTPConnection(client.base_url.host, client.base_url.port or 80, timeout=30)
    sending.putrequest("POST", f"/{path}")
    sending.putheader("Content-Type", kind)
    sending.putheader("Content-Length", str(limits.CALL_BYTES + 1))
    sending.endheaders()
    assert sending.getresponse().status == 413
    sending.close()


def test_an_upload_has_a_bound_of_its_own(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Larger than that of any call, for all its files together."""
    large = {"files": ("a.csv", b"text\n" + limits.CALL_BYTES * b"a")}
    assert client.post("/gradio_api/upload", files=large).is_success
    monkeypatch.setattr(limits, "UPLOAD_BYTES", 2**20)
    assert client.post("/gradio_api/upload", files={"files": ("a.csv", b"text\na\n")}).is_success
    # Not `large`: of more than `MAX_UNREAD` the connection may end, which is used again below.
    above = {"files": ("a.csv", b"text\n" + 2**20 * b"a")}
    assert client.post("/gradio_api/upload", files=above).status_code == 413
    many = [("files", (f"{n}.csv", MEGABYTE[: 2**19])) for n in range(3)]
    request = client.build_request("POST", "/gradio_api/upload", files=many)
    pieces = iter(request.read()[at : at + 2**16] for at in range(0, 2**21, 2**16))
    kind = {"Content-Type": request.headers["content-type"]}
    assert client.post("/gradio_api/upload", content=pieces, headers=kind).status_code == 413


def test_a_form_of_a_login_goes_through(client: httpx.Client) -> None:
    """The bound is far above the longest name and password that people have."""
    form = {"username": "ada", "password": "p" * 10_000}
    assert client.post("/login", data=form).status_code != 413
