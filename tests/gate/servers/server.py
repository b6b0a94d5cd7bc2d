"""A stdio server that is strict and silent, and the same with one planted fault.

``python server.py FOLDER [FAULT]``: a call of ``record`` makes a file named after its action in
FOLDER. The inner reader is the reference gateway; each fault is a few lines around it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bare  # noqa: F401 - must come before what it makes cheap

from wirefence.strategies.contract import DEFAULT_TOOLS, Contract
from wirefence.targets.gateway.session import ReferenceGateway

INITIALIZED = b'"notifications/initialized"'
NOTE = (
    b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"busy"}}\n'
)


class Strict:
    """Answers good requests; says nothing to anything else."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.buffer = b""
        self.inner = ReferenceGateway(
            self.act, Contract(policy="continue", tools=DEFAULT_TOOLS[:1])
        )

    def act(self, tool: str, arguments) -> None:
        with (self.folder / str(arguments.get("action"))).open("a") as file:
            file.write("acted\n")

    def feed(self, data: bytes) -> bytes:
        """Whole lines, one by one; the rest waits."""
        self.buffer += data
        *lines, self.buffer = self.buffer.split(b"\n")
        return b"".join(self.line(line) for line in lines)

    def line(self, line: bytes) -> bytes:
        return self.silent(self.inner.feed(line + b"\n"))

    def eof(self) -> bytes:
        return self.silent(self.inner.feed(self.buffer) + self.inner.eof())

    def start(self) -> bytes:
        return b""

    def silent(self, out: bytes) -> bytes:
        lines = [line for line in out.split(b"\n") if line]
        return b"".join(line + b"\n" for line in lines if not self.is_complaint(line))

    @staticmethod
    def is_complaint(line: bytes) -> bool:
        value = json.loads(line)
        return isinstance(value, dict) and "error" in value and value["error"]["code"] < -32602

    def end(self) -> int:
        return 0


class SplitsAtCr(Strict):
    def line(self, line: bytes) -> bytes:
        return b"".join(super(SplitsAtCr, self).line(part) for part in line.split(b"\r") if part)


class ReplacesUtf8(Strict):
    def line(self, line: bytes) -> bytes:
        return super().line(line.decode("utf-8", "replace").encode())


class TakesNan(Strict):
    def line(self, line: bytes) -> bytes:
        return super().line(line.replace(b'"ttl":NaN,', b""))


class LastMethodWins(Strict):
    def line(self, line: bytes) -> bytes:
        try:
            value = json.loads(line)
        except ValueError:
            return super().line(line)
        return super().line(json.dumps(value, ensure_ascii=False).encode())


class ActsOnTail(Strict):
    def eof(self) -> bytes:
        return super().line(self.buffer) if self.buffer else b""


class TakesTwo(Strict):
    """A raw_decode loop: as many values as stand on the line."""

    def line(self, line: bytes) -> bytes:
        out, text = b"", line.decode("utf-8", "replace")
        while text.strip():
            try:
                _, end = json.JSONDecoder().raw_decode(text)
            except ValueError:
                return out or super().line(line)
            out += super().line(text[:end].encode())
            text = text[end:]
        return out


class Hybrids(Strict):
    def line(self, line: bytes) -> bytes:
        return super().line(line.replace(b'"result":{},', b""))


class CallsEarly(Strict):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.open = False

    def line(self, line: bytes) -> bytes:
        if b'"tools/call"' in line and not self.open:
            try:
                call = json.loads(line)
                self.act("record", call["params"]["arguments"])
            except (ValueError, KeyError, TypeError, AttributeError):
                return b""
            result = {"jsonrpc": "2.0", "id": call["id"], "result": {"content": []}}
            return json.dumps(result).encode() + b"\n"
        self.open |= INITIALIZED in line
        return super().line(line)


