"""Sites of others on this machine: a page of theirs, and an HTTPS proxy before the app."""

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


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
