"""Damage the params of every request that a server promises to answer, place by place."""

from __future__ import annotations

import json
from collections.abc import Iterator

from wirefence.fuzz.gate.records import Facts
from wirefence.fuzz.gate.trials.messages import ToolWording, TrialNames, make_good_request
from wirefence.oracles.message import find_mcp_fault
from wirefence.strategies.contract import Contract
from wirefence.strategies.damage import BY_NAME, Operator, Scene
from wirefence.strategies.records import Frame, Version
from wirefence.strategies.source import RandomSource

__all__ = ["damage_requests"]

_OPERATORS = tuple(BY_NAME[f"shape-{name}"] for name in ("absent", "confused", "value"))
_ATTEMPTS = 40
"""Choices of each operator for one request: it has some ten places."""


def damage_requests(
    facts: Facts, wording: ToolWording, version: Version, seed: int
) -> Iterator[tuple[Operator, Frame]]:
    """Yield good requests with one fault in their params, each deviation of a method once.

    All frames have the names of trial 0.
    """
    contract = Contract(version=version, profile="spec", served=frozenset(facts.promised))
    names = TrialNames(0)
    for method in facts.promised:
        good = make_good_request(version, method, names, wording)
        if good is None:
            continue
        seen: set[tuple[str, str]] = set()
        for operator in _OPERATORS:
            source = RandomSource(seed)
            for _ in range(_ATTEMPTS):
                made = operator.apply(source, Scene((good,), 0, version))
                if made is None:
                    continue
                (frame,) = made.frames
                fault = find_mcp_fault(json.loads(frame.raw), contract)
                if fault[0] in ("mcp-params", "mcp-meta") and fault not in seen:
                    seen.add(fault)
                    yield operator, frame
