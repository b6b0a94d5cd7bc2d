"""Every parser configuration: a library, its options, and what it documents to raise.

An option is a parser of its own. Two services that use one library with different
options disagree just as two libraries do, so each combination that changes what is accepted is
listed, with bytes and text input apart where they differ.

Only the standard library's ``json`` is always there. Configurations of a library that is not
installed are left out, and :func:`find_unavailable` names it.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

from wirefence.targets.parsers.prescan import PrescanError, behind_prescan
from wirefence.targets.parsers.pure import pure_simplejson
from wirefence.targets.parsers.typed import to_plain_floats, typed_msgspec, typed_pydantic

__all__ = [
    "BY_NAME",
    "CONFIGS",
    "STRICT",
    "Parse",
    "ParserConfig",
    "find_unavailable",
    "library_versions",
]


def _import_or_none(module: str) -> Any:
    """Import a library; return ``None`` where it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        return None


jiter = _import_or_none("jiter")
msgspec = _import_or_none("msgspec")
orjson = _import_or_none("orjson")
pydantic = _import_or_none("pydantic")
pydantic_core = _import_or_none("pydantic_core")
rapidjson = _import_or_none("rapidjson")
simdjson = _import_or_none("simdjson")
simplejson = _import_or_none("simplejson")
ujson = _import_or_none("ujson")

Parse = Callable[[bytes], object]
Errors = tuple[type[BaseException], ...]


class NotUtf8Error(ValueError):
    """The bytes are not UTF-8: what a reader that decodes first reports in its own name."""


@dataclass(frozen=True, slots=True)
class ParserConfig:
    """One way to read a document.

    ``parse`` takes the raw bytes of a document and gives plain Python values. ``documented`` are
    the errors that a caller is told to expect; any other is an escape. A ``strict`` configuration
    keeps the whole strict profile. A ``typed`` one reads into an envelope type, so what it rejects
    or leaves out is its schema's doing; only what it accepts is compared.
    """

    name: str
    library: str
    options: str
    parse: Parse
    documented: Errors
    strict: bool = False
    typed: bool = False
    note: str = ""


def _wrap_text_parser(parse: Callable[[str], object]) -> Parse:
    """A parser of text behind strict UTF-8 decoding, as careful callers do it."""

    def parse_bytes(raw: bytes) -> object:
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            raise NotUtf8Error(str(error)) from None
        return parse(text)

    return parse_bytes


def _refuse_token(token: str) -> object:
    raise PrescanError(f"json-syntax: {token}")


_JSON: Errors = (json.JSONDecodeError, NotUtf8Error, PrescanError)
_VALUE: Errors = (ValueError,)


def _configure_json() -> list[ParserConfig]:
    # What loads would make for every document anew; the byte order mark it looks for is prescanned.
    strict = json.JSONDecoder(parse_constant=_refuse_token).decode
    row = partial(ParserConfig, library="json", documented=_JSON)
    return [
        row("json", options="text", parse=_wrap_text_parser(json.loads)),
        row(
            "json[bytes]",
            options="bytes: sniffs UTF-16 and UTF-32",
            parse=json.loads,
            documented=(*_JSON, UnicodeDecodeError),
        ),
        row(
            "json[replace]",
            options="text, decoded with errors=replace",
            parse=lambda raw: json.loads(raw.decode(errors="replace")),
        ),
        row(
            "json[strict=False]",
            options="text, strict=False",
            parse=_wrap_text_parser(partial(json.loads, strict=False)),
        ),
        row(
            "json[no-constants]",
            options="text, parse_constant raises",
            parse=_wrap_text_parser(partial(json.loads, parse_constant=_refuse_token)),
        ),
        row(
            "json[first-wins]",
            options="text, object_pairs_hook keeps the first of equal names",
            parse=_wrap_text_parser(
                partial(json.loads, object_pairs_hook=lambda p: dict(reversed(p)))
            ),
        ),
        row(
            "json[strict]",
            options="prescan, parse_constant raises",
            parse=behind_prescan(strict, text=True),
            strict=True,
        ),
    ]