class OpensForAnything(Strict):
    """An initialize that is refused still opens the gate."""

    def line(self, line: bytes) -> bytes:
        if b'"method":"initialize"' in line and b'"id":' not in line:
            super().line(line.replace(b'"method"', b'"id":"x","method"'))
            super().line(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
            return b""
        return super().line(line)


class LocksVersion(Strict):
    """An initialize that is refused still decides on the version."""

    locked = False

    def line(self, line: bytes) -> bytes:
        out = super().line(line)
        self.locked |= b'"initialize"' in line and b'"result"' not in out
        return out.replace(b'"2025-11-25"', b'"2025-06-18"') if self.locked else out


class KeepsHalf(Strict):
    """What could not be read is put before the next line."""

    kept = b""

    def line(self, line: bytes) -> bytes:
        whole, self.kept = self.kept + line, b""
        try:
            json.loads(whole)
        except ValueError:
            self.kept = whole
            return b""
        return super().line(whole)


class DiesOfBadJson(Strict):
    def line(self, line: bytes) -> bytes:
        json.loads(line)
        return super().line(line)


class DiesOfSyntax(Strict):
    """One check for all that is no JSON, and one way to die of it."""

    lines = 0

    def silent(self, out: bytes) -> bytes:
        self.lines += 1
        if b"-32700" in out:
            sys.exit(f"line {self.lines}: no JSON")
        return super().silent(out)


class RuinsItself(Strict):
    """Keeps what it could not read where its next start reads it, and dies of that."""

    def start(self) -> bytes:
        if self.state.exists():
            os.write(2, b"the database is malformed\n")
            sys.exit(3)
        return b""

    def line(self, line: bytes) -> bytes:
        try:
            json.loads(line)
        except ValueError:
            self.state.write_bytes(line)
            sys.exit(3)
        return super().line(line)

    @property
    def state(self) -> Path:
        return self.folder.parent / "state"


class HangsOnCalls(Strict):
    def act(self, tool: str, arguments) -> None:
        time.sleep(3_600)


class HangsOnBadJson(Strict):
    def line(self, line: bytes) -> bytes:
        try:
            json.loads(line)
        except ValueError:
            time.sleep(3_600)
        return super().line(line)


class Prints(Strict):
    def start(self) -> bytes:
        return b"Server listening on stdio\n"


class PrintsTracebacks(Strict):
    def line(self, line: bytes) -> bytes:
        try:
            json.loads(line)
        except ValueError:
            return b"Traceback (most recent call last):\n"
        return super().line(line)


class CountsCalls(Strict):
    """Something happens at one call of many."""

    calls = 0

    def act(self, tool: str, arguments) -> None:
        self.calls += 1
        super().act(tool, arguments)


class PrintsAtThirdCall(CountsCalls):
    at = 3

    def line(self, line: bytes) -> bytes:
        before, out = self.calls, super().line(line)
        return out + b"3 calls served\n" * (before < self.at <= self.calls)


class PrintsAtTenthCall(PrintsAtThirdCall):
    at = 10


class LosesEverySeventh(CountsCalls):
    """Answers with success, and does nothing."""

    def act(self, tool: str, arguments) -> None:
        self.calls += 1
        if self.calls % 7:
            Strict.act(self, tool, arguments)


class Overwrites(Strict):
    """Healthy: keeps its last action in one file, so that of many calls at once one is seen."""

    def act(self, tool: str, arguments) -> None:
        (self.folder / "last").write_text(str(arguments.get("action")))


class TakesNanOnce(TakesNan):
    """Keeps no state but that it did it: nothing shows it again."""

    def line(self, line: bytes) -> bytes:
        state = self.folder.parent / "state"
        if b"NaN" not in line or state.exists():
            return Strict.line(self, line)
        state.write_bytes(line)
        return super().line(line)


class WrongId(Strict):
    def silent(self, out: bytes) -> bytes:
        return super().silent(out).replace(b'si"', b'"')


class AnswersTwice(Strict):
    def line(self, line: bytes) -> bytes:
        return super().line(line) * (2 if b'"ping"' in line else 1)


class ActsTwice(Strict):
    def line(self, line: bytes) -> bytes:
        out = super().line(line)
        if b'"tools/call"' in line and out and self.seen_bad:
            self.act("record", {"action": json.loads(line)["params"]["arguments"]["action"] + "-2"})
        self.seen_bad = not out and INITIALIZED not in line
        return out

    seen_bad = False


class ActsNameless(Strict):
    """Bad params are coerced to an empty call: no name, no reply."""

    def line(self, line: bytes) -> bytes:
        if b'"params":[' in line:
            self.act("record", {"action": "default"})
        return super().line(line)


class LosesAtEnd(Strict):
    """Is slow, and leaves as soon as it sees that stdin has ended."""

    def feed(self, data: bytes) -> bytes:
        out = super().feed(data)
        time.sleep(0.3)
        poll = select.poll()
        poll.register(0, select.POLLIN)
        if any(event & select.POLLHUP for _, event in poll.poll(0)):
            os._exit(0)
        return out


class Stays(Strict):
    def end(self) -> int:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(3_600)
        return 0


class EndsBadly(Strict):
    def end(self) -> int:
        return 3


class Closes(Strict):
    """Says nothing more after a bad frame."""

    closed = False

    def line(self, line: bytes) -> bytes:
        if not self.closed:
            try:
                json.loads(line)
            except ValueError:
                self.closed = True
        return b"" if self.closed else super().line(line)


class Chatty(Strict):
    """Healthy: replies to what came together are out of order, between notifications."""

    def feed(self, data: bytes) -> bytes:
        self.buffer += data
        *lines, self.buffer = self.buffer.split(b"\n")
        return NOTE + NOTE.join(reversed([self.line(line) for line in lines])) + NOTE


FAULTS = {each.__name__: each for each in vars().values() if isinstance(each, type)}


def main() -> int:
    kind = FAULTS[sys.argv[2]] if len(sys.argv) > 2 else Strict
    return serve(kind(Path(sys.argv[1])))


def serve(server: Strict) -> int:
    """Read stdin until it ends, and return the exit status."""
    write(server.start())
    while data := os.read(0, 65_536):
        write(server.feed(data))
    write(server.eof())
    return server.end()


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main())
