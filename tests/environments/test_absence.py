"""A fault of ours in building an environment is no reason to skip a test."""

from __future__ import annotations

import pytest

from wirefence.targets.errors import TargetError

from .absence import skip_where_absent


@pytest.mark.parametrize(
    "cause",
    [
        "no package index could be reached for a==1 (tried with pip)",
        "no Python 3.8 was found; x",
        "there is no node with npm on PATH",
    ],
)
def test_what_this_machine_lacks_is_skipped(cause: str):
    with pytest.raises(pytest.skip.Exception):
        skip_where_absent(TargetError(cause))


@pytest.mark.parametrize("cause", ["pip could not install a==1: x", "the package index has no a"])
def test_anything_else_is_raised(cause: str):
    with pytest.raises(TargetError):
        skip_where_absent(TargetError(cause))
