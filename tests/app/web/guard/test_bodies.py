"""How much anybody may send: bounded on every route before anything reads it."""

import tracemalloc
from collections.abc import Iterator
from http.client import HTTPConnection

import httpx
import pytest

from theodolite.app.web.guard import bodies

MEGABYTE = b"a" * 2**20


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "in chunks"])
@pytest.mark.parametrize("path", ["/login", "/login/", "/healthz", "/search", "/", "/nothing"])
def test_what_needs_no_login_takes_no_more_than_a_form(
    client: httpx.Client, path: str, chunked: bool
) -> None:
    """A file in place of a name is refused, and takes no memory."""
    file = b'--x\r\nContent-Disposition: form-data; name="username"; filename="a"\r\n\r\n'
    sent = 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        yield file
        for _ in range(8):
            sent += 1
            yield MEGABYTE

    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    content = pieces() if chunked else file + 8 * MEGABYTE
    tracemalloc.start()
    answer = client.post(path, content=content, headers=kind)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert answer.status_code == 413 and f"{bodies.OPEN_BYTES:,} bytes" in answer.text
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
    sending.putheader("Content-Length", str(bodies.CALL_BYTES + 1))
    sending.endheaders()
    assert sending.getresponse().status == 413
    sending.close()


def test_an_upload_has_a_bound_of_its_own(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Larger than that of any call, for all its files together."""
    large = {"files": ("a.csv", b"text\n" + bodies.CALL_BYTES * b"a")}
    assert client.post("/gradio_api/upload", files=large).is_success
    monkeypatch.setattr(bodies, "UPLOAD_BYTES", 2**20)
    assert client.post("/gradio_api/upload", files={"files": ("a.csv", b"text\na\n")}).is_success
    assert client.post("/gradio_api/upload", files=large).status_code == 413
    many = [("files", (f"{n}.csv", MEGABYTE[: 2**19])) for n in range(3)]
    request = client.build_request("POST", "/gradio_api/upload", files=many)
    pieces = iter(request.read()[at : at + 2**16] for at in range(0, 2**21, 2**16))
    kind = {"Content-Type": request.headers["content-type"]}
    assert client.post("/gradio_api/upload", content=pieces, headers=kind).status_code == 413


def test_a_form_of_a_login_goes_through(client: httpx.Client) -> None:
    """The bound is far above the longest name and password that people have."""
    form = {"username": "ada", "password": "p" * 10_000}
    assert client.post("/login", data=form).status_code != 413
