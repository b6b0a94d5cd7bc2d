"""How a class becomes a planted fault: its name, its docstring and what the decorator adds.

A fault is described where it is written, so that the page rendered from the
registry can't drift from the code.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from wirefence.strategies.contract import Policy
from wirefence.strategies.records import Version
from wirefence.targets.planted.base import MiniGateway
from wirefence.targets.planted.records import Planted

__all__ = ["planted", "planted_in", "render"]

_Fault = type[MiniGateway]
_HEAD = """\
# Planted faults

Gateways with one deliberate fault each, built on one small correct gateway
(`targets/planted/base.py`). Tests use them to show that each oracle detects its faults. Each runs
as a target: `--target planted:NAME`. This page is generated from `targets/planted/`; a test
compares it with the code.

*Breaks* lists the oracle rules that report the fault, then the rules of
[the contract](contract.md) that the gateway ignores.

| fault | what it does wrong | seen in | breaks | policy | version |
|---|---|---|---|---|---|
"""
_RECORDS: dict[_Fault, Planted] = {}


def planted(
    *,
    origin: str,
    breaks: tuple[str, ...],
    policy: Policy = "close",
    version: Version = "2025-11-25",
) -> Callable[[_Fault], _Fault]:
    """Register a fault: named after its class, titled by its docstring."""

    def register(fault: _Fault) -> _Fault:
        name = re.sub("(?<=.)(?=[A-Z])", "-", fault.__name__).lower()
        title = " ".join((fault.__doc__ or "").split())
        _RECORDS[fault] = Planted(name, title, origin, breaks, policy, version, fault)
        return fault

    return register


def planted_in(module: str) -> tuple[Planted, ...]:
    """Return the faults that ``module`` (its dotted name) registered, in the order of its text."""
    return tuple(each for fault, each in _RECORDS.items() if fault.__module__ == module)


def render(faults: tuple[Planted, ...]) -> str:
    """Return ``docs/planted.md`` for ``faults``: one row each."""
    rows = [(f.name, f.title, f.origin, ", ".join(f.breaks), f.policy, f.version) for f in faults]
    return _HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)
