"""Spell one good message in other ways: the order of members, white space, a note in ``_meta``.

Damage operators change a message in few ways, so a second round of them on the same message repeats
the first. On a message that is spelled in another way every operator makes new bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from wirefence.strategies.damage import spans
from wirefence.strategies.source import Source

__all__ = ["vary_message"]

_COMMAS = (b",", b", ", b" ,", b",\t")
_COLONS = (b":", b": ", b" : ")
_NOTE = b'"_meta":{"example.com/note":%b}'
_MOST_LETTERS = 12


def vary_message(source: Source, raw: bytes) -> bytes:
    """Return a good message in another spelling that is as good.

    Members of the message and of its ``params`` change places, and get white space around them.
    ``arguments`` stay as they are. Params without ``_meta`` may get one with a note in it.
    """
    members = spans.members(raw)
    texts = {member.path: member.whole(raw) for member in members if len(member.path) <= 2}
    params = [text for path, text in texts.items() if len(path) == 2 and path[0] == b"params"]
    if params and (b"params", b"_meta") not in texts and source.chance(1, 2):
        params.append(_NOTE % _make_note(source))
    top = [text for path, text in texts.items() if len(path) == 1 and path[0] != b"params"]
    if (b"params",) in texts:
        colon = source.choice(_COLONS)
        top.append(b'"params"%b{%b}' % (colon, _join_members(source, params)))
    return b"{%b}\n" % _join_members(source, top)


def _join_members(source: Source, members: Iterable[bytes]) -> bytes:
    """Return the members in another order, with white space beside some commas."""
    left, parts = list(members), list[bytes]()
    while left:
        parts.append(left.pop(source.integer(0, len(left) - 1)))
        parts.append(source.choice(_COMMAS))
    return b"".join(parts[:-1])


def _make_note(source: Source) -> bytes:
    """Return a JSON value that no reader has trouble with."""
    value: object = source.text(_MOST_LETTERS)
    if source.chance(1, 3):
        value = source.choice((True, False, None, source.integer(-(2**31), 2**31), [value]))
    return json.dumps(value).encode()
