"""A target has one name, wherever it is found: what is printed can be typed in again."""

from __future__ import annotations

import pytest

from wirefence.fuzz.coverage.checks import SessionCheck, make_check
from wirefence.fuzz.examination.plan import Plan, build_examiner

REPEATED = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26",'
    b'"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    + b"".join(
        b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"record",'
        b'"arguments":{"\\u0061ction":"same"}}}\n' % number
        for number in (1, 2)
    )
)


def names(*targets: str) -> list[str]:
    return [each.name for group in build_examiner(Plan(targets)).gateways for each in group]


@pytest.mark.parametrize("target", ["reference", "planted:acts-twice", "gateway"])
def test_a_gateway_is_named_with_its_profile(target: str) -> None:
    strict, spec = names(target), names(f"{target}/spec")
    assert spec == [f"{name}/spec" for name in strict]


def test_what_the_judge_is_fuzzed_beside_are_targets_by_name() -> None:
    check = make_check("fuzz_judge", (), lambda _: None)
    assert isinstance(check, SessionCheck)
    used = [each.name for group in check.examiner.gateways for each in group]
    assert used == names("reference", "reference/spec")


@pytest.mark.parametrize("name", ["fuzz_judge", "fuzz_gateway", "fuzz_session"])
def test_an_action_that_is_asked_for_twice_is_no_finding(name: str) -> None:
    assert make_check(name, (), lambda _: None)(REPEATED) == []
