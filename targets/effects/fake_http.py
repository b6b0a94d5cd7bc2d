"""A fake HTTP service on loopback: the endpoint of executors that call the web.

Most HTTP clients obey the proxy variables, so that a service which takes any
request for any host sees what a server would have sent out, and nothing leaves the machine.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from wirefence.targets.command.records import Launch
from wirefence.targets.effects.environment import with_env
from wirefence.targets.effects.records import Observed

__all__ = ["BASE_URL", "FakeHttp"]

BASE_URL = "WIREFENCE_HTTP"
"""The variable that holds the service's address, for servers that are told their endpoint."""

_LIMIT = 1 << 20
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_ANSWER = b"{}\n"
_BLIND = (
    "clients that ignore the proxy variables (Node's own do), and what is inside TLS beyond the "
    "host's name"
)


class _Service(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.seen: list[Observed] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no news, least of all on our stderr."""


class _Handler(BaseHTTPRequestHandler):
    server: _Service
    timeout = 10.0

    def handle_one_request(self) -> None:
        """Note any request of any method, then answer it."""
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline:
            self.close_connection = True
            return
        line = self.raw_requestline.rstrip(b"\r\n")
        if not self.parse_request():
            self.server.seen.append(Observed("http", "http", line, b"", time.monotonic()))
            return
        content = bytearray(bytes(self.headers))
        with contextlib.suppress(ValueError, OSError):  # a request counts however badly it ends
            for part in self._body():
                content += part
        self.server.seen.append(Observed("http", "http", line, bytes(content), time.monotonic()))
        self._answer()

    def _body(self) -> Iterator[bytes]:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            yield from self._chunks()
            return
        length = self.headers.get("Content-Length", "0")
        if length.isdecimal():
            yield self.rfile.read(min(int(length), _LIMIT))

    def _chunks(self) -> Iterator[bytes]:
        """The chunks as they are, sizes removed (RFC 9112, section 7.1)."""
        left = _LIMIT
        while left > 0:
            size = int(self.rfile.readline(1024).partition(b";")[0] or b"0", 16)
            if size <= 0:
                return
            yield self.rfile.read(min(size, left))
            self.rfile.readline(8)
            left -= size

    def _answer(self) -> None:
        if self.command == "CONNECT":  # inside would be TLS, which no one can read
            self.send_error(502)
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(_ANSWER)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(_ANSWER)

    def log_message(self, *_: object) -> None:
        """Stderr is ours alone."""


class FakeHttp:
    """Requests to a loopback service; every client that obeys proxy variables is sent there.

    ``variables`` get the service's address besides :data:`BASE_URL`. Without ``proxies`` only
    those are set, for launchers that must reach a package index.
    """

    name = "http"

    def __init__(self, variables: Sequence[str] = (), *, proxies: bool = True) -> None:
        self._variables = (BASE_URL, *variables)
        self._proxies = proxies
        self.blind = _BLIND if proxies else f"requests to other addresses than ${BASE_URL}"
        self._service = _Service()
        self._taken = 0
        self.url = f"http://127.0.0.1:{self._service.server_port}"
        self._open = True
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        """Not ``serve_forever``, whose end has to be polled for: a gate starts many of these."""
        while self._open:
            self._service.handle_request()

    def unavailable(self, launch: Launch) -> str:  # noqa: ARG002 - works for any launch
        return ""

    def wrap(self, launch: Launch) -> Launch:
        changes: dict[str, str | None] = dict.fromkeys(self._variables, self.url)
        if self._proxies:
            for name in _PROXIES:
                changes[name] = changes[name.upper()] = self.url
            changes["no_proxy"] = changes["NO_PROXY"] = None
        return with_env(launch, **changes)

    def idle(self) -> str:
        return ""

    def take(self) -> Sequence[Observed]:
        seen = self._service.seen[self._taken :]
        self._taken += len(seen)
        return seen

    def close(self) -> None:
        if self._open:
            self._open = False
            self._service.socket.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for it
            self._thread.join()
            self._service.server_close()
