"""What an input means is a function of its bytes, and healthy targets show nothing."""

from __future__ import annotations

import random

import pytest

from wirefence.fuzz.coverage.checks import NAMES, choose_cuts, find_version, make_check
from wirefence.fuzz.coverage.mutator import Mutator
from wirefence.fuzz.coverage.process import find_seeds
from wirefence.fuzz.errors import UsageError
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding
from wirefence.strategies.records import VERSIONS


def scramble(data: bytes, most: int) -> bytes:
    at = len(data) // 2
    return (data[:at] + b"\x00" + data[at + 1 :])[:most]


def seeds(name: str) -> list[bytes]:
    """The committed seed corpus of a target."""
    return [path.read_bytes() for path in sorted(find_seeds(name).iterdir())]


def nothing(_: object) -> None:
    """No libFuzzer listens."""


def played(name: str, targets: list[str], budget: int) -> list[Finding]:
    """What a target shows of mutations that grow from nothing."""
    check = make_check(name, targets, nothing)
    mutator, source = Mutator(check.form, scramble, seed=1), random.Random(1)
    corpus, found = [b"\n"], []
    for _ in range(budget):
        corpus.append(mutator.cross_inputs(source.choice(corpus), source.choice(corpus), 4_096))
        found += check(corpus[-1])
    return found


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("fuzz_parsers", ["planted:healthy"]),
        ("fuzz_gateway", ["planted:healthy"]),
        ("fuzz_session", ["planted:healthy"]),
        ("fuzz_gateway", []),
        ("fuzz_judge", []),
        ("fuzz_transcript", []),
        ("fuzz_transcript", ["gateway"]),
    ],
)
def test_healthy_targets_show_nothing(name: str, targets: list[str]) -> None:
    assert played(name, targets, 150) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_the_version_is_the_first_that_the_input_names(version: str) -> None:
    named = b'{"protocolVersion" : "%b"}{"protocolVersion":"2024-11-05"}' % version.encode()
    assert find_version(named) == version
    assert find_version(b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}') == "2026-07-28"


@pytest.mark.parametrize("data", [b"", b"\n", b'{"protocolVersion":"1999-01-01"}'])
def test_without_a_known_version_it_is_the_last_with_a_handshake(data: bytes) -> None:
    assert find_version(data) == "2025-11-25"


def test_cuts_are_a_function_of_the_bytes_and_of_every_kind() -> None:
    inputs_ = [b"%d" % n * 9 for n in range(200)]
    cuts = [choose_cuts(each) for each in inputs_]
    assert cuts == [choose_cuts(each) for each in inputs_]
    assert [] in cuts
    assert any(len(c) == len(d) - 1 for c, d in zip(cuts, inputs_, strict=True))
    assert any(0 < len(c) < 4 for c in cuts)
    assert choose_cuts(b"") == choose_cuts(b"a") == []
    for data, places in zip(inputs_, cuts, strict=True):
        assert list(case_from_bytes(data, cuts=places).cuts) == places


def test_two_calls_of_one_action_are_no_finding() -> None:
    check = make_check("fuzz_gateway", ["planted:healthy"], nothing)
    call = (
        b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"record",'
        b'"arguments":{"%b":"same"}}}\n'
    )
    opening = next(data for data in seeds("fuzz_gateway") if b"2025-11-25" in data)
    session = b"".join(opening.splitlines(keepends=True)[:2])
    data = session + call % (77, b"action") + call % (78, b"\\u0061ction")
    assert check(data) == []
    assert check.calls == 1


def test_a_parser_that_ends_the_process_by_exit_goes_on_to_the_caller() -> None:
    check = make_check("fuzz_parsers", ["json", "orjson"], nothing)
    check._rows[0] = (lambda _: exec("raise SystemExit(4)"), (ValueError,))
    with pytest.raises(SystemExit):
        check(b"[]")


@pytest.mark.parametrize(
    ("name", "targets"),
    [
        ("fuzz_nothing", []),
        ("fuzz_parsers", ["planted:nonsense"]),
        ("fuzz_parsers", ["gateway"]),
        ("fuzz_gateway", ["orjson"]),
        ("fuzz_gateway", ["planted:nonsense"]),
    ],
)
def test_names_that_mean_nothing_are_a_usage_error(name: str, targets: list[str]) -> None:
    with pytest.raises(UsageError):
        make_check(name, targets, nothing)


@pytest.mark.parametrize("name", NAMES)
def test_seeds_run_clean(name) -> None:
    check = make_check(name, [], nothing)
    found: list[Finding] = [each for data in seeds(name) for each in check(data)]
    assert found == []
    assert check.valid == len(seeds(name)) > 0
