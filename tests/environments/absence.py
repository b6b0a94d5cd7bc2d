"""When a test of real versions may be skipped, and when their absence is our fault."""

from __future__ import annotations

import re
import sys

import pytest

from wirefence.targets.errors import TargetError

_AWAY = re.compile(
    r"no package index could be reached|no Python [\d.]+ was found|there is no node with npm"
)
_OTHER_PYTHON = re.compile(r"has no wheel for|does not support")


def skip_where_absent(error: TargetError) -> None:
    """Skip where this machine lacks an index or a Python; raise ``error`` for anything else.

    The versions that tests name have wheels for Python 3.11; others may lack some.
    """
    if _AWAY.match(error.cause):
        pytest.skip(f"cannot be had here: {error}")
    if sys.version_info[:2] != (3, 11) and _OTHER_PYTHON.search(error.cause):
        pytest.skip(f"this Python has no wheel of it: {error}")
    raise error
