"""Run control sessions: the same good frames without the rejected one.

A server may have effects of its own, so only what it does *because* of a rejected frame is a fault.
Sessions that differ only in names share one control session. Periodic effects, such as an update
check, may fall into one session and not the next: only more of them than any good session showed
counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from wirefence.fuzz.gate.records import Facts, Observation
from wirefence.fuzz.gate.server.evidence import list_unnamed
from wirefence.fuzz.gate.server.fresh import (
    FreshServers,
    PreparedTrial,
    prepare_trial,
    rename_trial,
)
from wirefence.fuzz.gate.trials.messages import strip_names
from wirefence.oracles.state import control_of
from wirefence.targets.effects.counting import Kind, count_effects

__all__ = ["Controls"]


class Controls:
    """Control sessions by the frames that they keep."""

    def __init__(self, servers: FreshServers, facts: Facts, number: Callable[[], int]) -> None:
        self._servers, self._facts, self._number = servers, facts, number
        self._known: dict[tuple[bytes, str, bool], Observation] = {}
        self.most: Counter[Kind] = Counter()
        """Unnamed effects, each with its highest count in one good session."""

    def record_good_session(self, seen: Observation) -> None:
        """Record the unnamed effects of a good session."""
        self.most |= count_effects(list_unnamed(seen))

    def get_control(self, prepared: PreparedTrial, *, again: bool = False) -> Observation | None:
        """Return the control session of a trial; run it if it is new or ``again``.

        ``None`` where a control session shows nothing: no frame is rejected, or a rejected frame
        closes the session.
        """
        if self._facts.policy == "close":
            return None
        case = control_of(prepared.trial.case, prepared.judgement)
        if case is None:
            return None
        key = (strip_names(case.data), case.version, prepared.trial.eof)
        if again or key not in self._known:
            trial = replace(prepared.trial, case=case, opening=0, warm=False, name="control")
            # Use new names: the server may refuse a call whose name was used before.
            prepared = rename_trial(prepare_trial(trial, prepared.contract), self._number())
            seen = self._servers.run_trial(prepared, self._facts)
            self.record_good_session(seen)
            if seen.hurried:
                return seen  # incomplete: run it anew for the next trial
            self._known[key] = seen
        return self._known[key]
