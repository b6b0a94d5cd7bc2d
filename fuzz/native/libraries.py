"""The parsers that can be instrumented, and where their C code shows in Python.

A library whose C part cannot load goes on in pure Python without a word, so each
row says which function must have come from the C module for it to be in use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirefence.fuzz.errors import UsageError

__all__ = ["LIBRARIES", "NAMES", "Library", "choose_libraries"]


@dataclass(frozen=True, slots=True)
class Library:
    """A parser with C code. ``module`` is its C module; ``caller.function`` is what uses it.

    ``offers`` is the name of the same object in ``module``. ``distribution`` is the
    package on the index that holds the source, ``""`` where CPython itself does.
    """

    name: str
    module: str
    caller: str
    function: str
    offers: str
    distribution: str = ""


LIBRARIES = {
    row.name: row
    for row in (
        Library(
            "simplejson",
            module="simplejson._speedups",
            caller="simplejson.scanner",
            function="c_make_scanner",
            offers="make_scanner",
            distribution="simplejson",
        ),
        Library(
            "ujson",
            module="ujson",
            caller="ujson",
            function="loads",
            offers="loads",
            distribution="ujson",
        ),
        Library(
            "_json",
            module="_json",
            caller="json.scanner",
            function="c_make_scanner",
            offers="make_scanner",
        ),
    )
}
"""Every library that can be instrumented, by the name that users give."""

NAMES = tuple(LIBRARIES)


def choose_libraries(names: Sequence[str]) -> list[Library]:
    """The rows of ``names`` in their order, each once. Raises UsageError for an unknown name."""
    unknown = [name for name in names if name not in LIBRARIES]
    if unknown:
        raise UsageError(
            f"{unknown[0]!r} is no library that can be instrumented",
            f"use one of {', '.join(NAMES)}",
        )
    if not names:
        raise UsageError("no library was named", f"use one of {', '.join(NAMES)}")
    return [LIBRARIES[name] for name in dict.fromkeys(names)]
