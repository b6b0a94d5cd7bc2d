"""Parsers whose values are not plain: envelopes of JSON-RPC, decimals. They are made plain here.

A typed parser skips what its type does not name, and may skip it carelessly, so it
can accept documents that no untyped parser does.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["to_plain_floats", "typed_msgspec", "typed_pydantic"]

Read = Callable[[bytes], object]


def to_plain_floats(value: Any) -> object:
    """``value`` with every decimal or lossless float as a float; its nesting must fit the stack."""
    if type(value) is list:
        return [to_plain_floats(item) for item in value]
    if type(value) is dict:
        return {name: to_plain_floats(member) for name, member in value.items()}
    return value if isinstance(value, str | int | None) else float(value)


def typed_msgspec() -> dict[str, Read]:
    """Readers of an envelope type by msgspec: ``strict`` and ``lax``. Raises ImportError."""
    msgspec, codec = import_module("msgspec"), import_module("msgspec.json")
    fields = [
        ("jsonrpc", str),
        ("id", int | str | None, None),
        ("method", str, ""),
        ("params", dict[str, Any], msgspec.field(default_factory=dict)),
    ]
    struct = msgspec.defstruct("_Struct", fields, omit_defaults=True)

    def reader(*, strict: bool) -> Read:
        decode = codec.Decoder(struct, strict=strict).decode
        return lambda raw: msgspec.structs.asdict(decode(raw))

    return {"strict": reader(strict=True), "lax": reader(strict=False)}


def typed_pydantic() -> dict[str, Read]:
    """Readers of an envelope model by pydantic: ``strict`` and ``lax``. Raises ImportError."""
    model: Any = import_module("pydantic").create_model(
        "_Model",
        jsonrpc=(str, ...),
        id=(int | str | None, None),
        method=(str, ""),
        params=(dict[str, Any], {}),
    )

    def reader(*, strict: bool) -> Read:
        return lambda raw: model.model_validate_json(raw, strict=strict).model_dump()

    return {"strict": reader(strict=True), "lax": reader(strict=False)}
