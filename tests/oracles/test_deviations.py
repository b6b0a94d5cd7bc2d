"""What of a wide rule a frame breaks is named, and nothing where there is nothing to name."""

from __future__ import annotations

import pytest

from wirefence.oracles.spellings import name_broken_rule

SYNTAX = {
    b"[NaN]": "not a number",
    b'["\x01"]': "control character in a string",
    b"[1,]": "trailing comma",
    b"[1/**/]": "comment",
    b"[01]": "number spelling",
    b"['a']": "single quotes",
    b'["\\x41"]': "bad escape",
    b"[\x0c1]": "white space",
    b"[1": "unclosed",
    b"{}{}": "trailing",
    "[1]".encode("utf-16-le"): "UTF-16 or UTF-32",
    "[1]".encode("utf-32-be"): "UTF-16 or UTF-32",
    b"[\x001]": "white space",
    b"[1}": "",
}
IDS = {
    b"true": "true",
    b"1.5": "fraction",
    b"null": "null",
    b"-0": "-0",
    b"{}": "another type",
    b"[": "",
}


@pytest.mark.parametrize(("raw", "kind"), SYNTAX.items())
def test_a_fault_of_syntax_is_named(raw: bytes, kind: str) -> None:
    assert name_broken_rule("json-syntax", raw) == f"json-syntax {kind}".strip()


@pytest.mark.parametrize(("raw", "kind"), IDS.items())
def test_an_id_that_is_none_is_named_by_its_type(raw: bytes, kind: str) -> None:
    assert name_broken_rule("rpc-id", b'{"id":%b}' % raw) == f"rpc-id {kind}".strip()


def test_a_message_without_the_id_has_no_type_of_it() -> None:
    assert name_broken_rule("rpc-id", b"{}") == name_broken_rule("rpc-id", b"[]") == "rpc-id"


def test_any_other_rule_is_named_by_itself() -> None:
    assert name_broken_rule("utf8-invalid", b"[NaN]") == "utf8-invalid"
