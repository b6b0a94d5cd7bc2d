"""Every strict configuration accepts what the judge accepts, with the same typed value."""

import random
from pathlib import Path

import pytest

from wirefence.oracles.document import judge_document
from wirefence.targets.parsers.canonical import encode_value
from wirefence.targets.parsers.configs import BY_NAME, CONFIGS, STRICT
from wirefence.targets.parsers.outcomes import is_dangerous, outcomes_of
from wirefence.targets.parsers.prescan import PrescanError, prescan_document

EDGES = [
    *(b"-0 [-0] [1e-0,-0] {\"-0\":-0} [-0.0] [-0e0] [0e-0] \"-0\" [\"\\\"-0\",-0]".split()),
    *(
      b"9007199254740991 -9007199254740991 9007199254740992 -9007199254740992 1E400 -1e400 1e-400 "
      b"0e999999 0.0e-9 0.00000001e-400 4.9e-324 2.4e-324 2.5e-324 1.7976931348623159e308 "
      b"1.7976931348623158e308 01 -01 1. .5 +1 1e 1e+ - -- 0x10 1_0 NaN Infinity -Infinity nan "
      b"TRUE tru true1 truefalse nulls 1-0 1.0.0 1e5.5 0-0".split()),
    b"1" + b"0" * 900 + b"e-900", b"0." + b"0" * 900 + b"1e901", b"0e-99999999999",
    b"-0.0E99999999999", b"1e-00000000000000000000000000000000000000000000001",
    b"-0." + b"0" * 990, b"1" + b"0" * 400 + b".0e-300", b'"1e0,0e999"',
    b"[0e999,-0,\"-0\",-0e999]", b"9007199254740993.000000000000000000000000000000000000001",
    b"1" * 1000, b"1" * 1001, b"0." + b"1" * 998, b"0." + b"1" * 999, b"1e" + b"0" * 998,
    b"[" * 127 + b"[],[]" + b"]" * 127, b"[" * 128 + b"[],[]" + b"]" * 128,
    b"[" * 128 + b"]" * 128, b"[" * 129 + b"]" * 129, b'{"a":' * 129 + b"1" + b"}" * 129,
    b'"' + b"[" * 200 + b'"', b"[" + b"[]," * 200 + b"[]]", b"[" * 5000, b"]" * 200,
    b"[" + b"]" * 9, b'{"a":1,"a":2}', b'{"a":1,"\\u0061":2}', b'{"":1,"":2}', b'{"" :1,"" :2}',
    b'{"":1,"a":{"":2}}', b'{"a":{"a":1}}', b'[{"a":1},{"a":2}]', b'{"a":1,"b":{"c":1},"a":2}',
    b'{"\\"":1,"\\u0022":2}', b'{"/":1,"\\/":2}', b'{"\xc3\xa9":1,"\\u00e9":2}',
    b'{"\xc3\xa9":1,"e\xcc\x81":2}', b'{"a"\n:1,"a":2}',
    b'{"\xf0\x9f\x98\x80":1,"\\ud83d\\ude00":2}', b'{"a":"a:","b":"a"}',
    b'{"a":["a","b"],"b":1}', b'"\\ud800"', b'"\\udc00"', b'"\\ud83d\\ude00"',
    b'"\\ude00\\ud83d"', b'"\\ud83d\\ud83d\\ude00"', b'"\\\\ud800"', b'"\\\\\\ud800"',
    b'{"\\udfff":1}', b'"\\uD83D\\uDE00\\uDE00"', b'"\\u0000\\uffff"', b"\xef\xbb\xbf1",
    b"\xef\xbb\xbf", b"", b" ", b"\n1\r\t ", b"1\x0c", b"\xc2\xa01", b"1\x00", b"\x001",
    b'"\x00"', b'"\x1f"', b'"\x7f"', b'"\xc2\x80"', b'"\xff"', b'"\xc0\x80"', b'"\xed\xa0\x80"',
    b'"\xf4\x90\x80\x80"', b'"\xe2\x82"', b'"\xe2\x80\xa8"', '"\ufeff"'.encode(),
    '"a"'.encode("utf-16"), b'"\\x"', b'"\\u12"', b'"\\u+123"', b'"\\', b'"', b'"a', b"'a'",
    b"[1,]", b"[,1]", b"[1 2]", b"[1,,2]", b'{"a":1,}', b'{"a"}', b'{"a":}', b'{"a" 1}',
    b"{1:2}", b"{a:1}", b'{,}', b"[}", b"{]", b'["a":1]', b"1 2", b"[] []", b"[]]", b'"a""b"',
    b"//\n1", b"/**/1", b"[1]//", b":", b",", b"{", b"[", b"[1", b"[[1]",
]  # fmt: skip
SEEDS = [
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","x":{"n":-1.5e3}}}',
    b'[0,-0,1.0,"\\ud83d\\ude00",{"a":[null,true,false]},{"":{}," ":"\xc3\xa9"}]',
    b'{"a":1,"b":{"a":2},"c":"\\u0061","d":[9007199254740991,1e308,"\\\\"]}',
]  # fmt: skip
PIECES = [
    b"0", b"-", b"e", b".", b'"', b"\\", b"u0061", b"\\ud800", b"{", b"}", b"[", b"]", b":",
    b",", b" ", b"\x00", b"\xff", b"\xc3", b'"a"', b'"a":1,', b"NaN", b"1e400", b"//",
    b"99999999999999999", b"-0", b'""',
]  # fmt: skip


