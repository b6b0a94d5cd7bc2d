"""Control sessions: the same good frames, without the bad one.

The key insight: a server may do on its own accord whatever it likes; only what it does *because* of
a rejected frame is a fault. Sessions that differ in nothing but names have one control. What a
server does at its own time, such as a look for updates, may be in one session and not in the next:
only more of it than any good session has shown counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from wirefence.fuzz.gate.records import Facts, Observation
from wirefence.fuzz.gate.server.fresh import (
    FreshServers,
    PreparedTrial,
    prepare_trial,
    rename_trial,
)
from wirefence.fuzz.gate.server.verdicts import list_unnamed
from wirefence.fuzz.gate.trials.messages import strip_names
from wirefence.oracles.state import control_of
from wirefence.targets.effects.counting import Kind, counts

__all__ = ["Controls"]


class Controls:
    """Control sessions by the frames that they keep."""

    def __init__(self, servers: FreshServers, facts: Facts, number: Callable[[], int]) -> None:
        self._servers, self._facts, self._number = servers, facts, number
        self._known: dict[tuple[bytes, str, bool], Observation] = {}
        self.most: Counter[Kind] = Counter()
        """Nameless effects, each as often as it was seen in one good session at most."""

    def record_good_session(self, seen: Observation) -> None:
        """Take note of what a good session did."""
        self.most |= counts(list_unnamed(seen))

    def get_control(self, prepared: PreparedTrial, *, again: bool = False) -> Observation | None:
        """The control session of a trial, run if it is new or wanted ``again``.

        ``None`` where it would show nothing: no frame is rejected, or the session is closed by it.
        """
        if self._facts.policy == "close":
            return None
        case = control_of(prepared.trial.case, prepared.judgement)
        if case is None:
            return None
        key = (strip_names(case.data), case.version, prepared.trial.eof)
        if again or key not in self._known:
            trial = replace(prepared.trial, case=case, opening=0, warm=False, name="control")
            contract = self._facts.make_contract(self._servers.options.profile, case.version)
            # Its calls are calls like others: a name that has been used may be refused.
            prepared = rename_trial(prepare_trial(trial, contract), self._number(), contract)
            seen = self._servers.run_trial(prepared, self._facts)
            self.record_good_session(seen)
            if seen.hurried:
                return seen  # not all that a control session shows: the next trial has its own
            self._known[key] = seen
        return self._known[key]
