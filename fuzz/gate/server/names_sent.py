"""Find our names in the values of a message that was sent to a server."""

from __future__ import annotations

from collections.abc import Mapping

from wirefence.fuzz.gate.trials.messages import tokens_in
from wirefence.oracles.document import UNKNOWN

__all__ = ["find_names"]


def find_names(value: object, raw: bytes) -> set[bytes]:
    """Return our names in any string of a JSON value that stands in ``raw``, at any depth.

    Where the judge kept no deeply nested value, search the bytes.
    """
    found: set[bytes] = set()
    waiting, deeper = [value], False
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            found |= tokens_in(each.encode("utf-8", "surrogatepass"))
        elif isinstance(each, Mapping):
            waiting += [*each, *each.values()]
        elif isinstance(each, list | tuple):
            waiting += each
        deeper = deeper or each is UNKNOWN
    return found | tokens_in(raw) if deeper else found
