"""Where the members of a frame lie, found by one regular expression and no parser.

Good frames come from our own grammar, so a scanner that trusts them is enough; anything it can't
follow (a frame damaged before) merely has fewer members.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache

__all__ = [
    "Member",
    "find",
    "insert_into",
    "insert_member",
    "members",
    "remove_member",
    "replace_value",
    "string_places",
]

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"(\s*:)?', re.DOTALL)
_LONGEST = 65_536
_DEEPEST = 48


@dataclass(frozen=True, slots=True)
class Member:
    """One ``name: value`` of an object: its path (raw names) and offsets into the frame."""

    path: tuple[bytes, ...]
    name_at: int
    value_at: int
    end: int

    def value(self, raw: bytes) -> bytes:
        return raw[self.value_at : self.end]

    def whole(self, raw: bytes) -> bytes:
        return raw[self.name_at : self.end]


@lru_cache(maxsize=16)
def members(raw: bytes) -> tuple[Member, ...]:
    """All members of all objects outside arrays, inner ones first; none for a huge frame.

    The last results are kept, as operators are often tried in turn on one frame.
    """
    found: list[Member] = []
    if len(raw) <= _LONGEST:
        tokens = list(_TOKEN.finditer(raw))
        with suppress(IndexError):
            _value(tokens, 0, (), found)
    return tuple(found)


def _value(
    tokens: list[re.Match[bytes]], at: int, path: tuple[bytes, ...], found: list[Member]
) -> int:
    """Walk over the value at token ``at``; give the index of the token after it."""
    token = tokens[at].group()
    if token == b"{":
        return _object(tokens, at + 1, path, found)
    if token == b"[":
        return _array(tokens, at + 1)
    return at + 1


def _object(
    tokens: list[re.Match[bytes]], at: int, path: tuple[bytes, ...], found: list[Member]
) -> int:
    if len(path) > _DEEPEST:
        raise IndexError
    while tokens[at].group() != b"}":
        name, value = tokens[at], tokens[at + 2]
        inner = (*path, name.group()[1:-1])
        after = _value(tokens, at + 2, inner, found)
        found.append(Member(inner, name.start(), value.start(), tokens[after - 1].end()))
        at = after + (tokens[after].group() == b",")
    return at + 1


def _array(tokens: list[re.Match[bytes]], at: int) -> int:
    depth = 1
    while depth:
        token = tokens[at].group()
        depth += (token in (b"[", b"{")) - (token in (b"]", b"}"))
        at += 1
    return at


def find(raw: bytes, *path: bytes) -> Member | None:
    """The member at ``path`` (names without quotes, from the top level), or ``None``."""
    return next((member for member in members(raw) if member.path == path), None)


def replace_value(raw: bytes, member: Member, value: bytes) -> bytes:
    """The frame with another value, spelled as given, for this member."""
    return raw[: member.value_at] + value + raw[member.end :]


def insert_member(raw: bytes, beside: Member, text: bytes, *, before: bool = False) -> bytes:
    """The frame with ``text`` as one more member right beside a member."""
    if before:
        return raw[: beside.name_at] + text + b"," + raw[beside.name_at :]
    return raw[: beside.end] + b"," + text + raw[beside.end :]


def insert_into(raw: bytes, holder: Member, text: bytes) -> bytes:
    """The frame with ``text`` as the first member of an object that is this member's value."""
    start = holder.value_at + 1
    comma = b"" if raw[start : holder.end].lstrip().startswith(b"}") else b","
    return raw[:start] + text + comma + raw[start:]


def remove_member(raw: bytes, member: Member) -> bytes:
    """The frame without a member, and without the comma that parted it from another."""
    before, after = raw[: member.name_at], raw[member.end :]
    if after.lstrip(b" \t").startswith(b","):
        return before + after.lstrip(b" \t")[1:]
    return before.rstrip(b" \t").removesuffix(b",") + after


def string_places(raw: bytes) -> list[int]:
    """Offsets just inside the opening quote of each string value (never of a name)."""
    if len(raw) > _LONGEST:
        return []
    # A name is matched too, colon and all: else its closing quote would pass for an opening one.
    return [match.start() + 1 for match in _STRING.finditer(raw) if match.group(1) is None]