def _configure_simplejson() -> list[ParserConfig]:
    if simplejson is None:
        return []
    errors: Errors = (simplejson.JSONDecodeError, NotUtf8Error, PrescanError)
    row = partial(ParserConfig, library="simplejson", documented=errors)
    pure = pure_simplejson()
    return [
        row("simplejson", options="text, C scanner", parse=_wrap_text_parser(simplejson.loads)),
        row("simplejson[bytes]", options="bytes, C scanner", parse=simplejson.loads),
        row(
            "simplejson[strict=False]",
            options="text, strict=False",
            parse=_wrap_text_parser(partial(simplejson.loads, strict=False)),
        ),
        row(
            "simplejson[allow_nan]",
            options="text, allow_nan=True",
            parse=_wrap_text_parser(partial(simplejson.loads, allow_nan=True)),
        ),
        row("simplejson[pure]", options="text, pure Python scanner", parse=_wrap_text_parser(pure)),
        row(
            "simplejson[strict]",
            options="prescan, C scanner",
            parse=behind_prescan(simplejson.loads, text=True),
            strict=True,
        ),
        row(
            "simplejson[pure,strict]",
            options="prescan, pure Python scanner",
            parse=behind_prescan(pure, text=True),
            strict=True,
        ),
    ]


def _configure_orjson() -> list[ParserConfig]:
    if orjson is None:
        return []
    errors: Errors = (orjson.JSONDecodeError, PrescanError)
    row = partial(ParserConfig, library="orjson", documented=errors)
    return [
        row("orjson", options="bytes", parse=orjson.loads),
        row(
            "orjson[text]",
            options="text",
            parse=_wrap_text_parser(orjson.loads),
            documented=(*errors, NotUtf8Error),
        ),
        row(
            "orjson[strict]",
            options="prescan, bytes",
            parse=behind_prescan(orjson.loads, text=False),
            strict=True,
        ),
    ]


def _configure_ujson() -> list[ParserConfig]:
    if ujson is None:
        return []
    errors: Errors = (ujson.JSONDecodeError, NotUtf8Error, PrescanError)
    row = partial(ParserConfig, library="ujson", documented=errors)
    return [
        row("ujson", options="text", parse=_wrap_text_parser(ujson.loads)),
        row("ujson[bytes]", options="bytes", parse=ujson.loads),
        row(
            "ujson[strict]",
            options="prescan, text",
            parse=behind_prescan(ujson.loads, text=True),
            strict=True,
        ),
    ]


def _configure_rapidjson() -> list[ParserConfig]:
    if rapidjson is None:
        return []
    errors: Errors = (rapidjson.JSONDecodeError, NotUtf8Error, PrescanError)
    row = partial(ParserConfig, library="python-rapidjson", documented=errors)
    relaxed = rapidjson.PM_COMMENTS | rapidjson.PM_TRAILING_COMMAS
    no_nan = partial(rapidjson.loads, allow_nan=False)
    return [
        row("rapidjson", options="bytes", parse=rapidjson.loads),
        row("rapidjson[text]", options="text", parse=_wrap_text_parser(rapidjson.loads)),
        row(
            "rapidjson[native]",
            options="bytes, number_mode=NM_NATIVE",
            parse=partial(rapidjson.loads, number_mode=rapidjson.NM_NATIVE),
        ),
        row(
            "rapidjson[relaxed]",
            options="bytes, comments and trailing commas",
            parse=partial(rapidjson.loads, parse_mode=relaxed),
        ),
        row("rapidjson[no-nan]", options="bytes, allow_nan=False", parse=no_nan),
        row(
            "rapidjson[strict]",
            options="prescan, allow_nan=False",
            parse=behind_prescan(no_nan, text=True),
            strict=True,
        ),
    ]


def _configure_msgspec() -> list[ParserConfig]:
    if msgspec is None:
        return []
    decode: Parse = import_module("msgspec.json").decode
    errors: Errors = (msgspec.DecodeError, PrescanError)
    row = partial(ParserConfig, library="msgspec", documented=errors)
    typed = typed_msgspec()
    return [
        row("msgspec", options="untyped", parse=decode),
        row("msgspec[typed]", options="envelope type", parse=typed["strict"], typed=True),
        row(
            "msgspec[typed,lax]",
            options="envelope type, strict=False",
            parse=typed["lax"],
            typed=True,
        ),
        row(
            "msgspec[strict]",
            options="prescan, untyped",
            parse=behind_prescan(decode, text=True),
            strict=True,
        ),
    ]


