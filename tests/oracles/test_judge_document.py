"""Each rule of the JSON layer, both ways, and hostile sizes."""

import pytest

from oracles.document import judge_document

PLANTED = [
    (b"\xef\xbb\xbf1", "utf8-bom", "utf8-bom"),
    (b'"\xc0\xaf"', "utf8-invalid", "utf8-invalid"),
    (b"[1,]", "json-syntax", "json-syntax"),
    (b"[NaN]", "json-syntax", "json-syntax"),
    (b"", "json-syntax", "json-syntax"),
    (b'{"a":1,"\\u0061":2}', "json-duplicate-name", ""),
    (b'"\\ud800"', "json-lone-surrogate", ""),
    (b"9007199254740992", "json-integer-range", ""),
    (b"1e999", "json-number-range", ""),
    (b"1e-999", "json-number-range", ""),
    (b"1" * 1001, "json-number-length", ""),
    (b"[" * 129 + b"]" * 129, "json-depth", ""),
    (b'{"a":1,"b":2}', "", ""),
    (b'"\\ud83d\\ude00"', "", ""),
    (b"9007199254740991", "", ""),
    (b"0e-999", "", ""),
    (b"[" * 128 + b"]" * 128, "", ""),
]


@pytest.mark.parametrize(("raw", "strict", "spec"), PLANTED)
def test_rule_by_profile(raw: bytes, strict: str, spec: str) -> None:
    assert judge_document(raw).rule == strict
    assert judge_document(raw, profile="spec").rule == spec


def test_nesting_and_length_do_not_blow_the_stack() -> None:
    assert judge_document(b"[" * 100_000).rule == "json-syntax"
    assert judge_document(b'"' + b"a" * 10_000_000 + b'"').accepted
