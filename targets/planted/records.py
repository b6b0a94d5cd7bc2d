"""The two ways of saying no, the state of a session, and what a planted fault says of itself.

Every refusal names its rule of ``docs/contract.md``; the code of the reply follows
from the rule, so that no hook has to know numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wirefence.strategies.contract import Policy
from wirefence.strategies.records import Version
from wirefence.targets.records import GatewayFactory

__all__ = ["Message", "Planted", "Refused", "Rejected", "Session"]

Message = dict[str, Any]
"""A JSON object as the document stage read it: a message, or a member of one."""

_REJECTION = {"frame": -32700, "utf8": -32700, "json": -32700, "rpc": -32600, "mcp": -32602}
_REFUSAL = {
    "mcp-method": -32601,
    "mcp-version": -32022,
    "identity-unknown": -32001,
    "authz-denied": -32003,
}


class Rejected(Exception):  # noqa: N818 - named as in the contract
    """The frame breaks ``rule``: it has no effect, and under ``close`` ends the session."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.code = _REJECTION.get(rule.partition("-")[0], -32600)


class Refused(Exception):  # noqa: N818 - named as in the contract
    """The request is well-formed, but ``rule`` does not grant it: an error reply, no more."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.code = _REFUSAL.get(rule, -32602)


@dataclass(frozen=True, slots=True)
class Session:
    """What accepted frames have left behind. A rejected frame never gets to replace it."""

    initialized: bool = False
    ready: bool = False
    ids: frozenset[str | int] = frozenset()


@dataclass(frozen=True, slots=True)
class Planted:
    """One gateway with one deliberate fault.

    ``title`` says what it does wrong and ``origin`` where that was seen. ``breaks`` holds the
    oracle rules that find it, then the contract's rules that it ignores. ``policy`` and ``version``
    are those of a contract under which it shows; ``factory`` opens a session of it.
    """

    name: str
    title: str
    origin: str
    breaks: tuple[str, ...]
    policy: Policy
    version: Version
    factory: GatewayFactory
