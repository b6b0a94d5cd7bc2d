"""Reading strace's output: lines to calls, calls to effects.

Strace escapes line ends and quotes inside strings, so that a line is a line and
``" <unfinished ...>"`` at its end can't be forged by a file name. A call that was interrupted by
another thread's comes in two halves, which the thread's number puts together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from wirefence.targets.effects.records import EffectKind, Observed

__all__ = ["CALLS", "Call", "Lines", "effect_of_call"]

CALLS = {
    **dict.fromkeys(("execve", "execveat"), "exec"),
    "connect": "connect",
    **dict.fromkeys(("open", "openat", "openat2", "creat", "mkdir", "mkdirat"), "write"),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), "delete"),
    **dict.fromkeys(("rename", "renameat", "renameat2"), "rename"),
}
"""System calls that are watched, and the kind of effect that each is."""

_LINE = re.compile(rb"(\d+) +(\d+\.\d+) (.*)", re.DOTALL)
_RESUMED = re.compile(rb"<\.\.\. (\w+) resumed>(.*)", re.DOTALL)
_CALL = re.compile(rb"(\w+)\((.*)\) += (-?\d+|\?|0x[0-9a-f]+)(?: (E[A-Z]+)\b|<|$| )", re.DOTALL)
_UNFINISHED = b" <unfinished ...>"
_STRING = re.compile(rb'(@?)"((?:[^"\\]|\\.)*)"')
_FOLDER = re.compile(rb"(?:AT_FDCWD|\d+)<([^>]*)>, $")
_ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|[0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"v": b"\v", b"f": b"\f"}
_WRITING = re.compile(rb"O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)")
_PORT = re.compile(rb"sin6?_port=htons\((\d+)\)")
_HOST = re.compile(rb'(?:inet_addr\(|AF_INET6, )"([^"]*)"')
_SOCKET_PATH = re.compile(rb'sun_path=(@?"(?:[^"\\]|\\.)*")')
_KINDS: dict[str, EffectKind] = {
    "exec": "exec",
    "connect": "connect",
    "write": "write",
    "delete": "delete",
    "rename": "rename",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One finished system call: ``arguments`` as strace spells them, ``error`` as E-name or ""."""

    name: str
    arguments: bytes
    error: str
    at: float


@dataclass(slots=True)
class Lines:
    """Puts lines together to calls; holds the first halves of calls that are not finished."""

    _waiting: dict[bytes, tuple[float, bytes]] = field(default_factory=dict)

    def calls(self, lines: Iterable[bytes]) -> Iterator[Call]:
        """The calls that these lines finish, in order. Signals, exits and odd lines give none."""
        for line in lines:
            if match := _LINE.fullmatch(line):
                yield from self._one(match[1], float(match[2]), match[3])

    def _one(self, thread: bytes, at: float, text: bytes) -> Iterator[Call]:
        if text.endswith(_UNFINISHED):
            self._waiting[thread] = (at, text.removesuffix(_UNFINISHED))
            return
        if (resumed := _RESUMED.fullmatch(text)) and thread in self._waiting:
            at, first = self._waiting.pop(thread)
            text = first + resumed[2]
        if match := _CALL.match(text):
            yield Call(match[1].decode(), match[2], (match[4] or b"").decode(), at)


def effect_of_call(call: Call) -> Observed | None:
    """What a call did to the world, ``None`` for nothing.

    A refused connection is an effect, since the server did try; a file that could not be opened or
    a program that was not found (PATH is searched by trying) is none.
    """
    kind = CALLS.get(call.name)
    describe = _DESCRIBE.get(kind or "")
    if kind is None or describe is None or (call.error and kind != "connect"):
        return None
    if call.name.startswith("open") and not _WRITING.search(_without_strings(call.arguments)):
        return None
    detail = describe(call)
    return Observed("strace", _KINDS[kind], detail, b"", call.at) if detail else None


def _unescape_text(text: bytes) -> bytes:
    return _ESCAPE.sub(lambda match: _decode_escape(match[1]), text)


def _decode_escape(code: bytes) -> bytes:
    if code[:1].isdigit():
        return bytes([int(code, 8) & 0xFF])
    if code[:1] == b"x" and len(code) == 3:
        return bytes([int(code[1:], 16)])
    return _LETTERS.get(code, code)


def _without_strings(arguments: bytes) -> bytes:
    return _STRING.sub(b"", arguments)


def _find_strings(arguments: bytes) -> list[bytes]:
    return [_unescape_text(match[2]) for match in _STRING.finditer(arguments)]


def _describe_paths(call: Call) -> bytes:
    """The paths of a call, absolute where strace says to which folder they are relative."""
    return b" -> ".join(
        _join_path(call.arguments[: match.start()], _unescape_text(match[2]))
        for match in _STRING.finditer(call.arguments)
    )


def _join_path(before: bytes, path: bytes) -> bytes:
    folder = _FOLDER.search(before)
    if folder is None or path.startswith(b"/"):
        return path
    return _unescape_text(folder[1]) + b"/" + path


def _describe_program(call: Call) -> bytes:
    """The argument list; where it is empty, the program."""
    strings = _find_strings(call.arguments)
    return b" ".join(strings[1:] or strings)


def _describe_peer(call: Call) -> bytes:
    """``host:port`` or ``unix:path``; nothing for other families.

    A socket file that is not there is nothing: the C library looks for its name service so.
    """
    path = _SOCKET_PATH.search(call.arguments)
    if path:
        if call.error == "ENOENT":
            return b""
        text = path[1]
        return b"unix:" + (b"@" if text[:1] == b"@" else b"") + _find_strings(text)[0]
    port, host = _PORT.search(call.arguments), _HOST.search(call.arguments)
    return host[1] + b":" + port[1] if port and host else b""


_DESCRIBE = {
    "exec": _describe_program,
    "connect": _describe_peer,
    "write": _describe_paths,
    "delete": _describe_paths,
    "rename": _describe_paths,
}
