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

from wirefence.fuzz.gate.records import Facts, Observation, Trial
from wirefence.fuzz.gate.server.controls import Controls
from wirefence.fuzz.gate.server.fresh import (
    FreshServers,
    PreparedTrial,
    prepare_trial,
    rename_trial,
)
from wirefence.fuzz.gate.server.pipelined import PipelinedServer
from wirefence.fuzz.gate.server.verdicts import Charge, judge_trial
from wirefence.fuzz.gate.trials.messages import rename_tokens
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
    prepared: PreparedTrial
    seen: Observation


@dataclass(frozen=True, slots=True)
class Examined:
    """A trial as it was run in a fresh process, what was seen, and what that breaks."""

    prepared: PreparedTrial
    seen: Observation
    charges: list[Charge]

    def list_confirmed(self, signature: str = "") -> list[Confirmed]:
        """What was shown, or only that of one signature."""
        wanted = [c for c in self.charges if signature in ("", c.finding.signature)]
        return [Confirmed(charge, self.prepared, self.seen) for charge in wanted]


@dataclass(slots=True)
class Confirmer:
    """Runs trials again in fresh processes, and makes them smaller.

    ``seconds`` is how long one fault may be shrunk; ``number`` gives names that are unused.
    ``share`` are the seconds of the time that is left which one fault may take.
    """

    servers: FreshServers
    facts: Facts
    controls: Controls
    warm: PipelinedServer | None
    seconds: float
    number: Callable[[], int]
    share: float = math.inf

    def run_in_fresh_process(
        self, prepared: PreparedTrial, *, grace: float = _GRACE, full: bool = True
    ) -> Examined:
        """A trial in a fresh process, under names of its own, beside its control session.

        ``full`` is for :meth:`FreshServers.reply_patience`.
        """
        contract = self.facts.make_contract(
            self.servers.options.profile, prepared.trial.case.version
        )
        fresh = rename_trial(prepared, self.number(), contract)
        seen = self.servers.run_trial(fresh, self.facts, grace=grace, full=full)
        charges = self._judge_beside_control(fresh, seen)
        if any(charge.finding.rule == "act-unfounded" for charge in charges):
            # Once more: what the server does at its own time may have missed the control session.
            charges = self._judge_beside_control(fresh, seen, again=True)
        return Examined(fresh, seen, charges)

    def _judge_beside_control(
        self, fresh: PreparedTrial, seen: Observation, *, again: bool = False
    ) -> list[Charge]:
        control = self.controls.get_control(fresh, again=again)
        return judge_trial(fresh, seen, self.facts, control, self.controls.most)

    def confirm_in_fresh_process(self, prepared: PreparedTrial, signature: str) -> list[Confirmed]:
        """Everything that a fresh process shows of a trial, in its smallest form if that will do.

        Without ``signature`` among it where what a living server showed has another cause: a
        server that hangs in a fresh process has merely lost a reply in one that is shared.
        """
        small = self._shrink_trial(prepared, signature)
        found = self.run_in_fresh_process(
            small, grace=0.0
        )  # what shows at once need not be waited for
        if not _has_signature(found.charges, signature):
            found = self.run_in_fresh_process(prepared)
        return found.list_confirmed()

    def _shrink_trial(self, prepared: PreparedTrial, signature: str) -> PreparedTrial:
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
        deadline = min(time.monotonic() + seconds, self.servers.deadline)

        def keep(many: Sequence[bytes]) -> list[bool]:
            if fast:
                return self._keeps_in_warm_server(trial, opening, many, signature, deadline)
            return [self._keeps_in_fresh_process(trial, data, signature) for data in many]

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
        return self._make_trial(trial, opening + small, trial.number)

    def _keeps_in_warm_server(
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
            self._make_trial(trial, opening + data, self.number()) if data.endswith(b"\n") else None
            for data in many  # what has no LF would be glued to the next
        ]
        late = lambda: time.monotonic() > deadline  # noqa: E731
        shown = {
            prepared.trial.number
            for prepared, seen in self.warm.screen_trials(filter(None, made), late, hasty=True)
            if _has_signature(judge_trial(prepared, seen, self.facts), signature)
        }
        return [each is not None and each.trial.number in shown for each in made]

    def _keeps_in_fresh_process(self, trial: Trial, data: bytes, signature: str) -> bool:
        made = self._make_trial(trial, data, trial.number)
        return _has_signature(
            self.run_in_fresh_process(made, grace=0.1, full=False).charges, signature
        )

    def _make_trial(self, trial: Trial, data: bytes, number: int) -> PreparedTrial:
        case = case_from_bytes(rename_tokens(data, number), protocol=trial.case.version)
        case = replace(case, damage=trial.case.damages())
        made = replace(trial, case=case, number=number, eof=trial.eof or not data.endswith(b"\n"))
        return prepare_trial(
            made, self.facts.make_contract(self.servers.options.profile, case.version)
        )


def _has_signature(charges: list[Charge], signature: str) -> bool:
    return any(charge.finding.signature == signature for charge in charges)
