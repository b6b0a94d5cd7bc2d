"""The fake service takes any request, also bad ones, and always lets go."""

from __future__ import annotations

import http.client
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from wirefence.targets.command.records import Launch
from wirefence.targets.effects.available import choose_recorders
from wirefence.targets.effects.fake_http import BASE_URL, FakeHttp


@pytest.fixture
def service():
    made = FakeHttp(("MY_API",))
    yield made
    made.close()
    made.close()


def raw(service: FakeHttp, request: bytes, *, end: bool = True) -> bytes:
    port = urlsplit(service.url).port
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(request)
        if end:
            client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65536), b""))


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PROPFIND"])
def test_any_method_is_answered_and_seen(service: FakeHttp, method: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(service.url).port, timeout=30)
    connection.request(method, "/a?b=q1", body=b"q2", headers={"X-C": "q3"})
    assert connection.getresponse().status == 200
    [seen] = service.take()
    assert seen.detail == f"{method} /a?b=q1 HTTP/1.1".encode()
    assert [seen.carries(nonce) for nonce in ("q1", "q2", "q3", "q4", "")] == [True] * 3 + [
        False
    ] * 2
    assert service.take() == []


def test_a_chunked_body_is_seen_in_one_piece(service: FakeHttp) -> None:
    head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert b" 200 " in raw(service, head + b"2;x=y\r\nqa\r\n3\r\nct1\r\n0\r\n\r\n")
    assert service.take()[0].content.endswith(b"qact1")


@pytest.mark.parametrize(
    "request_",
    [
        b"POST /q1 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST /q1 HTTP/1.1\r\nContent-Length: 99\r\n\r\nshort",
        b"POST /q1 HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET /q1 HTTP/9.9\r\n\r\n",
        b"/q1 nonsense\r\n\r\n",
        b"CONNECT q1:443 HTTP/1.1\r\n\r\n",
    ],
)
def test_a_request_counts_however_badly_it_ends(service: FakeHttp, request_: bytes) -> None:
    raw(service, request_)
    assert [seen.carries("q1") for seen in service.take()] == [True]


def test_variables_point_to_the_service_and_exceptions_are_taken_away(service: FakeHttp) -> None:
    env = service.wrap(Launch(("server",), {"NO_PROXY": "*"})).env
    assert {env[name] for name in (BASE_URL, "MY_API", "http_proxy", "HTTPS_PROXY")} == {
        service.url
    }
    assert env["NO_PROXY"] is None


def test_a_launcher_that_fetches_its_server_is_not_sent_through_the_proxy(tmp_path: Path) -> None:
    [service] = choose_recorders(Launch(("npx", "-y", "x"), {}, tmp_path), ["http"])
    env = service.wrap(Launch(("npx",))).env
    service.close()
    assert BASE_URL in env
    assert not any("proxy" in name.lower() for name in env)


def test_nothing_is_left_open_after_the_end() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        service = FakeHttp()
        raw(service, b"GET / HTTP/1.0\r\n\r\n")
        service.close()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1
