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

from wirefence.fuzz.gate.records import Facts, Seen
from wirefence.fuzz.gate.server.fresh import Lab, Ready, ready, renamed
from wirefence.fuzz.gate.server.verdicts import nameless
from wirefence.fuzz.gate.trials.messages import anonymous
from wirefence.oracles.state import control_of
from wirefence.targets.effects.counting import Kind, counts

__all__ = ["Controls"]


class Controls:
    """Control sessions by the frames that they keep."""

    def __init__(self, lab: Lab, facts: Facts, number: Callable[[], int]) -> None:
        self._lab, self._facts, self._number = lab, facts, number
        self._known: dict[tuple[bytes, str, bool], Seen] = {}
        self.most: Counter[Kind] = Counter()
        """Nameless effects, each as often as it was seen in one good session at most."""

    def learn(self, seen: Seen) -> None:
        """Take note of what a good session did."""
        self.most |= counts(nameless(seen))

    def of(self, prepared: Ready, *, again: bool = False) -> Seen | None:
        """The control session of a trial, run if it is new or wanted ``again``.

        ``None`` where it would show nothing: no frame is rejected, or the session is closed by it.
        """
        if self._facts.policy == "close":
            return None
        case = control_of(prepared.trial.case, prepared.judgement)
        if case is None:
            return None
        key = (anonymous(case.data), case.version, prepared.trial.eof)
        if again or key not in self._known:
            trial = replace(prepared.trial, case=case, opening=0, warm=False, name="control")
            contract = self._facts.contract(self._lab.options.profile, case.version)
            # Its calls are calls like others: a name that has been used may be refused.
            prepared = renamed(ready(trial, contract), self._number(), contract)
            seen = self._lab.run(prepared, self._facts)
            self.learn(seen)
            if seen.hurried:
                return seen  # not all that a control session shows: the next trial has its own
            self._known[key] = seen
        return self._known[key]
