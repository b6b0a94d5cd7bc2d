"""Operators name what they make wrong, and each thing that can be wrong is so alone somewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from itertools import count
from typing import Any, TypeVar

import pytest

from tests.strategies.damaged_sessions import (
    PROFILES,
    Judged,
    damage_sessions,
    damaged_frames,
    join_frames,
    judge_frames,
)
from wirefence.oracles.deviation_table import DEVIATIONS, NONE
from wirefence.oracles.message import find_mcp_fault
from wirefence.oracles.protocol import list_methods
from wirefence.strategies.contract import Contract, Profile
from wirefence.strategies.damage import BY_NAME, OPERATORS, Damaged, Operator, Scene
from wirefence.strategies.mcp import message_of
from wirefence.strategies.mcp_kinds import kinds
from wirefence.strategies.records import VERSIONS, Frame, Version
from wirefence.strategies.source import RandomSource

T = TypeVar("T")

RUNS = 200
"""Sessions that are damaged by each operator, whatever they show."""
MOST_RUNS = 6_000
"""Sessions after which a deviation that did not occur counts as one that cannot."""
HEAVY_RUNS = 10

RANDOM = (
    *("truncate-line", "truncate-into-next", "truncate-head", "split-line"),
    *("encoding-escaped-high-surrogate", "encoding-escaped-low-surrogate"),
    *("encoding-escaped-swapped-surrogates", "encoding-noncharacter"),
    *("shape-absent", "shape-confused", "shape-value", "shape-excess"),
)
"""Operators that damage any place: the only ones that may name a rule without its traits."""


def runs(operator: Operator, first: int = 0) -> range:
    count = HEAVY_RUNS if operator.heavy else RUNS
    return range(first, first + count)


def judged(
    operator: Operator, seeds: range
) -> Iterator[tuple[Version, Damaged, Profile, list[Judged]]]:
    for version, made in damage_sessions(operator, seeds):
        data = join_frames(made.frames)
        for profile in PROFILES:
            yield version, made, profile, judge_frames(data, version, profile)


def seen(operator: Operator, seeds: range) -> set[str]:
    """The deviations of the frames that the operator changes or adds."""
    return {
        deviation
        for _, made, _, frames in judged(operator, seeds)
        for _, _, deviation in damaged_frames(operator, made, frames)
    }


def fits(deviation: str, name: str) -> bool:
    return deviation == name or (name.endswith("*") and deviation.startswith(name[:-1]))


def is_named(deviation: str, operator: Operator) -> bool:
    return any(fits(deviation, name) for name in operator.deviations)


@cache
def first_runs(operator: Operator) -> tuple[frozenset[str], frozenset[str]]:
    """The deviations of the frames that are damaged, and those that are alone in a session."""
    found, alone = set(), set()
    for version, made, profile, frames in judged(operator, runs(operator)):
        found |= {deviation for *_, deviation in damaged_frames(operator, made, frames)}
        bad = [each for each in frames if each[2] != NONE]
        if len(bad) == 1 and bad[0][2] not in alone and is_alone(bad[0], made, version, profile):
            alone.add(bad[0][2])
    return frozenset(found), frozenset(alone)


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_an_operator_names_the_deviations_that_it_makes(operator: Operator) -> None:
    found, first = set(first_runs(operator)[0]), 0
    while not operator.heavy and unseen(operator, found) and first < MOST_RUNS:
        first += RUNS
        found |= seen(operator, runs(operator, first))
    assert unseen(operator, found) == []
    assert {each for each in found if not is_named(each, operator)} == set()


def unseen(operator: Operator, found: set[str]) -> list[str]:
    return [name for name in operator.deviations if not any(fits(each, name) for each in found)]


def test_operators_name_deviations_of_the_table_each_once() -> None:
    for operator in OPERATORS:
        assert len(set(operator.deviations)) == len(operator.deviations)
        for name in operator.deviations:
            assert name == NONE or any(fits(each, name) for each in DEVIATIONS)
            assert not name.endswith("*") or operator.name in RANDOM


def test_what_operators_expect_agrees_with_what_they_name() -> None:
    for operator in OPERATORS:
        if operator.expect == "reject":
            assert set(operator.deviations) != {NONE}, operator.name
        elif operator.expect == "profile":
            assert operator.deviations != (NONE,), operator.name


Repair = Callable[[bytes], bytes]


def replacing(pattern: bytes, text: bytes) -> Repair:
    return partial(re.compile(pattern).sub, text)


def _decode(raw: bytes) -> bytes:
    return raw.decode("utf-8", "replace").replace("\ufffd", "x").encode()


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))


def _read(raw: bytes) -> bytes:
    """The message as the reader has it that the session would harm: with the first of two names."""
    return json.dumps(json.loads(raw, object_pairs_hook=_first_wins)).encode() + b"\n"


SOUND: dict[str, Repair] = {
    "frame-cr:in-string": replacing(rb"\r", b"x"),
    "utf8-invalid:surrogate-bytes": _decode,
    "utf8-invalid:invalid-utf8": _decode,
    "json-syntax:nul-in-string": replacing(rb"\x00", b"x"),
    "json-syntax:control-in-string": replacing(rb"[\x01-\x09\x0b-\x1f]", b"x"),
    "json-syntax:lax-hex": replacing(rb"\\u\+041|\\u41 .", b"x"),
    "json-syntax:bad-escape": replacing(rb"\\x41|\\101", b"x"),
    "json-syntax:nan": replacing(rb"-?NaN", b"0.5"),
    "json-syntax:infinity": replacing(rb"-?Inf(?:inity)?", b"0.5"),
    "json-syntax:hexadecimal": replacing(rb"0x1F", b"31"),
    "json-syntax:neg-leading-zero": replacing(rb"-01", b"-1"),
    "json-syntax:leading-zero": replacing(rb":01", b":1"),
    "json-syntax:neg-dot": replacing(rb"-\.5", b"-0.5"),
    "json-syntax:dot-head": replacing(rb":\.5", b":0.5"),
    "json-syntax:dot-tail": replacing(rb":1\.(?=[,}])", b":0.5"),
    "json-syntax:bare-minus": replacing(rb":-(?=[,}])", b":0"),
    "json-syntax:exponent-tail": replacing(rb":1e(?=[,}])", b":0.5"),
    "json-syntax:plus": replacing(rb":\+1", b":1"),
    "json-syntax:literal-case": replacing(rb":True", b":true"),
    "json-syntax:digit-separator": replacing(rb":1_000", b":1000"),
    "json-syntax:other-digit": replacing(b":\xef\xbc\x91", b":1"),
    "json-syntax:unknown-word": replacing(rb":(?:undefined|None)", b":null"),
    "json-depth:depth": replacing(rb"\[{100,}\]{100,}", b"[]"),
    "json-duplicate-name:duplicate-name": _read,
    "json-duplicate-name:dup-escaped": _read,
    "json-lone-surrogate:surrogate-key": replacing(rb"\\ud83d|\\ude00", b"x"),
    "json-lone-surrogate:lone-hi": replacing(rb"\\ud83d|\\ude00", b"x"),
    "json-lone-surrogate:lone-lo": replacing(rb"\\ud83d|\\ude00", b"x"),
    **dict.fromkeys(
        (each for each in DEVIATIONS if each.startswith("json-integer-range")),
        replacing(rb":-?[0-9]{16,}", b":1"),
    ),
    "json-number-range:overflow-exp": replacing(rb"[0-9.]+e[0-9]{3,}", b"0.5"),
    "json-number-range:underflow": replacing(rb"[0-9.]+e-[0-9]{3,}", b"0.5"),
    "json-number-length:int-4301d": replacing(rb":-?[0-9]{1001,}", b":1"),
    "json-number-length:fraction-4301d": replacing(rb":0\.[0-9]{1001,}", b":0.5"),
    "json-number-length:number-1001c": replacing(rb":[0-9.]{1001,}", b":0.5"),
}
"""For each deviation of a value, the frame with another value of its kind in the same place.

