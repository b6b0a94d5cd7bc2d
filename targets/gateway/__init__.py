"""The reference gateway: ``docs/contract.md`` as a program, for others to be compared with.

Every layer only judges. A frame passes all of them, in the order of the contract,
before anything is remembered or done, so a rejected frame has nothing to take back; and the one
thing that can be executed, an ``Action``, can be made by the authorization layer alone.
"""

from __future__ import annotations

from wirefence.targets.gateway.document import Parse, strict_parser
from wirefence.targets.gateway.journal import Execution, Journal, Rejection
from wirefence.targets.gateway.session import ReferenceGateway, factory

__all__ = [
    "Execution",
    "Journal",
    "Parse",
    "ReferenceGateway",
    "Rejection",
    "factory",
    "strict_parser",
]
