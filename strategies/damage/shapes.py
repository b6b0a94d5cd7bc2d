"""Damage at any place of the params, whatever the message: absence, confusion, excess.

The protocol has hundreds of places, and each version has others. So these operators do not name
one: they choose among all that a good message has, arrays included.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable
from typing import Any

from wirefence.strategies.damage.base import Operator, Scene, rewrite
from wirefence.strategies.source import Source

__all__ = ["OPERATORS"]

_ORIGIN = "validators that check the envelope and trust the rest"
_BROKEN = ("none", "mcp-params:*", "mcp-meta:*")
_OTHERS: tuple[object, ...] = (None, True, False, 0, -7, 1.5, "", "1", [], [1], {}, {"value": 1})
_VALUES = ("", "x", "none", "no scheme", "https://", "%", "TEXT", "=")
"""Strings that are no URI, no base64 and no word of an enumeration."""
_NUMBERS = (-1, 2, 10**6)
_EXCESS = "wirefence-excess"

Place = tuple[Any, Any]
"""A container, and the name or index of one of its values."""


def _list_places(value: object) -> list[Place]:
    """Return every place below a value."""
    found, waiting = list[Place](), [value]
    while waiting:
        each = waiting.pop()
        keys = (
            each if isinstance(each, dict) else range(len(each)) if isinstance(each, list) else ()
        )
        for key in keys:
            found.append((each, key))
            waiting.append(each[key])  # type: ignore[index]
    return found


def _read_message(scene: Scene) -> dict[str, Any] | None:
    """Return a message with params; ``None`` for another frame, or one that is damaged already.

    ``None`` as well where escapes are written, which would be lost: they may be there on purpose.
    """
    if b"\\u" in scene.body:
        return None
    try:
        message = json.loads(scene.body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or not isinstance(message.get("params"), dict):
        return None
    return message


def _write_message(message: object) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _change_place(
    source: Source,
    scene: Scene,
    change: Callable[[Any, Any], None],
    types: tuple[type, ...] = (),
) -> bytes | None:
    """Return the message after ``change`` at one place within params.

    ``change`` is given the container and the key. With ``types``, the place holds a value of these.
    """
    message = _read_message(scene)
    places = [
        (container, key)
        for container, key in _list_places(message and message["params"])
        if not types or type(container[key]) in types
    ]
    if not places:
        return None
    change(*source.choice(places))
    return _write_message(message)


@rewrite(
    "shape-absent",
    "structure",
    "profile",
    "some member within params is missing",
    _ORIGIN,
    deviations=(*_BROKEN, "tool-arguments:missing", "authz-denied:no-token"),
)
def _absent(source: Source, scene: Scene) -> bytes | None:
    return _change_place(source, scene, operator.delitem)


@rewrite(
    "shape-confused",
    "type-confusion",
    "profile",
    "some value within params has another JSON type",
    _ORIGIN,
    deviations=(*_BROKEN, "tool-arguments:*", "identity-unknown:type"),
)
def _confused(source: Source, scene: Scene) -> bytes | None:
    def change(container: Any, key: Any) -> None:
        old = type(container[key])
        container[key] = source.choice([each for each in _OTHERS if type(each) is not old])

    return _change_place(source, scene, change)


@rewrite(
    "shape-value",
    "type-confusion",
    "profile",
    "some string or number within params has another value",
    _ORIGIN,
    deviations=(
        *_BROKEN,
        *("mcp-version:unsupported", "tool-unknown:other", "tool-arguments:choice"),
        "identity-unknown:other",
    ),
)
def _value(source: Source, scene: Scene) -> bytes | None:
    def change(container: Any, key: Any) -> None:
        container[key] = source.choice(_VALUES if isinstance(container[key], str) else _NUMBERS)

    return _change_place(source, scene, change, (str, int, float))


@rewrite(
    "shape-excess",
    "structure",
    "profile",
    "some object within params has a member that no schema names",
    "readers that fail on what a later version adds",
    deviations=(*_BROKEN, "mcp-unknown-param:other", "tool-unknown-argument:other"),
)
def _excess(source: Source, scene: Scene) -> bytes | None:
    message = _read_message(scene)
    if message is None:
        return None
    inner = [container[key] for container, key in _list_places(message["params"])]
    objects = [message["params"], *(each for each in inner if isinstance(each, dict))]
    source.choice(objects)[_EXCESS] = source.choice(_OTHERS)
    return _write_message(message)


OPERATORS: tuple[Operator, ...] = (_absent, _confused, _value, _excess)