def damaged(count: int) -> list[bytes]:
    choose = random.Random(8259)
    found = []
    for _ in range(count):
        raw = choose.choice(SEEDS)
        for _ in range(choose.randint(1, 3)):
            start = choose.randrange(len(raw) + 1)
            end = start + choose.choice([0, 0, 1, 1, 4])
            raw = raw[:start] + choose.choice([b"", *PIECES]) + raw[end:]
        found.append(raw)
    return found


def numbers(count: int) -> list[bytes]:
    choose = random.Random(754)
    return [
        b"[%s%d.%0*de%d]" % (choose.choice([b"", b"-"]), choose.randrange(10), width,
                             choose.randrange(10**width), choose.randint(-330, 310))
        for width in (choose.randint(1, 25) for _ in range(count))
    ]  # fmt: skip


def disagreements(raws: list[bytes]) -> list[tuple[str, bytes, str]]:
    found = []
    for raw in raws:
        verdict = judge_document(raw, profile="strict")
        expected = ("reject", b"") if verdict.rule else ("accept", encode_value(verdict.value))
        for config, seen in zip(STRICT, outcomes_of(STRICT, raw), strict=True):
            if (seen.kind, seen.value) != expected:
                found.append(
                    (config.name, raw[:80], f"{seen.kind}, not {verdict.rule or 'accept'}")
                )
    return found


@pytest.mark.parametrize("raw", EDGES, ids=lambda raw: repr(raw[:30]))
def test_every_edge_of_the_profile_is_judged_alike(raw: bytes) -> None:
    assert disagreements([raw]) == []


@pytest.mark.parametrize(
    ("raw", "rule"),
    [(b"\xef\xbb\xbf1", "utf8-bom"), (b"\xff", "utf8-invalid"), (b"01", "json-syntax"),
     (b"[" * 129, "json-depth"), (b'{"a":1,"a":2}', "json-duplicate-name"),
     (b'"\\ud800"', "json-lone-surrogate"), (b"9007199254740992", "json-integer-range"),
     (b"1e400", "json-number-range"), (b"1" * 1001, "json-number-length")],
)  # fmt: skip
def test_the_prescan_names_the_broken_rule(raw: bytes, rule: str) -> None:
    with pytest.raises(PrescanError, match=f"^{rule}$"):
        prescan_document(raw)


def test_the_prescan_respells_numbers_and_never_text() -> None:
    assert prescan_document(b'[-0,"-0",0e999,"0e999",-7]') == '[0,"-0",0.0,"0e999",-7]'


def test_damaged_documents_are_judged_alike() -> None:
    raws = damaged(1500)
    accepted = sum(not judge_document(raw).rule for raw in raws)
    assert 100 < accepted < 1400, "the corpus must hold both kinds"
    assert disagreements(raws) == []


def test_numbers_have_the_same_value_to_the_last_bit() -> None:
    assert disagreements(numbers(800)) == []


def test_json_test_suite_is_judged_alike(shared: Path) -> None:
    folder = shared / "corpora" / "JSONTestSuite" / "test_parsing"
    raws = [path.read_bytes() for path in sorted(folder.glob("*.json"))]
    assert len(raws) == 318
    assert disagreements(raws) == []


SPELLING = [config for config in CONFIGS if not config.typed and not config.strict]
EXACT = {"json[no-constants]", "simplejson", "simplejson[bytes]", "simplejson[pure]", "orjson",
         "orjson[text]", "msgspec", "simdjson", "simdjson[lazy]", "jiter[no-nan]",
         "pydantic-core[no-nan]"}  # fmt: skip


def suite(shared: Path, prefix: str) -> list[bytes]:
    folder = shared / "corpora" / "JSONTestSuite" / "test_parsing"
    raws = [path.read_bytes() for path in sorted(folder.glob(f"{prefix}_*.json"))]
    return [raw for raw in raws if not is_dangerous(raw)]


def test_all_libraries_accept_what_the_suite_says_is_json(shared: Path) -> None:
    configs = [config for config in SPELLING if config.name != "jiter[unique]"]
    raws = suite(shared, "y")
    assert len(raws) == 95
    assert {seen.kind for raw in raws for seen in outcomes_of(configs, raw)} == {"accept"}


def test_the_suite_tells_exact_configurations_from_lenient_ones(shared: Path) -> None:
    lenient = {
        config.name
        for raw in suite(shared, "n")
        for config, seen in zip(SPELLING, outcomes_of(SPELLING, raw), strict=True)
        if seen.kind == "accept"
    }
    assert {config.name for config in SPELLING} - lenient == EXACT & set(BY_NAME)


def test_every_library_has_a_strict_sibling() -> None:
    assert {config.library for config in STRICT} >= {
        "json", "simplejson", "orjson", "ujson", "python-rapidjson", "msgspec", "jiter",
        "pydantic-core"}  # fmt: skip
