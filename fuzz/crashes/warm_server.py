"""A living server that says which smaller inputs are worth a process of their own.

The key insight: most edits of a reduction come to nothing, and a server that goes on living says so
in a millisecond where a fresh one takes a second. So it is asked about all of them, and a fresh
process only about those that it shows the finding of: what is kept was seen there. With each
question goes the best so far: a server that does not show that any more says nothing of the others.
"""

from __future__ import annotations

import math
import re
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import count
from typing import Self

from wirefence.fuzz.crashes.rerun import Subject
from wirefence.fuzz.gate.records import Facts, Options, Trial
from wirefence.fuzz.gate.server.discovery import discover_server
from wirefence.fuzz.gate.server.fresh import FreshServers, PreparedTrial, prepare_trial
from wirefence.fuzz.gate.server.pipelined import PipelinedServer
from wirefence.fuzz.gate.server.verdicts import judge_trial
from wirefence.fuzz.gate.trials.messages import STATELESS, rename_tokens, tokens_in
from wirefence.fuzz.store.store import case_from_bytes
from wirefence.oracles.records import Finding, Judgement
from wirefence.strategies.records import Case
from wirefence.targets.errors import TargetError

__all__ = ["Living"]

_IDS = 1_000_000
"""The ids of one case begin here times its number, beyond what a person would choose."""

_ID = re.compile(rb'(?<="id":)[0-9]{1,9}(?=[,}])')

_SPOILING = ("liveness", "session", "client", "smoke")
"""Oracles whose findings end or spoil a living server, or are about its start or end."""


class Living:
    """A server under ``subject`` that is asked for one finding. Close it, or use it as a context.

    ``wanted`` is the test for the finding, of oracle ``oracle``. Raises TargetError where the
    server cannot be started.
    """

    def __init__(self, subject: Subject, oracle: str, wanted: Callable[[Finding], bool]) -> None:
        assert subject.launch is not None
        options = Options.from_settings(
            dict(subject.options), label=subject.target.partition("/")[0]
        )
        self._profile, self._wanted = options.profile, wanted
        self._numbers = count(1)
        self._lab = FreshServers(subject.launch, options)
        self._facts: Facts | None = None
        self._warm: PipelinedServer | None = None
        if oracle not in _SPOILING:
            self._begin()

    def _begin(self) -> None:
        try:
            facts = discover_server(self._lab)
        except BaseException:
            self._lab.close()
            raise
        if facts.policy == "continue":  # else a rejected frame would end it
            self._facts, self._warm = facts, PipelinedServer(self._lab, facts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server; it then knows nothing."""
        if self._warm is not None:
            self._warm.close()
            self._warm = None
        self._lab.close()

    def shown(
        self, cases: Sequence[Case], best: Case, deadline: float | None = None
    ) -> list[bool | None]:
        """Whether it shows the finding of each case; ``None`` where it cannot be asked.

        ``best`` is a case that it showed the finding of. A server that does not do so again is
        replaced by a fresh one, once. Nothing is sent after ``deadline`` (by ``time.monotonic``).
        """
        latest = math.inf if deadline is None else deadline
        for _ in range(2):
            if self._warm is None or self._facts is None or time.monotonic() > latest:
                break
            try:
                *said, control = self._asked(self._warm, self._facts, [*cases, best], latest)
            except TargetError:
                break
            if control:
                return said
            self._warm.close()
        self.close()
        return [None] * len(cases)

    def _asked(
        self, warm: PipelinedServer, facts: Facts, cases: Sequence[Case], latest: float
    ) -> list[bool | None]:
        made = [self._trial(case, facts) for case in cases]
        asked = [each for each in made if each is not None]
        late = lambda: time.monotonic() > latest  # noqa: E731
        # What bears no name of ours is told apart by being alone.
        together = [asked] if all(map(_named, asked)) else [[each] for each in asked]
        shown = {
            prepared.trial.number
            for some in together
            for prepared, seen in warm.screen_trials(some, late, hasty=True)
            if any(self._wanted(each.finding) for each in judge_trial(prepared, seen, facts))
        }
        return [None if each is None else each.trial.number in shown for each in made]

    def _trial(self, case: Case, facts: Facts) -> PreparedTrial | None:
        """A case as a trial for the living server, under names of its own; none if it is none."""
        if case.cuts or case.version != facts.version or not case.data.endswith(b"\n"):
            return None
        number = next(self._numbers)
        data = _with_other_ids(rename_tokens(case.data, number), number)
        made = case_from_bytes(data, protocol=case.version)
        contract = facts.make_contract(self._profile, case.version)
        trial = Trial("replay", "replay", "after", made, number=number, warm=True)
        prepared = prepare_trial(trial, contract)
        opening = _opening(prepared.judgement)
        if not opening and case.version != STATELESS:
            return None
        trial = Trial("replay", "replay", "after", made, opening, number=number, warm=True)
        return PreparedTrial(trial, prepared.judgement, prepared.owed)


def _with_other_ids(data: bytes, number: int) -> bytes:
    """The same bytes with other numbers for ids, equal ones for equal ones.

    A session may have each id but once, and this one goes on for many cases.
    """
    new = count(number * _IDS)
    made: dict[bytes, int] = defaultdict(lambda: next(new))
    return _ID.sub(lambda hit: b"%d" % made[hit.group()], data)


def _named(prepared: PreparedTrial) -> bool:
    """Whether every line behind the handshake bears a name that the gate gave."""
    data = prepared.trial.case.data[prepared.trial.opening :]
    return all(map(tokens_in, data.split(b"\n")[:-1]))


def _opening(judgement: Judgement) -> int:
    """The bytes of a handshake that comes first and whole, 0 where there is none."""
    first = judgement.frames[:2]
    methods = [frame.method for frame in first if frame.accepted]
    return first[1].end if methods == ["initialize", "notifications/initialized"] else 0
