"""Play one attack to one client, from the start of its process to the end.

The client starts *its* server, so it is given a relay to this process, which sends all answers. A
client that speaks on its own stdin and stdout needs no relay, and is recognized by doing so.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Literal, Self

from wirefence.fuzz.gate.client.fake_server import FakeServer
from wirefence.fuzz.gate.client.probe import ServerProbe
from wirefence.fuzz.gate.client.records import (
    Attack,
    ClientPlace,
    Close,
    PlayedAttack,
    Send,
    Step,
)
from wirefence.fuzz.store.redaction import Redactor
from wirefence.oracles.client import ClientReport
from wirefence.strategies.records import Version
from wirefence.targets.command.process import Process
from wirefence.targets.command.records import Launch
from wirefence.targets.effects.environment import with_env
from wirefence.targets.scratch import Scratch

__all__ = ["ACTIONS", "PREFIX", "ClientTerms", "play_attack"]

ACTIONS = ("alpha", "beta", "gamma")
"""Actions that a client is asked for, in this order or all at once."""

PREFIX = b"wirefence-result "
"""Begins a line of stderr that holds a result, for clients that write no file."""

_RELAY = Path(__file__).with_name("relay.py")
_MESSAGE = re.compile(rb"\s*\{[^\n]*\"jsonrpc\"")
_TICK_SECONDS = 0.002
"""Seconds of one wait for the client: keeps the delay of an answer small."""
_CHUNK_BYTES = 1 << 16
"""Bytes of one read, as in the relay."""
_CUT_PAUSE_SECONDS = 0.02
"""Seconds between the pieces of one answer: enough for separate reads in the client."""


@dataclass(frozen=True, slots=True)
class ClientTerms:
    """Time-outs of a play in seconds, and the pause after a bad answer."""

    start_patience: float = 30.0
    patience: float = 5.0
    quiet: float = 0.25
    version: Version | None = None
    doubtful: bool = False
    """Whether a client that sends nothing for ``patience`` is probed for being a server."""
    ended: Event = field(default_factory=Event)
    """Set to end every running play."""


class _ClientFolder:
    """A folder with a socket, the script that a client starts, and the file of its results."""

    def __init__(self) -> None:
        self._scratch = Scratch("client")
        folder = self._scratch.path
        self.results = folder / "results"
        self.server = folder / "server"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / "socket"))
        self.listener.listen(8)
        self.listener.settimeout(0)
        words = (sys.executable, "-I", "-S", str(_RELAY), str(folder / "socket"))
        self.server.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
        self.server.chmod(0o755)

    def make_launch(self, launch: Launch) -> Launch:
        """Return the client's launch with the server, the actions and the results file."""
        argv = tuple(word.replace("{server}", str(self.server)) for word in launch.argv)
        return with_env(
            replace(launch, argv=argv),
            WIREFENCE_SERVER=str(self.server),
            WIREFENCE_ACTIONS=" ".join(ACTIONS),
            WIREFENCE_RESULTS=str(self.results),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.listener.close()
        self._scratch.close()


def play_attack(
    launch: Launch, attack: Attack, place: ClientPlace, terms: ClientTerms
) -> PlayedAttack:
    """Start the client, act as its server, and return what was observed.

    Raises TargetError for a command that cannot start, or turns out to be no client.
    """
    began = time.monotonic()
    with _ClientFolder() as here:
        process = Process(here.make_launch(launch))
        peer = FakeServer(attack, place, terms.version, terms.quiet, secrets.token_hex(4))
        talk = _Conversation(process, here, peer, terms)
        try:
            with _ServerCheck(launch, terms) as doubt:
                talk.run(doubt.check_for_server)
        finally:
            status = process.stop()
            talk.close_socket()
        ending: Literal["exited", "crashed", "hung"] = "hung" if talk.hung else "exited"
        if status.signal and not talk.hung:
            ending = "crashed"
        stderr = bytes(process.stderr.data)
        return PlayedAttack(
            attack,
            place,
            bytes(talk.sent),
            bytes(talk.received),
            bytes(peer.after),
            peer.offending,
            dict(peer.truth),
            peer.false,
            tuple(_read_client_reports(here.results, stderr)),
            peer.exercised,
            ending,
            str(status),
            # A crash is named after it, and half a secret would not be recognized later.
            Redactor.for_launch(launch).redact_bytes(stderr) if ending == "crashed" else stderr,
            str(peer.client.get("name", "")),
            str(peer.client.get("version", "")),
            peer.version,
            time.monotonic() - began,
        )


class _ServerCheck:
    """Probes whether the command is a server, once it has sent nothing for long."""

    def __init__(self, launch: Launch, terms: ClientTerms) -> None:
        self._launch, self._terms = launch, terms
        self._began = time.monotonic()
        self._elsewhere = ExitStack()
        self._probe: ServerProbe | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._elsewhere.close()

    def check_for_server(self) -> None:
        """Probe while nothing has come. Raises TargetError for a server."""
        if self._probe is not None:
            self._probe.check_answer()
        elif self._terms.doubtful and time.monotonic() - self._began > self._terms.patience:
            # Use another folder, so that the probe's process does not connect to this session.
            place = self._elsewhere.enter_context(_ClientFolder())
            self._probe = ServerProbe(place.make_launch(self._launch))
            self._elsewhere.callback(self._probe.stop)


class _Conversation:
    """The bytes between one client and the fake server, and the time-outs."""

    def __init__(
        self, process: Process, here: _ClientFolder, peer: FakeServer, terms: ClientTerms
    ) -> None:
        self.process, self.here, self.peer, self.terms = process, here, peer, terms
        self.sent, self.received = bytearray(), bytearray()
        self.hung = False
        self._link: socket.socket | None = None
        self._direct = False
        self._read = 0
        self._todo: deque[Step] = deque()
        self._out = b""
        self._not_before = 0.0
        self._closed = False
        self._last = time.monotonic()

    def run(self, unheard: Callable[[], None]) -> None:
        """Run until the client has ended, or does not end though its server has.

        ``unheard`` is called repeatedly until the client has sent something.
        """
        while not (self.process.gone or self.terms.ended.is_set()):
            self.process.pump(_TICK_SECONDS)
            self._accept_connection()
            self._give_to_server(self._read_client())
            self._send_due_steps()
            if not self.received:
                unheard()
            if time.monotonic() - self._last > self._get_patience():
                if self._closed or not self._has_connection:
                    self.hung = True
                    return
                self._end_output()
        self._give_to_server(self._read_client())

    @property
    def _has_connection(self) -> bool:
        """Whether the client has a server that can be closed before it."""
        return self._direct or self._link is not None

    def _get_patience(self) -> float:
        return self.terms.patience if self.received else self.terms.start_patience

    def _accept_connection(self) -> None:
        try:
            link, _ = self.here.listener.accept()
        except BlockingIOError:
            return
        if self._link is not None or self._direct:
            link.close()  # one server for each play: close a second one at once
            return
        link.settimeout(0)
        self._link = link

    def _read_client(self) -> bytes:
        """Return what the client has sent since the last read."""
        if self._link is not None:
            data = _read_socket(self._link)
            if data is None:  # the client closed its side, so the server ends
                self.close_socket()
            return data or b""
        out = self.process.stdout.data
        if not self._direct and _MESSAGE.match(out):
            self._direct = True
        if not self._direct:
            return b""
        fresh = bytes(out[self._read :])
        self._read += len(fresh)
        return fresh

    def _give_to_server(self, data: bytes) -> None:
        if data:
            self._last = time.monotonic()
            self.received += data
            self._todo += self.peer.receive_bytes(data)

    def _send_due_steps(self) -> None:
        """Send what is due: a piece of output, the next step, or nothing."""
        while time.monotonic() >= self._not_before:
            if self._out:
                if not self._write_output():
                    return
            elif self._todo:
                self._begin_step(self._todo.popleft())
            else:
                return

    def _begin_step(self, step: Step) -> None:
        if isinstance(step, Close):
            self._end_output()
            return
        if self._closed:
            return
        pieces = [step.data[a:b] for a, b in _split_at_cuts(step)]
        self._out = pieces[0]
        later = [Send(piece, pause=_CUT_PAUSE_SECONDS) for piece in pieces[1:]]
        if later:
            later[-1] = replace(later[-1], pause=step.pause)
        self._todo.extendleft(reversed(later))
        self._pause = _CUT_PAUSE_SECONDS if later else step.pause

    def _write_output(self) -> bool:
        """Write what the pipe takes; once all is written, the pause of the step begins."""
        if self._direct:
            self.process.write(self._out)
            count = len(self._out)
        else:
            count = _write_socket(self._link, self._out)
        self.sent += self._out[:count]
        self._out = self._out[count:]
        if count:
            self._last = time.monotonic()
        if not self._out:
            self._not_before = time.monotonic() + self._pause
        return count > 0

    def _end_output(self) -> None:
        """End the server's output; drop what was not sent yet."""
        self._closed, self._last = True, time.monotonic()
        self._out = b""
        self._todo.clear()
        if self._direct:
            self.process.end_input()
        elif self._link is not None:
            try:
                self._link.shutdown(socket.SHUT_WR)
            except OSError:  # the client closed first
                return

    def close_socket(self) -> None:
        if self._link is not None:
            self._link.close()


def _split_at_cuts(step: Send) -> list[tuple[int, int]]:
    edges = (0, *step.cuts, len(step.data))
    return [(a, b) for a, b in pairwise(edges) if a < b] or [(0, 0)]


def _read_socket(link: socket.socket) -> bytes | None:
    """Return what has come, ``b""`` for nothing yet, ``None`` at the end."""
    try:
        return link.recv(_CHUNK_BYTES) or None
    except BlockingIOError:
        return b""
    except OSError:
        return None


def _write_socket(link: socket.socket | None, data: bytes) -> int:
    """Return how much a socket took; everything where its reader is gone."""
    if link is None:
        return len(data)
    try:
        return link.send(data)
    except BlockingIOError:
        return 0
    except OSError:
        return len(data)


def _read_client_reports(path: Path, stderr: bytes) -> Iterator[ClientReport]:
    """Yield what the client reported, in its file and on stderr; ignore other lines."""
    marked = (line for line in stderr.split(b"\n") if line.startswith(PREFIX))
    written = path.read_bytes().split(b"\n") if os.path.lexists(path) else []
    for line in (*written, *(line.removeprefix(PREFIX) for line in marked)):
        try:
            report = _parse_report(json.loads(line))
        except (ValueError, RecursionError):
            continue
        if report is not None:
            yield report


def _parse_report(value: object) -> ClientReport | None:
    """Return what one line reports. Raises RecursionError for a deeply nested result."""
    if not isinstance(value, dict) or not isinstance(value.get("action"), str):
        return None
    error = "error" in value
    text = value.get("error") if error else value.get("result")
    return ClientReport(value["action"], text if isinstance(text, str) else json.dumps(text), error)
