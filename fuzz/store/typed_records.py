"""Records made of untrusted JSON or TOML: each field has a type, and nothing unknown is taken.

The standard library only: the base installation has no JSON library that Wirefence tests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

__all__ = ["Bounds", "as_content", "decode_json", "decode_record", "read_record"]

T = TypeVar("T")

_WORDS = {dict: "object", list: "array", tuple: "array", NoneType: "null"}
"""JSON's words for Python's types; any other type has the same name in both."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits of a field, as in ``Annotated[int, Bounds(least=0)]``.

    ``least``, ``above`` and ``most`` are for numbers, ``pattern`` for text (searched, not matched),
    ``min_length`` and ``max_length`` for text and arrays.
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None
    pattern: str = ""
    min_length: int = 0
    max_length: int | None = None

    def broken(self, value: Any) -> str:
        """Return the limit that a value of the right type breaks, or ``""``."""
        size = len(value) if isinstance(value, str | tuple) else self.min_length
        # Written so that NaN breaks each limit.
        checks = (
            (self.least is None or value >= self.least, f">= {self.least}"),
            (self.above is None or value > self.above, f"> {self.above}"),
            (self.most is None or value <= self.most, f"<= {self.most}"),
            (not self.pattern or re.search(self.pattern, value), f"matching {self.pattern!r}"),
            (size >= self.min_length, f"of length >= {self.min_length}"),
            (self.max_length is None or size <= self.max_length, f"of length <= {self.max_length}"),
        )
        return next((limit for holds, limit in checks if not holds), "")


def decode_record(content: bytes, kind: type[T]) -> T:
    """Read JSON text into the dataclass ``kind``. Raises ValueError that names the wrong field."""
    return read_record(decode_json(content), kind)


def decode_json(content: bytes) -> object:
    """Return the value of JSON text. Raises ValueError."""
    try:
        return json.loads(content.decode(), parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def read_record(value: object, kind: type[T], place: str = "$") -> T:
    """Make a dataclass of plain values. Raises ValueError that names the wrong field.

    Where ``kind.KEBAB`` is true, the names in ``value`` have hyphens in place of underscores.
    """
    if not isinstance(value, dict):
        raise _wrong_type(kind, value, place)
    hints = _get_hints(kind)  # type: ignore[arg-type]
    members = {_format_key(kind, name): name for name in hints}
    for name in value:
        if name not in members:
            raise ValueError(f"Object contains unknown field `{name}`{_format_place(place)}")
    for each in fields(kind):  # type: ignore[arg-type]
        needed = each.default is MISSING and each.default_factory is MISSING
        if needed and _format_key(kind, each.name) not in value:
            key = _format_key(kind, each.name)
            raise ValueError(f"Object missing required field `{key}`{_format_place(place)}")
    made = {
        members[key]: _read_field(item, hints[members[key]], f"{place}.{key}")
        for key, item in value.items()
    }
    return kind(**made)


def as_content(record: Any) -> dict[str, Any]:
    """Return a dataclass as plain values under the names that :func:`read_record` takes."""
    kind = type(record)
    return {
        _format_key(kind, each.name): _make_plain(getattr(record, each.name))
        for each in fields(kind)
    }


def _make_plain(value: Any) -> Any:
    if is_dataclass(value):
        return as_content(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value


@cache
def _get_hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name] for each in fields(kind)}


def _format_key(kind: type, name: str) -> str:
    return name.replace("_", "-") if getattr(kind, "KEBAB", False) else name


def _read_field(value: Any, hint: Any, place: str) -> Any:
    """Return ``value`` as a field of type ``hint`` holds it. Raises ValueError."""
    if get_origin(hint) is Annotated:
        return _read_bounded(value, hint, place)
    if get_origin(hint) in (Union, UnionType):
        return _read_union(value, hint, place)
    if get_origin(hint) in (tuple, list, dict):
        return _read_container(value, hint, place)
    if is_dataclass(hint):
        return read_record(value, hint, place)  # type: ignore[arg-type]
    return _read_scalar(value, hint, place)


def _read_bounded(value: Any, hint: Any, place: str) -> Any:
    kind, *limits = get_args(hint)
    made = _read_field(value, kind, place)
    for bounds in limits:
        if limit := bounds.broken(made):
            raise ValueError(f"Expected `{_describe_type(hint)}` {limit}{_format_place(place)}")
    return made


def _read_union(value: Any, hint: Any, place: str) -> Any:
    """Return ``value`` by the one type of a union that takes values of its JSON type."""
    for kind in get_args(hint):
        if _type_name(value) == _describe_type(kind):
            return _read_field(value, kind, place)
    raise _wrong_type(hint, value, place)


def _read_container(value: Any, hint: Any, place: str) -> Any:
    kind, words = get_origin(hint), get_args(hint)
    if kind is dict:
        _require_type(value, dict, place)
        names = [_read_field(name, words[0], place) for name in value]
        items = [_read_field(item, words[1], f"{place}[...]") for item in value.values()]
        return dict(zip(names, items, strict=True))
    _require_type(value, list, place)
    return kind(_read_field(item, words[0], f"{place}[{n}]") for n, item in enumerate(value))


def _read_scalar(value: Any, hint: Any, place: str) -> Any:
    if get_origin(hint) is Literal:
        _require_type(value, str, place)
        if value not in get_args(hint):
            raise ValueError(f"Invalid enum value {value!r}{_format_place(place)}")
        return value
    if hint is float and type(value) is int:
        return float(value)
    _require_type(value, hint, place)
    return value


def _require_type(value: object, kind: type, place: str) -> None:
    if type(value) is not kind:
        raise _wrong_type(kind, value, place)
    if kind is str:
        str(
            value
        ).encode()  # a lone surrogate could not be printed: UnicodeEncodeError is ValueError


def _wrong_type(kind: Any, value: object, place: str) -> ValueError:
    return ValueError(
        f"Expected `{_describe_type(kind)}`, got `{_type_name(value)}`{_format_place(place)}"
    )


def _type_name(value: object) -> str:
    return _WORDS.get(type(value), type(value).__name__)


def _describe_type(hint: Any) -> str:
    """Return the name of a type in JSON's words."""
    origin, words = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _describe_type(words[0])
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(map(_describe_type, words)))
    if origin is Literal:
        return "str"
    kind = origin or hint
    return "object" if is_dataclass(kind) else _WORDS.get(kind, kind.__name__)


def _format_place(place: str) -> str:
    return "" if place == "$" else f" - at `{place}`"
