"""Only the authorization layer makes an ``Action``, and only an ``Action`` is executed."""

from __future__ import annotations

import copy
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from wirefence.strategies.contract import Contract
from wirefence.targets.gateway.authorization import Action, authorize
from wirefence.targets.gateway.executor import execute
from wirefence.targets.recorder import Recorder


def granted() -> Action:
    return authorize(Contract().tools[0], {"action": "n"}, {}, Contract())


@pytest.mark.parametrize("grant", [None, object(), True])
def test_an_action_cannot_be_made_without_the_grant(grant: object) -> None:
    with pytest.raises(TypeError, match="authorize"):
        Action("record", {}, grant)


def test_a_granted_action_cannot_be_turned_into_another() -> None:
    # Which of the two it is depends on the Python version.
    with pytest.raises((TypeError, ValueError), match="grant"):
        replace(granted(), tool="admin_reset")
    with pytest.raises(AttributeError):
        granted().tool = "admin_reset"  # type: ignore[misc]


def test_only_an_action_is_executed() -> None:
    recorder = Recorder()
    lookalike = cast("Action", SimpleNamespace(tool="record", arguments={}))
    with pytest.raises(TypeError, match="Action"):
        execute(lookalike, recorder)
    assert recorder.effects == []
    execute(copy.copy(granted()), recorder)
    assert [effect.action for effect in recorder.effects] == ["n"]
