"""Nothing is reported that a fresh process does not show, and nothing larger than it needs to be.

The key insight: a warm session is where a fault is noticed and made small, since it answers in
milliseconds; a fresh process is where it counts. So the small form is tried in one, and the form
as it was found where the small one fails there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from wirefence.fuzz.gate.records import Facts, Seen, Trial
from wirefence.fuzz.gate.server.controls import Controls
from wirefence.fuzz.gate.server.fresh import Lab, Ready, ready, renamed
from wirefence.fuzz.gate.server.pipelined import Warm
from wirefence.fuzz.gate.server.verdicts import Charge, judge
from wirefence.fuzz.gate.trials.messages import restamp
from wirefence.fuzz.shrink.shrinker import reduce
from wirefence.fuzz.store.store import case_from_bytes

__all__ = ["Confirmed", "Confirmer", "Examined"]

_GRACE = 0.3
_HEAVY = 100_000
_WIDTH = 16
_LEAST_FRESH = 5.0
"""Seconds below which shrinking by fresh processes is not begun."""
_NO_WARM = ("liveness", "session")
"""Faults of these oracles end or spoil a living server, so that it can't show them twice."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A charge that a fresh process showed, with what was seen of it."""

    charge: Charge
    prepared: Ready
    seen: Seen


@dataclass(frozen=True, slots=True)
class Examined:
    """A trial as it was run in a fresh process, what was seen, and what that breaks."""

    prepared: Ready
    seen: Seen
    charges: list[Charge]

    def confirmed(self, signature: str = "") -> list[Confirmed]:
        """What was shown, or only that of one signature."""
        wanted = [c for c in self.charges if signature in ("", c.finding.signature)]
        return [Confirmed(charge, self.prepared, self.seen) for charge in wanted]


@dataclass(slots=True)
class Confirmer:
    """Runs trials again in fresh processes, and makes them smaller.

    ``seconds`` is how long one fault may be shrunk; ``number`` gives names that are unused.
    ``share`` are the seconds of the time that is left which one fault may take.
    """

    lab: Lab
    facts: Facts
    controls: Controls
    warm: Warm | None
    seconds: float
    number: Callable[[], int]
    share: float = math.inf

    def examine(self, prepared: Ready, *, grace: float = _GRACE, full: bool = True) -> Examined:
        """A trial in a fresh process, under names of its own, beside its control session.

        ``full`` is for :meth:`Lab.patience`.
        """
        contract = self.facts.contract(self.lab.options.profile, prepared.trial.case.version)
        fresh = renamed(prepared, self.number(), contract)
        seen = self.lab.run(fresh, self.facts, grace=grace, full=full)
        charges = self._judge(fresh, seen)
        if any(charge.finding.rule == "act-unfounded" for charge in charges):
            # Once more: what the server does at its own time may have missed the control session.
            charges = self._judge(fresh, seen, again=True)
        return Examined(fresh, seen, charges)

    def _judge(self, fresh: Ready, seen: Seen, *, again: bool = False) -> list[Charge]:
        control = self.controls.of(fresh, again=again)
        return judge(fresh, seen, self.facts, control, self.controls.most)

    def confirm(self, prepared: Ready, signature: str) -> list[Confirmed]:
        """Everything that a fresh process shows of a trial, in its smallest form if that will do.

        Without ``signature`` among it where what a living server showed has another cause: a
        server that hangs in a fresh process has merely lost a reply in one that is shared.
        """
        small = self._shrunk(prepared, signature)
        found = self.examine(small, grace=0.0)  # what shows at once need not be waited for
        if not _shows(found.charges, signature):
            found = self.examine(prepared)
        return found.confirmed()

    def _shrunk(self, prepared: Ready, signature: str) -> Ready:
        """The smallest form that still shows the signature, in a living server if that is safe."""
        trial = prepared.trial
        # Pauses are offsets into the bytes and heavy trials take seconds each: both stay as found.
        if trial.case.cuts or len(trial.case.data) > _HEAVY:
            return prepared
        fast = self.warm is not None and trial.warm and signature.split("|")[1] not in _NO_WARM
        if not fast and self.seconds < _LEAST_FRESH:
            return prepared
        opening = trial.case.data[: trial.opening] if fast else b""
        rest = trial.case.data[len(opening) :]
        seconds = min(self.seconds, self.share / 2)
        deadline = min(time.monotonic() + seconds, self.lab.deadline)

        def keep(many: Sequence[bytes]) -> list[bool]:
            if fast:
                return self._warm_keeps(trial, opening, many, signature, deadline)
            return [self._cold_keeps(trial, data, signature) for data in many]

        try:
            small = reduce(
                rest,
                lambda data: keep([data])[0],
                deadline=deadline,
                keeps_many=keep,
                width=_WIDTH if fast else 1,
            ).data
        except ValueError:  # it can't be shown twice: the form as found has its chance
            return prepared
        return self._made(trial, opening + small, trial.number)

    def _warm_keeps(
        self,
        trial: Trial,
        opening: bytes,
        many: Sequence[bytes],
        signature: str,
        deadline: float,
    ) -> list[bool]:
        """Which of several forms show the signature, asked for all at once."""
        assert self.warm is not None
        made = [
            self._made(trial, opening + data, self.number()) if data.endswith(b"\n") else None
            for data in many  # what has no LF would be glued to the next
        ]
        late = lambda: time.monotonic() > deadline  # noqa: E731
        shown = {
            prepared.trial.number
            for prepared, seen in self.warm.screen(filter(None, made), late, hasty=True)
            if _shows(judge(prepared, seen, self.facts), signature)
        }
        return [each is not None and each.trial.number in shown for each in made]

    def _cold_keeps(self, trial: Trial, data: bytes, signature: str) -> bool:
        made = self._made(trial, data, trial.number)
        return _shows(self.examine(made, grace=0.1, full=False).charges, signature)

    def _made(self, trial: Trial, data: bytes, number: int) -> Ready:
        case = case_from_bytes(restamp(data, number), protocol=trial.case.version)
        case = replace(case, damage=trial.case.damages())
        made = replace(trial, case=case, number=number, eof=trial.eof or not data.endswith(b"\n"))
        return ready(made, self.facts.contract(self.lab.options.profile, case.version))


def _shows(charges: list[Charge], signature: str) -> bool:
    return any(charge.finding.signature == signature for charge in charges)
