"""The way out: hands a granted action on, once.

It decides nothing. It asks for the proof that somebody else did.
"""

from __future__ import annotations

from wirefence.targets.gateway.authorization import Action
from wirefence.targets.records import Act

__all__ = ["execute"]


def execute(action: Action, act: Act) -> None:
    """Carry out ``action``; a ``TypeError`` for whatever is not one, subclasses included."""
    if type(action) is not Action:
        raise TypeError("only an Action can be executed")
    act(action.tool, action.arguments)
