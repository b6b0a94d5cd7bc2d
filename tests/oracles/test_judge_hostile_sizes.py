"""Inputs made to exhaust a reader are judged like any other."""

from __future__ import annotations

import pytest

from wirefence.oracles.document import judge_document

DEEP = 100_000


@pytest.mark.parametrize(
    ("raw", "strict", "spec"),
    [
        (b"[" * DEEP, "json-syntax", "json-syntax"),
        (b"[" * DEEP + b"]" * DEEP, "json-depth", ""),
        (b'{"a":' * DEEP + b"1" + b"}" * DEEP, "json-depth", ""),
        (b'"' + b"\\n" * 1_000_000 + b'"', "", ""),
        (b'"' + b"\\u" * 1_000_000 + b'"', "json-syntax", "json-syntax"),
        (b'"' + b"a" * 5_000_000, "json-syntax", "json-syntax"),
        (b"1" * 1_000_000, "json-number-length", ""),
        (b"0." + b"0" * 1_000_000 + b"x", "json-syntax", "json-syntax"),
        (b" " * 1_000_000, "json-syntax", "json-syntax"),
        (b"[" + b"1," * 100_000 + b"]", "json-syntax", "json-syntax"),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value[:6]!r}x{len(value)}",
)
def test_verdict(raw: bytes, strict: str, spec: str) -> None:
    assert judge_document(raw).rule == strict
    assert judge_document(raw, profile="spec").rule == spec
