"""Generate sessions with Hypothesis, which reaches extremes that a random generator rarely does.

Only the parent process imports this module, so no worker pays for the import of Hypothesis.
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
    """Generate ``count`` sessions, valid and damaged, of all versions.

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
    @hypothesis.given(st.sampled_from(VERSIONS).flatmap(_make_session_strategy))
    def collect(case: Case) -> None:
        made.append(case)

    with _collector_disabled():
        collect()
    return made


@contextmanager
def _collector_disabled() -> Iterator[None]:
    """In the block, disable garbage collection: Python ignores Ctrl-C in Hypothesis' callback for
    it.
    """
    callbacks, enabled = list(gc.callbacks), gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.callbacks[:] = callbacks
        if enabled:
            gc.enable()


def _make_session_strategy(version: Version) -> SearchStrategy[Case]:
    return from_grammar(session, version, damage=apply_damage, prefix="h-")