It must be sound: else the place takes no value of this kind, and another rule is broken too.
"""

_NOT_ALONE = (
    "a frame after the close comes after the frame that closes, which has another deviation"
)
_UNTAGGED = "of several shapes without a tag, the first is named where a member is missing"
WITHOUT: dict[str, str] = {
    **dict.fromkeys(
        (
            "mcp-params:inputResponses-action-missing",
            "mcp-params:inputResponses-blob-missing",
            "mcp-params:inputResponses-roots-missing",
        ),
        _UNTAGGED,
    ),
    "life-closed:frame": _NOT_ALONE,
    "tool-arguments:schema": "the contract's own tools have no schema beside their arguments",
}
"""Deviations that no operator makes alone, with the reason."""


def is_alone(bad: Judged, made: Damaged, version: Version, profile: Profile) -> bool:
    """Whether a frame breaks no other rule: with a sound value in its place all is sound."""
    start, end, deviation = bad
    if deviation not in SOUND:
        return True
    data = join_frames(made.frames)
    again = SOUND[deviation](data[start:end])
    frames = judge_frames(data[:start] + again + data[end:], version, profile)
    return all(each == NONE for *_, each in frames)


def test_each_deviation_is_the_only_one_of_some_session_or_is_listed() -> None:
    alone = {deviation for operator in OPERATORS for deviation in first_runs(operator)[1]}
    left = {name for name in DEVIATIONS if name not in alone}
    assert left - set(damage_each_place()) == set(WITHOUT)


SHAPES = tuple(BY_NAME[f"shape-{name}"] for name in ("absent", "confused", "value"))
MESSAGES, MOST_MESSAGES = 150, 6_000
"""Valid messages of each kind, and of those that hold whole results: optional members are there in
some of them only."""


def damage_each_place() -> Iterator[str]:
    """Yield the deviations of params in every message of a client, each damaged at one place.

    A server may serve all methods. The choices of an operator are made in turn, not by chance.
    """
    for version in VERSIONS:
        served = list_methods(version, "request", "client-to-server")
        contract = Contract(version=version, profile="spec", served=served)
        for kind in kinds(version, "client-to-server"):
            if kind.sort not in ("request", "notification"):
                continue
            nested = (version, kind.method) == ("2026-07-28", "tools/call")
            for seed in range(MOST_MESSAGES if nested else MESSAGES):
                raw = message_of(RandomSource(seed), version, kind).encode() + b"\n"
                scene = Scene((Frame(raw),), 0, version)
                for operator in SHAPES:
                    for source in list_choices(seed):
                        yield from name_params_fault(operator.apply(source, scene), contract)
                        if source.rest <= 0:
                            break


class Choices(RandomSource):
    """Takes the option with the next number at its first choice; ``rest`` is how many are left."""

    def __init__(self, number: int, seed: int) -> None:
        super().__init__(seed)
        self.number, self.first, self.rest = number, True, 0

    def choice(self, options: Sequence[T]) -> T:
        if not self.first:
            return super().choice(options)
        self.first, self.rest = False, len(options) - self.number - 1
        return options[min(self.number, len(options) - 1)]


def list_choices(seed: int) -> Iterator[Choices]:
    return (Choices(number, seed) for number in count())


def name_params_fault(made: Damaged | None, contract: Contract) -> Iterator[str]:
    if made is None:
        return
    message = json.loads(made.frames[0].raw)
    rule, trait = find_mcp_fault(message, contract)
    if rule in ("mcp-params", "mcp-meta"):
        yield f"{rule}:{trait}"


@pytest.mark.parametrize(
    ("ident", "meta", "alone"),
    [(b"1e400", b"{}", False), (b"1", b'{"n":1e400}', True), (b"1e400", b'{"n":1}', False)],
)
def test_a_value_is_alone_only_where_any_of_its_kind_may_stand(
    ident: bytes, meta: bytes, *, alone: bool
) -> None:
    good = [
        b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
        b'"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":%b,"method":"tools/list","params":{"_meta":%b}}' % (ident, meta),
    ]
    made = Damaged(tuple(Frame(line + b"\n") for line in good))
    *_, last = judge_frames(join_frames(made.frames), "2025-11-25", "strict")
    assert last[2] == "json-number-range:overflow-exp"
    assert is_alone(last, made, "2025-11-25", "strict") is alone


def test_the_tables_speak_of_deviations_of_the_table() -> None:
    assert set(WITHOUT) | set(SOUND) <= set(DEVIATIONS)
    assert all(WITHOUT.values())
