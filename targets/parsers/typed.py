"""Parsers whose values are not plain: envelopes of JSON-RPC, decimals. They are made plain here.

The key insight: a typed parser skips what its type does not name, and may skip it carelessly, so it
can accept documents that no untyped parser does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pydantic

__all__ = ["TYPED_MSGSPEC", "TYPED_PYDANTIC", "plain"]


def plain(value: Any) -> object:
    """``value`` with every decimal or lossless float as a float; its nesting must fit the stack."""
    if type(value) is list:
        return [plain(item) for item in value]
    if type(value) is dict:
        return {name: plain(member) for name, member in value.items()}
    return value if isinstance(value, str | int | None) else float(value)


class _Struct(msgspec.Struct, omit_defaults=True):
    jsonrpc: str
    id: int | str | None = None
    method: str = ""
    params: dict[str, Any] = {}


class _Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=False)

    jsonrpc: str
    id: int | str | None = None
    method: str = ""
    params: dict[str, Any] = {}


_STRICT = msgspec.json.Decoder(_Struct, strict=True)
_LAX = msgspec.json.Decoder(_Struct, strict=False)


def _struct(decoder: msgspec.json.Decoder[_Struct]) -> Callable[[bytes], object]:
    return lambda raw: msgspec.structs.asdict(decoder.decode(raw))


def _model(*, strict: bool) -> Callable[[bytes], object]:
    return lambda raw: _Model.model_validate_json(raw, strict=strict).model_dump()


TYPED_MSGSPEC = {"strict": _struct(_STRICT), "lax": _struct(_LAX)}
TYPED_PYDANTIC = {"strict": _model(strict=True), "lax": _model(strict=False)}