def _configure_simdjson() -> list[ParserConfig]:
    if simdjson is None:
        return []
    parser = simdjson.Parser()

    def eager(raw: bytes) -> object:
        return parser.parse(raw, True)  # noqa: FBT003 - the only spelling the library takes

    def lazy(raw: bytes) -> object:
        found = parser.parse(raw)
        if isinstance(found, simdjson.Object):
            return found.as_dict()
        return found.as_list() if isinstance(found, simdjson.Array) else found

    row = partial(ParserConfig, library="pysimdjson", documented=_VALUE)
    return [
        row("simdjson", options="bytes, eager", parse=eager),
        row("simdjson[lazy]", options="bytes, proxies turned into values", parse=lazy),
        row(
            "simdjson[strict]",
            options="prescan, eager",
            parse=behind_prescan(eager, text=False),
            strict=True,
        ),
    ]


def _configure_jiter() -> list[ParserConfig]:
    if jiter is None:
        return []
    row = partial(ParserConfig, library="jiter", documented=_VALUE)
    read: Any = jiter.from_json
    strict = partial(read, allow_inf_nan=False, catch_duplicate_keys=True)
    return [
        row("jiter", options="bytes", parse=read),
        row(
            "jiter[no-nan]", options="allow_inf_nan=False", parse=partial(read, allow_inf_nan=False)
        ),
        row(
            "jiter[unique]",
            options="catch_duplicate_keys=True",
            parse=partial(read, catch_duplicate_keys=True),
        ),
        row("jiter[partial]", options="partial_mode=True", parse=partial(read, partial_mode=True)),
        row(
            "jiter[trailing-strings]",
            options="partial_mode='trailing-strings'",
            parse=partial(read, partial_mode="trailing-strings"),
        ),
        row(
            "jiter[decimal]",
            options="float_mode='decimal', then float()",
            parse=lambda raw: to_plain_floats(read(raw, float_mode="decimal")),
        ),
        row(
            "jiter[lossless]",
            options="float_mode='lossless-float', then float()",
            parse=lambda raw: to_plain_floats(read(raw, float_mode="lossless-float")),
        ),
        row(
            "jiter[strict]",
            options="prescan, allow_inf_nan=False, catch_duplicate_keys=True",
            parse=behind_prescan(strict, text=False),
            strict=True,
        ),
    ]


def _configure_pydantic() -> list[ParserConfig]:
    if pydantic is None or pydantic_core is None:
        return []
    made = typed_pydantic()
    core: Any = pydantic_core.from_json
    no_nan = partial(core, allow_inf_nan=False)
    row = partial(ParserConfig, library="pydantic-core", documented=_VALUE)
    errors: Errors = (pydantic.ValidationError,)
    typed = partial(ParserConfig, library="pydantic", documented=errors, typed=True)
    return [
        row("pydantic-core", options="from_json", parse=core),
        row("pydantic-core[no-nan]", options="allow_inf_nan=False", parse=no_nan),
        row(
            "pydantic-core[partial]",
            options="allow_partial=True",
            parse=partial(core, allow_partial=True),
        ),
        row(
            "pydantic-core[strict]",
            options="prescan, allow_inf_nan=False",
            parse=behind_prescan(no_nan, text=False),
            strict=True,
        ),
        typed(
            "pydantic[strict-types]",
            options="envelope model, strict",
            parse=made["strict"],
        ),
        typed("pydantic[lax]", options="envelope model, lax", parse=made["lax"]),
    ]


CONFIGS: tuple[ParserConfig, ...] = (
    *_configure_json(),
    *_configure_simplejson(),
    *_configure_orjson(),
    *_configure_ujson(),
    *_configure_rapidjson(),
    *_configure_msgspec(),
    *_configure_simdjson(),
    *_configure_jiter(),
    *_configure_pydantic(),
)
STRICT: tuple[ParserConfig, ...] = tuple(config for config in CONFIGS if config.strict)
BY_NAME: dict[str, ParserConfig] = {config.name: config for config in CONFIGS}


def find_unavailable() -> dict[str, str]:
    """Libraries that are missing here, with the reason."""
    modules = {
        "jiter": jiter,
        "msgspec": msgspec,
        "orjson": orjson,
        "pydantic": pydantic,
        "pydantic-core": pydantic_core,
        "pysimdjson": simdjson,
        "python-rapidjson": rapidjson,
        "simplejson": simplejson,
        "ujson": ujson,
    }
    reason = "it is not installed, or does not load"
    return {name: reason for name, module in modules.items() if module is None}


def library_versions() -> dict[str, str]:
    """Versions of the interpreter and of every library that is compared."""
    names = sorted({config.library for config in CONFIGS} - {"json"})
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
