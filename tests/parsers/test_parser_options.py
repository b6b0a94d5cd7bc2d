"""Each option that makes a configuration of its own is seen in what it accepts."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wirefence.targets.parsers.canonical import decode_value
from wirefence.targets.parsers.configs import (
    BY_NAME,
    CONFIGS,
    ParserConfig,
    find_unavailable,
    library_versions,
)
from wirefence.targets.parsers.docs import render_docs
from wirefence.targets.parsers.outcomes import DEPTH, is_dangerous, outcome_of, outcomes_of

ROOT = Path(__file__).resolve().parents[2]
FULL = pytest.mark.skipif(bool(find_unavailable()), reason="a library has no wheel for this Python")
ACCEPTS = [
    ("json[bytes]", '"a"'.encode("utf-16"), "a"), ("json[replace]", b'"\xff"', "\ufffd"),
    ("json[strict=False]", b'"\x01"', "\x01"), ("json", b"[Infinity]", [float("inf")]),
    ("json[first-wins]", b'{"a":1,"a":2}', {"a": 1}), ("json", b'{"a":1,"a":2}', {"a": 2}),
    ("simplejson[strict=False]", b'"\x01"', "\x01"),
    ("simplejson[allow_nan]", b"[Infinity]", [float("inf")]),
    ("rapidjson[relaxed]", b"[1,/**/]", [1]), ("rapidjson", b"[Infinity]", [float("inf")]),
    ("jiter[partial]", b"[1,2", [1, 2]), ("jiter[trailing-strings]", b'["a', ["a"]),
    ("jiter[decimal]", b"[1.5,1]", [1.5, 1]), ("jiter[lossless]", b"[1.5,1]", [1.5, 1]),
    ("jiter", b"[Infinity]", [float("inf")]), ("pydantic-core[partial]", b"[1,2", [1, 2]),
    ("pydantic-core", b"[Infinity]", [float("inf")]),
    ("orjson", b"123456789012345678901234567890", 1.2345678901234568e29),
    ("msgspec[typed]", b'{"jsonrpc":"2.0","id":1}',
     {"jsonrpc": "2.0", "id": 1, "method": "", "params": {}}),
]  # fmt: skip
REJECTS = [
    ("json[no-constants]", b"[NaN]"), ("json", b'"\x01"'), ("simplejson", b"[Infinity]"),
    ("simplejson", b'"\x01"'), ("rapidjson", b"[1,/**/]"), ("rapidjson[no-nan]", b"[Infinity]"),
    ("jiter[no-nan]", b"[Infinity]"), ("jiter[unique]", b'{"a":1,"a":2}'), ("jiter", b"[1,2"),
    ("pydantic-core[no-nan]", b"[Infinity]"), ("pydantic-core", b"[1,2"), ("json", b'"\xff"'),
    ("json[bytes]", b'"\xff"'), ("msgspec[typed]", b'{"jsonrpc":2}'),
]  # fmt: skip


@pytest.mark.parametrize(("name", "raw", "value"), ACCEPTS)
def test_option_accepts(name: str, raw: bytes, value: object) -> None:
    seen = outcome_of(BY_NAME[name], raw)
    assert (seen.kind, seen.error) == ("accept", "")
    assert repr(decode_value(seen.value)) == repr(value)


@pytest.mark.parametrize(("name", "raw"), REJECTS)
def test_option_rejects(name: str, raw: bytes) -> None:
    assert outcome_of(BY_NAME[name], raw).kind == "reject"


def test_lax_types_take_a_number_for_a_string_of_digits() -> None:
    raw = b'{"jsonrpc":"2.0","params":{"a":1},"method":"m","id":"1"}'
    assert outcome_of(BY_NAME["msgspec[typed,lax]"], raw).kind == "accept"
    assert outcome_of(BY_NAME["pydantic[lax]"], raw).kind == "accept"
    assert outcome_of(BY_NAME["pydantic[strict-types]"], raw).kind == "accept"


@FULL
def test_lazy_and_eager_simdjson_read_the_same_value() -> None:
    eager, lazy = (BY_NAME[name] for name in ("simdjson", "simdjson[lazy]"))
    for raw in (b'{"a":[1,{"b":null}]}', b"[[],[{}]]", b"1", b'"a"', b"null"):
        assert outcome_of(eager, raw) == outcome_of(lazy, raw)


def test_undocumented_exceptions_escape_and_interrupts_go_on() -> None:
    def raising(error: BaseException) -> ParserConfig:
        def parse(_: bytes) -> object:
            raise error

        return ParserConfig("x", "x", "", parse, (ValueError,))

    assert outcome_of(raising(ValueError()), b"").kind == "reject"
    assert outcome_of(raising(BaseException()), b"").error == "BaseException"
    assert outcome_of(raising(OSError()), b"").kind == "escape"
    with pytest.raises(KeyboardInterrupt):
        outcome_of(raising(KeyboardInterrupt()), b"")


def test_what_nesting_does_is_independent_of_the_depth_of_the_caller() -> None:
    raw = b"[" * 400 + b"]" * 400

    def deeper(levels: int, call: Callable[[], object]) -> object:
        return call() if not levels else deeper(levels - 1, call)

    def read() -> object:
        return outcomes_of(CONFIGS, raw)

    limit = sys.getrecursionlimit()
    assert deeper(500, read) == read()
    assert sys.getrecursionlimit() == limit
    assert DEPTH > 400


def test_nesting_beyond_nine_hundred_is_dangerous() -> None:
    assert is_dangerous(b"[" * 901)
    assert is_dangerous(b'{"":' * 901)
    assert not is_dangerous(b"[" * 900)
    assert not is_dangerous(b"1" * 5000)


def test_names_are_unique_and_begin_with_a_library() -> None:
    assert len(BY_NAME) == len(CONFIGS) >= 24
    assert all(name.partition("[")[0] in BY_NAME[name].library for name in BY_NAME)


def test_versions_name_every_library() -> None:
    assert set(library_versions()) == {c.library for c in CONFIGS} - {"json"} | {"python"}


@FULL
def test_the_page_is_the_registry() -> None:
    assert (ROOT / "docs" / "parsers.md").read_text() == render_docs()
