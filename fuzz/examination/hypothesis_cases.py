"""Sessions as Hypothesis makes them: it reaches extremes that a random generator rarely does.

The key insight: only the parent makes these, once; a module of its own spares every worker the
start of Hypothesis.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import hypothesis
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from wirefence.strategies.damage import apply_damage
from wirefence.strategies.hypothesis_driver import from_grammar
from wirefence.strategies.records import VERSIONS, Case, Version
from wirefence.strategies.sessions import session

__all__ = ["hypothesis_cases"]


def hypothesis_cases(seed: int, count: int) -> list[Case]:
    """Make ``count`` sessions, whole and damaged, of all versions.

    Equal seeds and versions of Hypothesis give equal cases.
    """
    made: list[Case] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(st.sampled_from(VERSIONS).flatmap(_sessions))
    def collect(case: Case) -> None:
        made.append(case)

    with _no_collector():
        collect()
    return made


@contextmanager
def _no_collector() -> Iterator[None]:
    """Hypothesis times the collector in a callback, and in those Python ignores a Ctrl-C."""
    callbacks, enabled = list(gc.callbacks), gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.callbacks[:] = callbacks
        if enabled:
            gc.enable()


def _sessions(version: Version) -> SearchStrategy[Case]:
    return from_grammar(session, version, damage=apply_damage, prefix="h-")
