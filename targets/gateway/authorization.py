"""Who calls, and whether they may: the only place where an ``Action`` comes from.

Permission is a value. The executor takes nothing but an ``Action``, and no other
module can make one, so that a path around this check cannot be written by mistake.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import InitVar, dataclass
from typing import Any

from wirefence.strategies.contract import Contract, Tool
from wirefence.targets.gateway.verdicts import RefusedError

__all__ = ["TOKEN_KEY", "Action", "authorize"]

TOKEN_KEY = "wirefence/token"  # noqa: S105 - the name of the member, not a secret
"""The member of ``params._meta`` by which a request identifies its caller."""

_GRANT = object()


@dataclass(frozen=True, slots=True)
class Action:
    """A call that was granted. Made by ``authorize`` alone; anyone else gets a ``TypeError``."""

    tool: str
    arguments: Mapping[str, object]
    grant: InitVar[object]

    def __post_init__(self, grant: object) -> None:
        if grant is not _GRANT:
            raise TypeError("an Action is made by authorize() only")


def authorize(
    tool: Tool, arguments: Mapping[str, object], params: Mapping[str, Any], contract: Contract
) -> Action:
    """Return the permission to call ``tool`` once for the caller that ``params`` names.

    Raises:
        RefusedError: identity-unknown or authz-denied.

    """
    operator = _is_operator(params.get("_meta", {}), contract)
    if tool.operator_only and not operator:
        raise RefusedError("authz-denied")
    return Action(tool.name, arguments, _GRANT)


def _is_operator(meta: Mapping[str, Any], contract: Contract) -> bool:
    """Whether the token is the contract's; no token is an anonymous caller."""
    if TOKEN_KEY not in meta:
        return False
    token = meta[TOKEN_KEY]
    if not isinstance(token, str) or not _equal(token, contract.token):
        raise RefusedError("identity-unknown")
    return True


def _equal(one: str, other: str) -> bool:
    """Compare in constant time; lone surrogates may be in what was given."""
    return hmac.compare_digest(
        one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass")
    )
